/** `GET /v1/slices`, `GET /v1/slices/generations` and `GET /v1/keys/{hash}/access` from outside, against the requests that were made. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { eventually } from '../support/eventually.ts'
import { startGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'
import { answerFor, upstreamError } from '../support/wire.ts'

const APP = 'sk-router-v1-app00000000000000000000000'
const OTHER = 'sk-router-v1-other000000000000000000000'
const BOSS = 'sk-router-v1-boss0000000000000000000000'
const ENDED = 'sk-router-v1-ended000000000000000000000'
const secretHash = (secret: string): string => createHash('sha256').update(secret).digest('hex')

async function begin(t: Test, store: string) {
  const upstream = await startUpstream((seen) => {
    if (seen.body.includes('fault')) return upstreamError(400, 'no')
    return answerFor(seen, { text: ['fine'], usage: { input: seen.body.includes('long') ? 4_000 : 1_000, output: 10, cached: 500 } })
  })
  t.teardown(() => upstream.close())
  const gateway = await startGateway(`
store: { url: "${store}" }
budgets:
  all: { monthly: "100" }
  team: { daily: "5", parent: all }
auth:
  keys:
    - { name: app, key: "${APP}", parent: team, limit: "2", limit_reset: weekly, limits: { requests: 600 }, allowed_models: [acme/one, acme/two], provider: { ignore: [second] } }
    - { name: other, key: "${OTHER}" }
    - { name: ended, key: "${ENDED}", disabled: true, expires_at: "2020-01-01T00:00:00Z", limit: "0" }
    - { name: boss, key: "${BOSS}", management: true }
providers:
  first: { dialect: openai-chat, name: First, base_url: "${upstream.url}/v1", key: sk-up }
  second: { dialect: openai-chat, name: Second, base_url: "${upstream.url}/v1", key: sk-up }
models:
  acme/one: { context: 100000, max_output: 4000, endpoints: [ { provider: first, model: m, price: { prompt: "1", completion: "1" } }, { provider: second, model: m, price: { prompt: "2", completion: "2" } } ] }
  acme/two: { context: 100000, max_output: 4000, endpoints: [ { provider: second, model: m, price: { prompt: "2", completion: "2" } } ] }
  acme/three: { context: 100000, max_output: 4000, endpoints: [ { provider: first, model: m, price: { prompt: "3", completion: "3" } } ] }
guardrails:
  - { name: budget, limit_usd: 50, reset_interval: monthly, scope: { keys: [app] } }
  - { name: words, phrases: [forbidden], action: block }
`)
  t.teardown(() => gateway.close())
  const get = async (path: string, key = BOSS) => {
    const reply = await gateway.get(path, { authorization: `Bearer ${key}` })
    return { status: reply.status, body: (await reply.json()) as JsonObject & { data: JsonObject[] } }
  }
  const say = async (
    model: string,
    content: string,
    { key = APP, more = {}, headers = {} }: { key?: string; more?: object; headers?: Record<string, string> } = {},
  ) => {
    const body = { model, max_tokens: 50, messages: [{ role: 'user', content }], ...more }
    const reply = await gateway.post('/v1/chat/completions', body, { authorization: `Bearer ${key}`, ...headers })
    await reply.text()
    return reply.headers.get('x-generation-id') ?? ''
  }
  return { get, say }
}

for (const kind of ['a file', 'memory'])
  t.test(`slices by each group: ${kind}`, async (t) => {
    const { get, say } = await begin(t, kind === 'memory' ? 'memory:' : `sqlite:${join(t.testdir(), 'ledger.db')}`)
    await say('acme/one', 'hello', { more: { user: 'ann' }, headers: { 'x-title': 'An app' } })
    await say('acme/one', 'hello', { more: { user: 'bob' } })
    const dear = await say('acme/three', 'a long one', { key: OTHER })
    await say('acme/three', 'a fault', { key: OTHER })
    await eventually(
      'all are settled',
      async () => (await get('/v1/slices')).body.total !== undefined && ((await get('/v1/slices')).body.total as JsonObject).requests === 4,
    )
    const { status, body } = await get('/v1/slices')
    t.equal(status, 200)
    t.match(body, { groups: 2, is_complete: true, is_full: false, total: { requests: 4, failed_requests: 1, prompt_tokens: 6_000 } })
    t.equal(body.read_since, body.since)
    const [first, second] = body.data
    t.match(first, { api_key_hash: secretHash(OTHER), api_key_name: 'other', requests: 2, failed_requests: 1, cached_tokens: 500 })
    t.match(second, { api_key_hash: secretHash(APP), api_key_name: 'app', requests: 2, failed_requests: 0, prompt_tokens: 2_000 })
    t.equal(Number(second?.usage).toFixed(6), (2 * 0.001_01).toFixed(6))
    const times = second?.latency_ms as JsonObject
    t.ok(Number(times.p50) > 0 && Number(times.p99) >= Number(times.p50), JSON.stringify(times))

    const by = async (query: string): Promise<JsonObject[]> => (await get(`/v1/slices?${query}`)).body.data
    t.match(await by('group_by=model'), [{ model: 'acme/three' }, { model: 'acme/one' }])
    t.match(await by('group_by=user&sort=requests'), [{ external_user: null, requests: 2 }, { requests: 1 }, { requests: 1 }])
    t.match(await by('group_by=app&sort=requests&order=asc'), [
      { app_title: 'An app', requests: 1 },
      { app_title: null, requests: 3 },
    ])
    t.match(await by('group_by=status&sort=requests'), [{ status: 'completed', requests: 3 }, { status: 'failed' }])
    t.match(await by('group_by=provider,error&error=upstream_error'), [])
    const errors = await by('group_by=provider,error&sort=failed')
    t.match(errors[0], { failed_requests: 1, latency_ms: null })
    t.equal(typeof errors[0]?.error, 'string', JSON.stringify(errors[0]))
    t.match(await by('group_by=parent'), [
      { parent: null, requests: 2 },
      { parent: 'team', requests: 2 },
    ])
    t.match(await by('group_by=member'), [{ creator_user_id: null, requests: 4 }])
    t.match(await by('parent=team'), [{ api_key_name: 'app' }])
    t.match(await by('parent=-'), [{ api_key_name: 'other' }])
    t.match(await by(`api_key_hash=${secretHash(APP)}&group_by=model`), [{ model: 'acme/one', requests: 2 }])
    t.match(await by('external_user=ann&group_by=model'), [{ requests: 1 }])
    t.match(await by('external_user=-&group_by=model'), [{ model: 'acme/three', requests: 2 }])
    t.same(await by('external_user=stranger'), [])
    t.equal((await by('limit=1')).length, 1)

    const { points } = (await get('/v1/slices?points=4')).body as { points?: JsonObject[] }
    t.equal(points?.length, 4)
    t.equal(points?.at(-1)?.requests, 4, 'the last part has what was just settled')

    const extremes = await get('/v1/slices/generations?sort=usage&limit=2')
    t.match(extremes.body, {
      is_complete: true,
      data: [{ id: dear, model: 'acme/three', api_key_name: 'other', attempts: 1 }, { api_key_name: 'app' }],
    })
    t.equal(extremes.body.data.length, 2)
    const later = new Date(Date.now() + 60_000).toISOString()
    t.match((await get(`/v1/slices?since=${later}&until=${new Date(Date.now() + 120_000).toISOString()}`)).body, {
      data: [],
      total: { requests: 0 },
    })
  })

t.test('a wrong query names its parameter; members get none', async (t) => {
  const { get } = await begin(t, 'memory:')
  for (const [query, field] of [
    ['group_by=nothing', 'group_by'],
    ['group_by=key,model,user', 'group_by'],
    ['group_by=key,member', 'group_by'],
    ['sort=worst', 'sort'],
    ['order=up', 'order'],
    ['limit=0', 'limit'],
    ['limit=5000', 'limit'],
    ['points=900', 'points'],
    ['since=yesterday', 'since'],
    ['since=2026-02-02T00:00:00Z&until=2026-02-01T00:00:00Z', 'since'],
    ['since=2001-01-01T00:00:00Z', 'since'],
    [`model=${'m'.repeat(600)}`, 'model'],
  ] as const)
    t.match(await get(`/v1/slices?${query}`), { status: 400, body: { error: { metadata: { field } } } }, query)
  t.match(await get('/v1/slices/generations?sort=requests'), { status: 400, body: { error: { metadata: { field: 'sort' } } } })
  for (const path of ['/v1/slices', '/v1/slices/generations', `/v1/keys/${secretHash(APP)}/access`])
    t.equal((await get(path, APP)).status, 403, path)
})

t.test('what a key may do, at every level', async (t) => {
  const { get, say } = await begin(t, 'memory:')
  await say('acme/one', 'hello')
  const access = async (secret: string): Promise<JsonObject> => {
    const { status, body } = await get(`/v1/keys/${secretHash(secret)}/access`)
    t.equal(status, 200)
    return body.data as unknown as JsonObject
  }
  const app = await access(APP)
  t.match(app, {
    ...{ name: 'app', refused_because: [], role: 'member', is_management_key: false, expires_at: null, pass_through: false },
    models: [{ id: 'acme/one', providers: ['First'] }],
    model_count: 3,
    allowed_models: ['acme/one', 'acme/two'],
    provider: { ignore: ['second'] },
    rates: [{ from: 'key', requests: 600, tokens: null }],
    guardrails: [
      { id: 'budget', scope: 'api-key' },
      { id: 'words', scope: 'account' },
    ],
  })
  t.equal((app.models as JsonObject[]).length, 1, 'a model whose endpoints its preferences exclude is not there')
  const spent = 0.001_01
  t.same(
    (app.limits as JsonObject[]).map(({ level, name, limit, window, used }) => [level, name, limit, window, used]),
    [
      ['key', 'app', 2, 'weekly', spent],
      ['budget', 'team', 5, 'daily', spent],
      ['budget', 'all', 100, 'monthly', spent],
      ['guardrail', 'budget', 50, 'monthly', spent],
    ],
  )
  t.match(await access(OTHER), { limits: [], rates: [], allowed_models: null, provider: null, guardrails: [{ id: 'words' }] })
  t.equal(((await access(OTHER)).models as JsonObject[]).length, 3)
  t.match(await access(BOSS), { refused_because: ['manages'], role: 'owner', is_management_key: true, models: [] })
  t.same((await access(ENDED)).refused_because, ['disabled', 'expired', 'limit_spent'])
  t.equal((await get(`/v1/keys/${'0'.repeat(64)}/access`)).status, 404)
})

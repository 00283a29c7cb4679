/** Usage of each conversation of an agent, over the management API and the command line. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sessions } from '../../../src/cli/sessions.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { JumpingClock } from '../../support/clock.ts'
import { freePorts } from '../../support/crash/configuration.ts'
import { every } from '../../support/every.ts'
import { list, object } from '../../support/fold.ts'
import { startGateway } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import { startUpstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

const ADA = 'sk-router-v1-ada0123456789abcdef'
const BOB = 'sk-router-v1-bob0123456789abcdef'
const BOSS = 'sk-router-v1-boss123456789abcdef'
const USAGE = { input: 1000, output: 50, cached: 600, written: 100, reasoning: 20 }

const providers = (url: string): string => `
auth:
  keys: [ { name: ada, key: "${ADA}" }, { name: bob, key: "${BOB}" }, { name: boss, key: "${BOSS}", management: true } ]
providers:
  claude: { dialect: anthropic, base_url: "${url}", key: sk-up }
  chat: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up }
models:
  acme/one: { endpoints: [ { provider: claude, model: m, price: { prompt: "2.00", completion: "0", cached: "0.50", cache_write: "2.50" } } ] }
  acme/two: { endpoints: [ { provider: chat, model: m, price: { prompt: "2.00", completion: "0", cached: "0.50" } } ] }
`

const reporting = async () => {
  const clock = new JumpingClock()
  clock.jumpTo('2026-03-03T12:00:00Z')
  const { gateway } = await startScene(t, {
    answer: (seen) => answerFor(seen, { text: ['fine'], usage: USAGE }),
    config: providers,
    clock,
  })
  const report = async (query = ''): Promise<JsonObject> => {
    const response = await gateway.get(`/v1/sessions${query}`, { authorization: `Bearer ${BOSS}` })
    const body = (await response.json()) as JsonObject
    return response.status === 200 ? body : { status: response.status, ...body }
  }
  const send = async (path: string, body: JsonObject, { key = ADA, headers = {} as Record<string, string> } = {}): Promise<number> => {
    const response = await gateway.post(path, body, { authorization: `Bearer ${key}`, ...headers })
    await response.text()
    return response.status
  }
  return { gateway, clock, report, send }
}

const messages = [{ role: 'user', content: 'Hello' }]
const CHAT = '/v1/chat/completions'

t.test('requests of one session are summed, by key, the session that was used last first', async (t) => {
  const { clock, report, send } = await reporting()
  const claude = { 'x-claude-code-session-id': 'claude-1' }
  const body = { model: 'acme/one', max_tokens: 100, messages }
  t.equal(await send('/v1/messages', body, { headers: claude }), 200)
  clock.jumpTo('2026-03-03T12:10:00Z')
  t.equal(await send('/v1/messages', { ...body, model: 'acme/two' }, { headers: claude }), 200)
  clock.jumpTo('2026-03-03T12:20:00Z')
  t.equal(await send('/v1/messages', body, { headers: claude, key: BOB }), 200)
  t.equal(await send(CHAT, { model: 'acme/two', messages }), 200, 'a request of no session')
  const sums = { requests: 1, failed_requests: 0, prompt_tokens: 1000, cached_tokens: 600, completion_tokens: 50 }
  const found = await report()
  t.match(found, { total_count: 2, since: '2026-03-02T12:21:00.000Z', until: '2026-03-03T12:21:00.000Z' })
  const [bob, ada] = list(found.data)
  t.match(bob, {
    ...sums,
    session_id: 'claude-1',
    api_key_name: 'bob',
    api_key_hash: /^[0-9a-f]{64}$/,
    models: ['acme/one'],
    cache_write_tokens: 100,
    // 300 fresh tokens at $2, 600 at $0.50, 100 at $2.50 per million.
    usage: 0.00115,
    first_request_at: '2026-03-03T12:20:00.000Z',
  })
  t.match(ada, {
    session_id: 'claude-1',
    api_key_name: 'ada',
    models: ['acme/one', 'acme/two'],
    requests: 2,
    prompt_tokens: 2000,
    cached_tokens: 1200,
    completion_tokens: 100,
    reasoning_tokens: 40,
    first_request_at: '2026-03-03T12:00:00.000Z',
    last_request_at: '2026-03-03T12:10:00.000Z',
  })
  const { api_key_hash: hash } = object(ada)
  t.match(list((await report(`?api_key_hash=${hash}`)).data), [{ api_key_name: 'ada' }])
  t.same((await report(`?api_key_hash=${'0'.repeat(64)}`)).data, [])
  t.match(await report('?limit=1&offset=1'), { total_count: 2, data: [{ api_key_name: 'ada' }] })
  const early = '?since=2026-03-03T11:00:00Z&until=2026-03-03T12:05:00Z'
  t.match(await report(early), { total_count: 1, data: [{ api_key_name: 'ada', requests: 1, models: ['acme/one'] }] })
})

t.test('every name of a session counts', async (t) => {
  const { report, send } = await reporting()
  const NAMED: Readonly<Record<string, [path: string, body: JsonObject, headers?: Record<string, string>]>> = {
    field: [CHAT, { model: 'acme/two', messages, session_id: 'field' }],
    header: [CHAT, { model: 'acme/two', messages, prompt_cache_key: 'not this' }, { 'x-session-id': 'header' }],
    codex: ['/v1/responses', { model: 'acme/two', input: 'Hello', prompt_cache_key: 'nor this' }, { 'session-id': 'codex' }],
    opencode: [CHAT, { model: 'acme/two', messages }, { 'x-session-affinity': 'opencode' }],
    cachekey: [CHAT, { model: 'acme/two', messages, prompt_cache_key: 'cachekey' }],
    claude_user: [
      '/v1/messages',
      { model: 'acme/one', max_tokens: 9, messages, metadata: { user_id: JSON.stringify({ device_id: 'd', session_id: 'claude_user' }) } },
    ],
  }
  await every(t, 'every name', async (t) => {
    for (const [name, [path, body, headers = {}]] of Object.entries(NAMED)) {
      t.equal(await send(path, body, { headers }), 200, name)
      t.match(await report(`?session_id=${name}`), { total_count: 1, data: [{ session_id: name, requests: 1, prompt_tokens: 1000 }] }, name)
    }
  })
  t.equal((await report()).total_count, Object.keys(NAMED).length)
})

t.test('refuses a wrong query parameter by its name', async (t) => {
  const { gateway, report } = await reporting()
  const WRONG: readonly [query: string, field: string][] = [
    ['since=yesterday', 'since'],
    ['since=2026-03-03T12:00:00', 'since'],
    ['until=2026-13-01', 'until'],
    ['since=2026-03-03&until=2026-03-03', 'since'],
    ['since=2026-01-30', 'since'],
    ['api_key_hash=abc', 'api_key_hash'],
    [`session_id=${'x'.repeat(257)}`, 'session_id'],
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['offset=-1', 'offset'],
  ]
  await every(t, 'every query', async (t) => {
    for (const [query, field] of WRONG) t.match(await report(`?${query}`), { status: 400, error: { metadata: { field } } }, query)
  })
  t.equal((await gateway.get('/v1/sessions', { authorization: `Bearer ${ADA}` })).status, 403, 'only a management key reads them')
  t.equal((await gateway.post('/v1/sessions', {}, { authorization: `Bearer ${BOSS}` })).status, 405)
})

t.test('headgate sessions: of a running gateway, and of its file', async (t) => {
  const upstream = await startUpstream((seen) => answerFor(seen, { text: ['fine'], usage: USAGE }))
  const directory = t.testdir()
  const config = join(directory, 'headgate.yaml')
  const [port] = await freePorts(1)
  const text = `admin: { host: 127.0.0.1, port: ${port} }\nstore: { url: "sqlite:${join(directory, 'ledger.db')}" }\n${providers(upstream.url)}`
  const gateway = await startGateway(text, { directory })
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  writeFileSync(config, text)
  const say = async (flags: Parameters<typeof sessions>[1], words: string[] = []) => {
    const out: string[] = []
    const error: string[] = []
    const code = await sessions(words, { config, ...flags }, { out: (line) => out.push(line), error: (line) => error.push(line) })
    return { code, out: out.join('\n'), error: error.join('\n') }
  }
  const post = (session: string, key: string) =>
    gateway.post(CHAT, { model: 'acme/two', messages, session_id: session }, { authorization: `Bearer ${key}` })
  for (const key of [ADA, ADA, BOB]) t.equal((await post('bridge\u001b[2J\npaint', key)).status, 200)
  const row = /bridge.\[2J paint +ada +2 +2000 +1200 +200 +100 +40 +\$0\.0022 +\d{4}-\d\d-\d\d \d\d:\d\d +acme\/two/
  const shown = await say({})
  t.equal(shown.code, 0, shown.error)
  t.match(shown.out, row)
  t.notOk(shown.out.includes('\u001b'), 'names cannot act on the terminal')
  t.match(shown.out, /2 sessions from .* to /)
  t.match(JSON.parse((await say({ key: 'bob', json: true })).out), { total_count: 1, data: [{ api_key_name: 'bob', requests: 1 }] })
  t.match(await say({ session: 'none' }), { code: 0, out: /There are no sessions/ })
  t.match(await say({ key: 'nobody' }), { code: 1, error: /No key nobody/ })
  t.match(await say({ since: 'soon' }), { code: 1, error: /--since/ })
  t.match(await say({ since: '40d' }), { code: 1, error: /at most 31 days/ })
  t.match(await say({}, ['show']), { code: 2 })
  await gateway.close()
  t.match((await say({ since: '1h' })).out, row, 'and of the file, where none runs')
})

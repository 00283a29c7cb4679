/** A request that the gateway refuses leaves a record: who, when, why, and what its caller read; never a word of the request. */
import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { list, object } from '../../support/fold.ts'
import { KEY } from '../../support/gateway.ts'
import { type Scene, startScene } from '../../support/scene.ts'

const SECRETS = {
  boss: `sk-hg-v1-${'1'.repeat(64)}`,
  poor: `sk-hg-v1-${'2'.repeat(64)}`,
  narrow: `sk-hg-v1-${'3'.repeat(64)}`,
  slow: `sk-hg-v1-${'4'.repeat(64)}`,
  off: `sk-hg-v1-${'5'.repeat(64)}`,
  past: `sk-hg-v1-${'6'.repeat(64)}`,
}
const secretHash = (secret: string): string => createHash('sha256').update(secret).digest('hex')

const YAML = `auth:
  keys:
    - { name: test, key: "${KEY}" }
    - { name: boss, key: "${SECRETS.boss}", management: true }
    - { name: poor, key: "${SECRETS.poor}", limit: "0.000000001" }
    - { name: narrow, key: "${SECRETS.narrow}", allowed_models: [ other/model ] }
    - { name: slow, key: "${SECRETS.slow}", limits: { requests: 1 } }
    - { name: off, key: "${SECRETS.off}", disabled: true }
    - { name: past, key: "${SECRETS.past}", expires_at: "2020-01-01T00:00:00Z" }
guardrails:
  - { name: stop, content_filters: [ { pattern: "forbidden-[0-9]+", action: block, label: FORBIDDEN } ] }
`
const ENDPOINT = 'endpoints: [ { provider: first, model: m, price: { prompt: "1.00", completion: "2.00" } } ]'
const urlConfig = (url: string): string => `${YAML}
providers: { first: { dialect: openai-chat, base_url: "${url}/v1", key: "sk-first" }, second: { dialect: openai-chat, base_url: "${url}/v1", key: "sk-second" } }
models:
  acme/one: { context: 128000, ${ENDPOINT} }
  other/model: { context: 128000, ${ENDPOINT.replace('first', 'second')} }
`

async function start(t: Test): Promise<Scene & { refusals(query?: string): Promise<JsonObject> }> {
  const scene = await startScene(t, { clock: new FakeClock(), config: urlConfig })
  const refusals = async (query = ''): Promise<JsonObject> => {
    // Rows are written in the background.
    await scene.clock.advance(2_000)
    const reply = await scene.gateway.get(`/v1/refusals${query}`, { authorization: `Bearer ${SECRETS.boss}` })
    const body = object((await reply.json()) as JsonObject)
    return { ...body, status: reply.status }
  }
  return { ...scene, refusals }
}

const as = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` })
/** Text that no record may have. */
const CANARY = 'canary-7c41'
const MESSAGES = { messages: [{ role: 'user', content: `${CANARY} forbidden-1` }] }

t.test('each refusal is listed with its key, model, reason, field, status and the text that the caller read', async (t) => {
  const scene = await start(t)
  const cases: readonly [
    reason: string,
    status: number,
    key: string,
    body: JsonObject,
    headers: Record<string, string>,
    more: JsonObject,
  ][] = [
    ['no_credit', 402, 'poor', {}, as(SECRETS.poor), { model: 'acme/one', field: null }],
    ['forbidden', 403, 'narrow', {}, as(SECRETS.narrow), { model: 'acme/one' }],
    ['guardrail_blocked', 403, 'test', MESSAGES, {}, { model: 'acme/one' }],
    ['model_not_found', 404, 'test', { model: 'acme/none' }, {}, { model: 'acme/none', field: 'model' }],
    ['bad_request', 400, 'test', { temperature: CANARY, ...MESSAGES }, {}, { field: 'temperature' }],
    ['no_endpoints', 404, 'test', { provider: { only: ['second'] } }, {}, { model: 'acme/one' }],
    ['forbidden', 403, 'boss', {}, as(SECRETS.boss), { model: null }],
    ['media_type', 415, 'test', {}, { 'content-type': 'text/plain' }, { model: null }],
    ['key_disabled', 401, 'off', {}, as(SECRETS.off), { model: null, message: 'Invalid API key' }],
    ['key_expired', 401, 'past', {}, as(SECRETS.past), { model: null, message: 'Invalid API key' }],
  ]
  for (const [reason, status, key, body, headers, more] of cases) {
    const reply = await scene.ask(body, 'chat', headers)
    const { error } = object((await reply.json()) as JsonObject)
    t.equal(reply.status, status, `${reason}: ${JSON.stringify(error)}`)
    const id = reply.headers.get('x-generation-id')
    const [row, ...others] = list((await scene.refusals(`?generation_id=${id}`)).data).map(object)
    t.equal(others.length, 0)
    t.match(row, { reason, status, count: 1, api_key_name: key, error_type: object(object(error).metadata).error_type }, reason)
    const [latest] = list(row?.latest).map(object)
    t.match(latest, { generation_id: id, operation: 'chat', message: object(error).message, ...more }, reason)
  }
  const all = await scene.refusals('?limit=500')
  t.notMatch(JSON.stringify(all), CANARY, 'no word of a request')
  t.notMatch(JSON.stringify(all), 'forbidden-1')
  t.equal(scene.rows().length, 0, 'none of them has a row of the ledger')
  t.equal((await scene.ask()).status, 200)
  t.equal(list((await scene.refusals('?limit=500')).data).length, list(all.data).length, 'what is served is no refusal')
})

t.test('they are counted by the limit that refused them', async (t) => {
  const scene = await start(t)
  for (const status of [200, 429, 429]) t.equal((await scene.ask({}, 'chat', as(SECRETS.slow))).status, status)
  const [row] = list((await scene.refusals('?reason=rate_limited')).data).map(object)
  const limit = { scope: 'key', kind: 'requests', per: 'minute' }
  t.same(row?.limits, [{ ...limit, count: 2 }])
  t.same(object(list(row?.latest)[0]).limit, limit)
  t.equal((await scene.ask({}, 'chat', as(SECRETS.narrow))).status, 403)
  t.equal((await scene.ask({ model: 'acme/none' })).status, 404)
  const rows = list((await scene.refusals()).data).map(object)
  t.same(rows.find(({ reason }) => reason === 'forbidden')?.limits, [{ scope: 'key', kind: 'models', per: null, count: 1 }])
  t.same(rows.find(({ reason }) => reason === 'model_not_found')?.limits, [])
})

t.test('100,000 refusals of one key are one row for each reason and minute, with the latest in full', async (t) => {
  const scene = await start(t)
  const many = 300
  let last = ''
  for (let i = 0; i < many; i += 50) {
    const replies = await Promise.all(Array.from({ length: 50 }, (_, n) => scene.ask({ model: `acme/none-${i + n}` })))
    for (const reply of replies) {
      t.equal(reply.status, 404)
      await reply.text()
    }
    last = replies.at(-1)?.headers.get('x-generation-id') ?? ''
  }
  const { data } = await scene.refusals()
  t.equal(list(data).length, 1)
  const row = object(list(data)[0])
  t.match(row, { count: many, reason: 'model_not_found', api_key_name: 'test', api_key_hash: secretHash(KEY) })
  t.equal(list(row.latest).length, 5)
  t.equal(object(list(row.latest)[0]).generation_id, last)
  t.equal(object(list(row.latest)[0]).model, `acme/none-${many - 1}`)
  // Beside the gateway: its log with so many refusals as a test cannot make over HTTP in a second.
  const { refusals } = scene.gateway.running.store
  for (let i = 0; i < 100_000; i++) {
    const refused = { id: `gen-1-${i}`, key: 'loud', reason: 'rate_limited', status: 429, type: 'rate_limit_exceeded' }
    refusals.note({ ...refused, operation: 'openai-chat', model: 'acme/one', field: null, message: 'Rate limit exceeded' })
  }
  const found = object(list((await scene.refusals('?reason=rate_limited')).data)[0])
  t.match(found, { count: 100_000, api_key_hash: 'loud', api_key_name: null })
  await scene.clock.advance(60_000)
  await scene.ask({ model: 'acme/none' })
  t.match(
    list((await scene.refusals('?reason=model_not_found')).data).map((each) => object(each).count),
    [1, many],
    'the newest minute first',
  )
})

t.test('unknown keys are counted and found by id, without a text of theirs', async (t) => {
  const scene = await start(t)
  const ids: string[] = []
  for (let i = 0; i < 25; i++) {
    const reply = await scene.ask({ model: CANARY }, 'chat', as(`sk-hg-v1-${CANARY}`))
    t.equal(reply.status, 401)
    ids.push(reply.headers.get('x-generation-id') ?? '')
  }
  t.equal((await scene.ask({}, 'chat', { authorization: '' })).status, 401)
  const { data } = await scene.refusals()
  const byReason = new Map(list(data).map((row) => [object(row).reason, object(row)]))
  t.equal(byReason.size, 2)
  t.match(byReason.get('missing_key'), { count: 1, api_key_hash: null, latest: [{ generation_id: /^gen-/, model: null }] })
  const unknown = byReason.get('invalid_key')
  t.match(unknown, { count: 25, api_key_hash: null, api_key_name: null })
  t.same(
    list(unknown?.latest).map((each) => object(each).generation_id),
    ids.slice(-20).reverse(),
    'a bounded number of them',
  )
  t.notMatch(JSON.stringify(data), CANARY)
  const [found, ...others] = list((await scene.refusals(`?generation_id=${ids.at(-1)}`)).data)
  t.match(found, { reason: 'invalid_key', status: 401 })
  t.equal(others.length, 0)
})

t.test('rate limits, the other formats and the pass-through are listed as well', async (t) => {
  const scene = await start(t)
  for (const client of ['chat', 'responses', 'messages'] as const) {
    t.equal((await scene.ask({ model: 'acme/none' }, client)).status, 404, client)
  }
  await (await scene.ask({}, 'chat', as(SECRETS.slow))).text()
  t.equal((await scene.ask({}, 'chat', as(SECRETS.slow))).status, 429)
  const passed = await scene.gateway.post('/v1/passage/first/v1/models', {})
  t.equal(passed.status, 403)
  const { data } = await scene.refusals('?limit=500')
  const seen = list(data).flatMap((row) =>
    list(object(row).latest).map((each) => `${object(row).reason} ${object(row).api_key_name} ${object(each).operation}`),
  )
  t.same(seen.toSorted(), [
    'forbidden test pass-through',
    'model_not_found test chat',
    'model_not_found test messages',
    'model_not_found test responses',
    'rate_limited slow chat',
  ])
})

t.test('a list that follows at once holds the refusal, the first of its minute and the next', async (t) => {
  const { gateway, ask } = await start(t)
  for (const count of [1, 2]) {
    const id = (await ask({ model: 'acme/none' })).headers.get('x-generation-id')
    const reply = await gateway.get(`/v1/refusals?generation_id=${id}`, as(SECRETS.boss))
    t.match(await reply.json(), { data: [{ count, latest: [{ generation_id: id }] }] })
  }
})

t.test('the list is filtered, read page by page, as CSV, and by management keys alone', async (t) => {
  const scene = await start(t)
  for (const [secret, model] of [
    [KEY, 'acme/none'],
    [SECRETS.poor, 'acme/one'],
    [SECRETS.narrow, 'acme/one'],
  ] as const)
    await (await scene.ask({ model }, 'chat', as(secret))).text()
  await scene.clock.advance(120_000)
  await (await scene.ask({ model: 'acme/none' })).text()
  const reasons = async (query: string): Promise<unknown[]> => list((await scene.refusals(query)).data).map((row) => object(row).reason)
  t.same(await reasons('?reason=no_credit'), ['no_credit'])
  t.same(await reasons(`?api_key_hash=${secretHash(KEY)}`), ['model_not_found', 'model_not_found'])
  const since = new Date(scene.clock.now() - 65_000).toISOString()
  t.same(await reasons(`?since=${since}`), ['model_not_found'])
  t.equal((await reasons(`?until=${since}`)).length, 3)
  const pages: unknown[] = []
  for (let next: unknown = ''; next !== null; ) {
    const page = await scene.refusals(`?limit=2&cursor=${next}`)
    pages.push(...list(page.data))
    next = page.next
  }
  t.same(pages, (await scene.refusals()).data)
  t.equal(pages.length, 4)
  const csv = await scene.gateway.get('/v1/refusals?format=csv', as(SECRETS.boss))
  t.match(
    await csv.text(),
    /^minute,api_key_hash,api_key_name,reason,status,error_type,count,last_at,latest,limits\r\n.*model_not_found,404/s,
  )
  for (const query of ['api_key_hash=x', 'reason=A', 'generation_id=x', 'cursor=x', 'limit=0', 'since=yesterday'])
    t.equal((await scene.refusals(`?${query}`)).status, 400, query)
  t.equal((await scene.gateway.get('/v1/refusals')).status, 403)
})

t.test('text of a caller can neither disguise a record nor make it long', async (t) => {
  const scene = await start(t)
  t.equal((await scene.ask({ model: `acme/${'x'.repeat(190)}` })).status, 404)
  const [long] = list(object(list((await scene.refusals()).data)[0]).latest).map(object)
  t.equal(String(long?.model).length, 129)
  const text = `a\u202egnp.exe\u001b[2J\nb${'x'.repeat(2_000)}`
  const refused = { id: 'gen-1-a', key: 'loud', reason: 'forbidden', status: 403, type: 'permission_denied', operation: 'chat' }
  scene.gateway.running.store.refusals.note({ ...refused, model: text, field: text, message: text })
  const [hostile] = list(object(list((await scene.refusals('?reason=forbidden')).data)[0]).latest).map(object)
  t.match(hostile, { model: /^agnp\.exe\[2J bx+…$/, field: /^agnp\.exe\[2J bx+…$/, message: /^agnp\.exe\[2J bx+…$/ })
  t.ok(String(hostile?.message).length <= 501)
})

t.test('refusals outlive a restart, and leave after 32 days', async (t) => {
  const directory = t.testdir()
  const scene = await startScene(t, {
    clock: new FakeClock(),
    directory,
    config: (url) => `store: { url: "sqlite:${directory}/headgate.db" }\n${urlConfig(url)}`,
  })
  await (await scene.ask({ model: 'acme/none' })).text()
  const count = async (): Promise<number> => {
    const since = new Date(scene.clock.now() - 40 * 86_400_000).toISOString()
    const reply = await scene.gateway.get(`/v1/refusals?since=${since}`, as(SECRETS.boss))
    return list(object((await reply.json()) as JsonObject).data).length
  }
  await scene.gateway.restart()
  t.equal(await count(), 1, 'written at the stop')
  await scene.clock.advance(31 * 86_400_000)
  t.equal(await count(), 1)
  await scene.clock.advance(2 * 86_400_000)
  t.equal(await count(), 0)
})

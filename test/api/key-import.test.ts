/** Keys that another gateway has made are imported by the hashes of their secrets: over the API, and from files on the command line. */

import { hash as digest } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type KeyFlags, keys } from '../../src/cli/keys.ts'
import { asObjects, type JsonObject } from '../../src/core/json.ts'
import { FakeClock } from '../support/clock.ts'
import { every } from '../support/every.ts'
import type { Gateway } from '../support/gateway.ts'
import { printed } from '../support/printed.ts'
import { startScene } from '../support/scene.ts'

const BOSS = 'sk-router-v1-boss-0123456789abcdef'
const ADMIN = 'sk-router-v1-admin-0123456789abcdef'
const FILE = 'sk-router-v1-file-0123456789abcdef'
const sha256 = (text: string): string => digest('sha256', text)

/** A call costs exactly $1. */
const configuration = (upstream: string): string => `
budgets: { team-a: { lifetime: "100" } }
auth:
  keys:
    - { name: boss, key: "${BOSS}", management: true }
    - { name: chief, key: "${ADMIN}", role: admin }
    - { name: file, key: "${FILE}" }
providers: { first: { dialect: openai-chat, base_url: "${upstream}/v1", key: "sk-provider-secret" } }
models:
  acme/one: { endpoints: [ { provider: first, model: m1, price: { prompt: "0", completion: "0", request: "1.00" } } ] }
`

interface Reply {
  readonly status: number
  readonly body: JsonObject
}

async function call({ url }: Gateway, route: string, body?: JsonObject, secret = BOSS): Promise<Reply> {
  const [method = '', path = ''] = route.split(' ')
  const headers = { authorization: `Bearer ${secret}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
  const response = await fetch(`${url}/v1${path}`, { method, headers, body: body ? JSON.stringify(body) : null })
  return { status: response.status, body: (await response.json()) as JsonObject }
}

const scene = (t: Test) => startScene(t, { config: configuration, clock: new FakeClock() })
const generate = async (gateway: Gateway, secret: string): Promise<number> =>
  (await call(gateway, 'POST /chat/completions', { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] }, secret)).status
const messageIn = ({ body }: Reply): string => String((body.error as JsonObject).message)

t.test('an imported key works with the secret that its caller has, within what it has left', async (t) => {
  const { gateway } = await scene(t)
  const secret = 'sk-litellm-1234'
  t.equal(await generate(gateway, secret), 401)
  const one = {
    hash: sha256(secret),
    name: 'reports',
    label: 'sk-...1234',
    limit: 4,
    usage: 2.5,
    tags: { team: 'growth' },
    parent: 'team-a',
  }
  const first = await call(gateway, 'POST /keys/import', { keys: [one] })
  t.match(first, {
    status: 200,
    body: { created: 1, exists: 0, replaced: 0, data: [{ index: 0, hash: one.hash, name: 'reports', status: 'created' }] },
  })
  const shown = (await call(gateway, `GET /keys/${one.hash}`)).body.data
  t.match(shown, { name: 'reports', label: 'sk-...1234', usage: 2.5, limit_remaining: 1.5, tags: { team: 'growth' }, source: 'store' })
  t.equal(await generate(gateway, secret), 200)
  t.equal(await generate(gateway, secret), 402, 'what it has spent elsewhere counts')
  const budgets = (await call(gateway, 'GET /budgets')).body.data
  t.match(budgets, [{ name: 'team-a', windows: [{ used: 3.5 }] }])

  const again = await call(gateway, 'POST /keys/import', { keys: [{ ...one, limit: 100, name: 'other' }] })
  t.match(again.body, { created: 0, exists: 1, data: [{ status: 'exists', name: 'reports' }] })
  t.match((await call(gateway, `GET /keys/${one.hash}`)).body.data, { name: 'reports', limit: 4, usage: 3.5 }, 'and is left as it was')
  const over = await call(gateway, 'POST /keys/import', {
    keys: [{ hash: one.hash, name: 'other', limit: 100, usage: 50 }],
    overwrite: true,
  })
  t.match(over.body, { replaced: 1 })
  t.match(
    (await call(gateway, `GET /keys/${one.hash}`)).body.data,
    { name: 'other', limit: 100, usage: 3.5, tags: {} },
    'what it spent counts once',
  )
  t.equal(await generate(gateway, secret), 200)

  const audit = asObjects((await call(gateway, `GET /audit?subject=${one.hash}`)).body.data)
  t.same(
    audit.map(({ action }) => action),
    ['ledger.entry_added', 'key.created', 'key.changed'],
  )
  t.notOk(JSON.stringify(audit).includes(secret))
})

t.test('a hash that opens a key by another way is reported', async (t) => {
  const { gateway } = await scene(t)
  const { body } = await call(gateway, 'POST /keys', { name: 'own' })
  const { hash: first } = body.data as { hash: string }
  const rotated = await call(gateway, `POST /keys/${first}/rotate`, { grace_seconds: 60 })
  const { hash: second } = rotated.body.data as { hash: string }
  await call(gateway, `POST /keys/${second}/rotate`, { grace_seconds: 60 })
  const rows = [first, second, sha256(FILE)].map((hash) => ({ hash, name: 'taken' }))
  const reply = await call(gateway, 'POST /keys/import', { keys: rows, overwrite: true })
  t.match(reply.body, { created: 0, replaced: 0, exists: 3 }, 'its first secret, its last one, and that of a key of the file')
  t.same(
    asObjects(reply.body.data).map(({ name }) => name),
    ['own', 'own', 'file'],
  )
})

const HASH = 'a'.repeat(64)

t.test('nothing is imported where any key is wrong, and each error names its place', async (t) => {
  const { gateway } = await scene(t)
  const before = (await call(gateway, 'GET /keys')).body.total_count
  const good = { hash: 'b'.repeat(64), name: 'good' }
  const wrong: readonly [JsonObject, string][] = [
    [{ name: 'x' }, 'hash'],
    [{ hash: 'A'.repeat(64), name: 'x' }, 'hash'],
    [{ hash: 'sk-a-whole-secret', name: 'x' }, 'hash'],
    [{ hash: HASH }, 'name'],
    [{ hash: HASH, name: '\u200b' }, 'name'],
    [{ hash: HASH, name: 'x', label: 'sk-a-whole-secret' }, 'label'],
    [{ hash: HASH, name: 'x', usage: -1 }, 'usage'],
    [{ hash: HASH, name: 'x', limit: '10' }, 'limit'],
    [{ hash: HASH, name: 'x', parent: 'nowhere' }, 'parent'],
    [{ hash: HASH, name: 'x', expires_at: 'soon' }, 'expires_at'],
    [{ hash: HASH, name: 'x', tags: { 'a b': 'c' } }, 'tags.a b'],
    [{ hash: HASH, name: 'x', secret: 'sk-a' }, 'secret'],
    [{ hash: HASH, name: 'x', identity: 'dev' }, 'identity'],
    [{ hash: good.hash, name: 'twice' }, 'hash'],
  ]
  const reply = await call(gateway, 'POST /keys/import', { keys: [good, ...wrong.map(([row]) => row)] })
  t.equal(reply.status, 400)
  const { errors } = (reply.body.error as { metadata: { errors: { field: string }[] } }).metadata
  t.same(
    errors.map(({ field }) => field),
    wrong.map(([, field], at) => `keys[${at + 1}].${field}`),
  )
  t.notOk(JSON.stringify(reply.body).includes('sk-a-whole-secret'))
  t.equal((await call(gateway, 'GET /keys')).body.total_count, before)
  await every(t, 'every wrong list', async (t) => {
    for (const body of [{}, { keys: [] }, { keys: {} }, { keys: [null] }, { keys: [[]] }, { keys: [good], overwrit: true }] as JsonObject[])
      t.equal((await call(gateway, 'POST /keys/import', body)).status, 400, JSON.stringify(body))
    const many = Array.from({ length: 1001 }, (_, at) => ({ hash: sha256(String(at)), name: `k${at}` }))
    t.match(messageIn(await call(gateway, 'POST /keys/import', { keys: many })), /^keys: must have at most 1000 items/)
  })
})

t.test('an import gives no role that its caller may not give, and changes no key beyond its rights', async (t) => {
  const { gateway } = await scene(t)
  const row = { hash: HASH, name: 'x', role: 'owner' }
  t.equal((await call(gateway, 'POST /keys/import', { keys: [row] }, ADMIN)).status, 403)
  t.equal((await call(gateway, 'POST /keys/import', { keys: [row] })).status, 200)
  t.equal((await call(gateway, 'POST /keys/import', { keys: [{ hash: HASH, name: 'y' }], overwrite: true }, ADMIN)).status, 403)
  t.match((await call(gateway, `GET /keys/${HASH}`)).body.data, { name: 'x', role: 'owner' })
})

t.test('imports of the same keys at once make each once', async (t) => {
  const { gateway } = await scene(t)
  const rows = Array.from({ length: 300 }, (_, at) => ({ hash: sha256(`k${at}`), name: `k${at}`, usage: 1 }))
  const replies = await Promise.all(Array.from({ length: 4 }, () => call(gateway, 'POST /keys/import', { keys: rows })))
  const sum = (name: string) => replies.reduce((all, { body }) => all + Number(body[name]), 0)
  t.equal(sum('created'), 300)
  t.equal(sum('exists'), 900)
  const { body } = await call(gateway, 'GET /credits')
  t.equal((body.data as JsonObject).total_usage, 300, 'and what each has spent counts once')
})

const LITELLM = [
  {
    token: sha256('sk-one'),
    key_name: 'sk-...-one',
    key_alias: 'team reports',
    spend: 1.25,
    expires: '2027-01-31 00:00:00',
    models: ['acme/one'],
    user_id: 'ann',
    team_id: 'growth',
    max_parallel_requests: 4,
    metadata: { tags: ['batch'], note: 'x' },
    blocked: null,
    tpm_limit: 1000,
    rpm_limit: 60,
    max_budget: 10,
    budget_duration: '30d',
    permissions: {},
    aliases: { fast: 'acme/one' },
  },
  {
    token: sha256('sk-two'),
    key_alias: null,
    spend: 0,
    expires: '2020-01-01T00:00:00.000Z',
    models: ['all-proxy-models'],
    blocked: true,
    metadata: {},
  },
]

const CSV = `token,key_name,key_alias,spend,expires,models,user_id,team_id,max_parallel_requests,metadata,blocked,tpm_limit,rpm_limit,max_budget,budget_duration,permissions,aliases
${sha256('sk-one')},sk-...-one,team reports,1.25,2027-01-31 00:00:00,{acme/one},ann,growth,4,"{""tags"": [""batch""], ""note"": ""x""}",,1000,60,10,30d,{},"{""fast"": ""acme/one""}"
${sha256('sk-two')},,,0,2020-01-01 00:00:00,{all-proxy-models},,,,{},t,,,,,{},{}
`

const run = (words: string[], flags: KeyFlags) => printed((streams) => keys(words, flags, streams))

t.test('files of another gateway and of this form are imported by the command line', async (t) => {
  await every(t, 'every form of the same table', async (t) => {
    for (const [name, text] of [
      ['keys.jsonl', `${LITELLM.map((row) => JSON.stringify(row)).join('\n')}\n`],
      ['keys.json', JSON.stringify(LITELLM, null, 2)],
      ['keys.csv', CSV],
      ['windows.csv', `\ufeff${CSV.replaceAll('\n', '\r\n')}`],
    ] as const) {
      const { gateway } = await scene(t)
      const file = join(t.testdir(), name)
      writeFileSync(file, text)
      process.env.HEADGATE_ADMIN_TOKEN = 'admin-token-of-the-tests'
      const reply = await run(['import', file], { url: gateway.admin })
      t.equal(reply.code, 0, `${name}: ${reply.error}`)
      t.match(reply.out, /^2 made, 0 replaced, 0 left as they were/, name)
      t.match(reply.error, /aliases of 1 key has no place here/, name)
      t.match(reply.error, /metadata\.note of 1 key/, name)
      const [one, two] = await Promise.all(
        ['sk-one', 'sk-two'].map(async (secret) => (await call(gateway, `GET /keys/${sha256(secret)}`)).body.data),
      )
      t.match(
        one,
        {
          name: 'team reports',
          label: 'sk-...-one',
          usage: 1.25,
          limit: 10,
          limit_reset: 'monthly',
          expires_at: '2027-01-31T00:00:00.000Z',
          allowed_models: ['acme/one'],
          creator_user_id: 'ann',
          limits: { requests: 60, tokens: 1000, streams: 4 },
          tags: { team_id: 'growth', batch: 'true' },
          disabled: false,
        },
        name,
      )
      t.match(two, { disabled: true, expires_at: '2020-01-01T00:00:00.000Z', allowed_models: null, limit: null, tags: {} }, name)
      t.equal(await generate(gateway, 'sk-one'), 200, name)
      t.equal(await generate(gateway, 'sk-two'), 401, `${name}: what was blocked stays so`)
      const again = await run(['import', file], { url: gateway.admin })
      t.match(again.out, /^0 made, 0 replaced, 2 left as they were\nline \d+: team reports /, name)
    }
  })
})

t.test('a file that is wrong names its line and field, and imports nothing', async (t) => {
  const { gateway } = await scene(t)
  const lines = (...rows: (JsonObject | string)[]): string =>
    rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row))).join('\n')
  const good = { hash: 'b'.repeat(64), name: 'good' }
  const token = 'c'.repeat(64)
  await every(t, 'every file', async (t) => {
    for (const [text, message] of [
      ['', /has no keys/],
      [lines(good, '', '{"hash"'), /line 3: expected JSON/],
      [lines(good, '', { hash: 'x', name: 'y' }), /line 3: hash: /],
      [lines(good, { hash: HASH, name: 'y', limit: -1 }), /line 2: limit: /],
      [lines({ token: 'sk-a-whole-secret' }), /line 1: token: expected the SHA-256/],
      [lines({ token, models: ['all-team-models'] }), /line 1: models: all-team-models is the list of a team/],
      [lines({ token, max_budget: 1, budget_duration: '90d' }), /line 1: budget_duration: expected one of/],
      [lines({ token, expires: 'tomorrow' }), /line 1: expires: expected a time/],
      ['hash,name\nx', /line 2: expected 2 columns/],
      [`hash,name\n${HASH},"x`, /line 2: expected a cell of CSV/],
      [`hash,name,limit\n\n${HASH},y,ten\n`, /line 3: limit: expected a number/],
      [`hash,name,disabled\n${HASH},y,maybe\n`, /line 2: disabled: expected true or false/],
    ] as const) {
      const file = join(t.testdir(), 'keys.txt')
      writeFileSync(file, text)
      const reply = await run(['import', file], { url: gateway.admin })
      t.equal(reply.code, 1, text.slice(0, 60))
      t.match(reply.error, message)
      t.notOk(reply.error.includes('sk-a-whole-secret'))
    }
  })
  t.equal((await call(gateway, 'GET /keys')).body.total_count, 3)
})

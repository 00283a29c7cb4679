/** The operations of management keys over HTTP: who may call them, bad input, and limits that change while the gateway runs. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { adminFetch } from '../../support/admin.ts'
import { JumpingClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { rawExchange } from '../../support/raw.ts'
import { startScene } from '../../support/scene.ts'
import { Gate, sseAnswer } from '../../support/upstream.ts'
import { answerFor, framesFor } from '../../support/wire.ts'

const SECRETS = {
  app: 'sk-router-v1-app-0123456789abcdef',
  boss: 'sk-router-v1-boss-0123456789abcdef',
  off: 'sk-router-v1-off-0123456789abcdef',
  old: 'sk-router-v1-old-0123456789abcdef',
}
const WORKSPACE = '00000000-0000-8000-8000-000000000001'
const secretHash = (secret: string): string => createHash('sha256').update(secret).digest('hex')
const APP = secretHash(SECRETS.app)
const NOBODY = 'f'.repeat(64)

/** A call costs exactly $1, however long it is. */
const configuration = (upstream: string, store = 'memory:'): string => `
store: { url: "${store}" }
auth:
  keys:
    - { name: app, key: "${SECRETS.app}", limit: "5.00", limit_reset: daily }
    - { name: boss, key: "${SECRETS.boss}", management: true }
    - { name: off, key: "${SECRETS.off}", management: true, disabled: true }
    - { name: old, key: "${SECRETS.old}", management: true, expires_at: "2020-01-01T00:00:00Z" }
providers:
  first: { dialect: openai-chat, base_url: "${upstream}/v1", key: "sk-provider-secret" }
models:
  acme/one:
    endpoints:
      - { provider: first, model: upstream-model, price: { prompt: "0", completion: "0", request: "1.00" } }
`

function managed(t: Test, store?: string) {
  return startScene(t, { config: (url) => configuration(url, store), clock: new JumpingClock() })
}

interface Told {
  status: number
  headers: Headers
  body: JsonObject & { data?: JsonObject; key?: string; error?: { code: number; message: string; metadata: JsonObject } }
}

async function call(gateway: Gateway, [method, path, body]: Operation, secret: string | undefined = SECRETS.boss): Promise<Told> {
  const response = await fetch(`${gateway.url}${path}`, {
    method,
    headers: {
      ...(secret === undefined || secret === '' ? {} : { authorization: `Bearer ${secret}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: response.status, headers: response.headers, body: JSON.parse((await response.text()) || '{}') as Told['body'] }
}

type Operation = readonly [method: string, path: string, body?: JsonObject | string]

const generate = (gateway: Gateway, secret: string, more: JsonObject = {}): Promise<Response> =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }], ...more }),
  })

const status = async (gateway: Gateway, secret: string): Promise<number> => (await generate(gateway, secret)).status

async function made(gateway: Gateway, body: JsonObject): Promise<{ hash: string; key: string; data: JsonObject }> {
  const { body: reply } = await call(gateway, ['POST', '/v1/keys', body])
  return { hash: String(reply.data?.hash), key: String(reply.key), data: reply.data ?? {} }
}

const list = async (gateway: Gateway, query = '?include_disabled=true'): Promise<JsonObject[]> =>
  (await call(gateway, ['GET', `/v1/keys${query}`])).body.data as unknown as JsonObject[]

t.test('every operation for every kind of key', async (t) => {
  const { gateway } = await managed(t)
  const { hash, key: stored } = await made(gateway, { name: 'stored' })
  const disabled = await made(gateway, { name: 'disabled' })
  await call(gateway, ['PATCH', `/v1/keys/${disabled.hash}`, { disabled: true }])
  const operations: readonly [operation: Operation, allowed: number][] = [
    [['GET', '/v1/keys'], 200],
    [['GET', '/v1/keys?include_disabled=true&offset=1'], 200],
    [['POST', '/v1/keys', { name: 'new' }], 201],
    [['GET', `/v1/keys/${hash}`], 200],
    [['GET', `/v1/keys/${NOBODY}`], 404],
    [['PATCH', `/v1/keys/${hash}`, { name: 'renamed' }], 200],
    [['PATCH', `/v1/keys/${NOBODY}`, { name: 'renamed' }], 404],
    [['PATCH', `/v1/keys/${APP}`, { name: 'renamed' }], 409],
    [['POST', `/v1/keys/${NOBODY}/rotate`], 404],
    [['POST', `/v1/keys/${APP}/rotate`], 409],
    [['DELETE', `/v1/keys/${APP}`], 409],
    [['DELETE', `/v1/keys/${NOBODY}`], 404],
    [['GET', '/v1/credits'], 200],
    [['GET', '/v1/activity'], 200],
    [['DELETE', `/v1/keys/${hash}`], 200],
  ]
  const refused: Record<string, [secret: string | undefined, status: number, message: RegExp]> = {
    none: ['', 401, /^Missing Authentication header$/],
    bad: ['sk-router-v1-nobody', 401, /^Invalid API key$/],
    'a disabled management key': [SECRETS.off, 401, /^Invalid API key$/],
    'an expired management key': [SECRETS.old, 401, /^Invalid API key$/],
    'a disabled stored key': [disabled.key, 401, /^Invalid API key$/],
    ordinary: [SECRETS.app, 403, /^Only management keys of the role/],
    'ordinary, stored': [stored, 403, /^Only management keys of the role/],
  }
  const before = await list(gateway)
  await every(t, 'every case', async (t) => {
    for (const [kind, [secret, code, message]] of Object.entries(refused))
      for (const [operation] of operations) {
        const told = await call(gateway, operation, secret)
        t.match(told, { status: code, body: { error: { code, message } } }, `${kind}: ${operation[0]} ${operation[1]}`)
      }
  })
  t.same(await list(gateway), before, 'nothing was changed by those who may not')
  await every(t, 'every case', async (t) => {
    for (const [operation, allowed] of operations)
      t.equal((await call(gateway, operation)).status, allowed, operation.slice(0, 2).join(' '))
  })
  t.match(await call(gateway, ['GET', '/v1/key'], SECRETS.boss), { status: 200, body: { data: { is_management_key: true } } })
  t.match(await (await generate(gateway, SECRETS.boss)).json(), { error: { code: 403, message: /^Only keys of the role member/ } })
})

t.test('a new secret takes the place of the old one', async (t) => {
  const { gateway } = await managed(t)
  const old = await made(gateway, { name: 'turned', limit: 5 })
  t.equal(await status(gateway, old.key), 200)
  const { status: code, body } = await call(gateway, ['POST', `/v1/keys/${old.hash}/rotate`])
  t.equal(code, 200)
  t.match(body.data, { name: 'turned', limit: 5 })
  t.not(body.data?.hash, old.hash, 'the hash is another')
  t.equal(await status(gateway, old.key), 401, 'the old secret is refused')
  t.equal(await status(gateway, String(body.key)), 200, 'the new one is taken')
  t.equal((await call(gateway, ['GET', `/v1/keys/${old.hash}`])).status, 404)
})

t.test('other methods and paths', async (t) => {
  const { gateway } = await managed(t)
  await every(t, 'every case', async (t) => {
    for (const [method, path, allow] of [
      ['PUT', '/v1/keys', 'GET, POST'],
      ['DELETE', '/v1/keys', 'GET, POST'],
      ['POST', `/v1/keys/${NOBODY}`, 'GET, PATCH, DELETE'],
      ['GET', `/v1/keys/${NOBODY}/rotate`, 'POST'],
      ['POST', '/v1/credits', 'GET'],
      ['POST', '/v1/activity', 'GET'],
    ]) {
      const told = await call(gateway, [method, path])
      t.match(told, { status: 405, body: { error: { code: 405 } } }, `${method} ${path}`)
      t.equal(told.headers.get('allow'), allow)
    }
  })
  for (const path of ['/v1/keys/toString', `/v1/keys/${APP.toUpperCase()}`, `/v1/keys/${APP}x`])
    t.equal((await call(gateway, ['GET', path])).status, 404, path)
  t.equal((await call(gateway, ['GET', `/v1/keys/${APP}/x`])).status, 404)
  const head = await fetch(`${gateway.url}/v1/keys`, { method: 'HEAD', headers: { authorization: `Bearer ${SECRETS.boss}` } })
  t.equal(head.status, 200)
  t.equal(await head.text(), '')
})

t.test('bad bodies and queries are 400s that name the field', async (t) => {
  const { gateway } = await managed(t)
  const { hash } = await made(gateway, { name: 'kept', limit: 2 })
  const before = await list(gateway)
  const shared: [body: JsonObject | string, field: string][] = [
    [{ name: '' }, 'name'],
    [{ name: 7 }, 'name'],
    [{ name: null }, 'name'],
    [{ name: 'x'.repeat(257) }, 'name'],
    [{ name: 'x', limit: -1 }, 'limit'],
    [{ name: 'x', limits: 5 }, 'limits'],
    [{ name: 'x', limit: '5' }, 'limit'],
    [{ name: 'x', limit: 9_000_001 }, 'limit'],
    [{ name: 'x', limit: true }, 'limit'],
    [{ name: 'x', limit_reset: 'hourly' }, 'limit_reset'],
    [{ name: 'x', limit_reset: 1 }, 'limit_reset'],
    [{ name: 'x', include_byok_in_limit: 'yes' }, 'include_byok_in_limit'],
    [{ name: 'x', include_byok_in_limit: null }, 'include_byok_in_limit'],
    ['', 'body'],
    ['{', 'body'],
    ['[]', 'body'],
    ['null', 'body'],
    ['"x"', 'body'],
    [`{"name":${'['.repeat(200)}${']'.repeat(200)}}`, 'body'],
    ['{"__proto__":{},"name":"x"}', 'body'],
  ]
  const making: typeof shared = [
    [{}, 'name'],
    [{ name: 'x', expires_at: 'tomorrow' }, 'expires_at'],
    [{ name: 'x', expires_at: 1 }, 'expires_at'],
    [{ name: 'x', expires_at: '2027-02-30T00:00:00Z' }, 'expires_at'],
    [{ name: 'x', expires_at: '2027-01-31T00:00:00+02:00' }, 'expires_at'],
    [{ name: 'x', expires_at: '2027-01-31' }, 'expires_at'],
    [{ name: 'x', expires_at: '2020-01-31T00:00:00Z' }, 'expires_at'],
    [{ name: 'x', workspace_id: '0df9e665-d932-5740-b2c7-b52af166bc11' }, 'workspace_id'],
    [{ name: 'x', creator_user_id: '' }, 'creator_user_id'],
    [{ name: 'x', creator_user_id: 5 }, 'creator_user_id'],
  ]
  const changing: typeof shared = [
    [{ disabled: 'yes' }, 'disabled'],
    [{ disabled: null }, 'disabled'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [method, path, rows] of [
      ['POST', '/v1/keys', [...shared, ...making]],
      ['PATCH', `/v1/keys/${hash}`, [...shared, ...changing]],
    ] as const)
      for (const [body, field] of rows) {
        const told = await call(gateway, [method, path, body])
        t.match(
          told,
          { status: 400, body: { error: { code: 400, message: new RegExp(`^${field}: `) } } },
          `${method} ${JSON.stringify(body).slice(0, 60)}`,
        )
        if (field !== 'body') t.equal(told.body.error?.metadata.field, field)
      }
  })
  await every(t, 'every case', async (t) => {
    for (const [path, field] of [
      ['/v1/keys?offset=-1', 'offset'],
      ['/v1/keys?offset=x', 'offset'],
      ['/v1/keys?include_disabled=maybe', 'include_disabled'],
      ['/v1/activity?date=yesterday', 'date'],
      ['/v1/activity?date=2026-01-05', 'date'],
      ['/v1/activity?date=2025-12-05', 'date'],
      ['/v1/activity?date=2025-12-32', 'date'],
      ['/v1/activity?api_key_hash=abc', 'api_key_hash'],
      ['/v1/activity?group_by=day', 'group_by'],
    ])
      t.match(await call(gateway, ['GET', path]), { status: 400, body: { error: { metadata: { field } } } }, path)
  })
  t.same(await list(gateway), before, 'nothing was made or changed')
})

t.test('bodies have the limits of completions', async (t) => {
  const { gateway } = await managed(t)
  const head = `POST /v1/keys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${SECRETS.boss}\r\n`
  const raw = (rest: string): Promise<string> => rawExchange(gateway.url, `${head}${rest}`).then((bytes) => bytes.toString())
  const body = '{"name":"raw"}'
  t.match(await raw(`Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`), /^HTTP\/1\.1 201 /, 'no type is JSON')
  t.match(await raw(`Content-Type: text/plain\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`), /^HTTP\/1\.1 415 /)
  t.match(await raw('Content-Encoding: gzip\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc'), /^HTTP\/1\.1 415 /)
  t.match(await raw('Content-Length: 99999999999\r\nConnection: close\r\n\r\n'), /^HTTP\/1\.1 413 /, 'said to be too long')
  t.match(
    await raw(`Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
    /^HTTP\/1\.1 100 [\s\S]*HTTP\/1\.1 201 /,
    'a body that waits is asked for',
  )
  const small = await startGateway(
    'server: { host: 127.0.0.1, port: 0, max_body: 64B }\nproviders: { sim: { dialect: sim } }\n' +
      `auth: { keys: [ { name: boss, key: "${SECRETS.boss}", management: true } ] }\n` +
      'models: { sim/echo: { endpoints: [ { provider: sim, model: echo } ] } }\n',
  )
  t.teardown(() => small.close())
  const chunk = `{"name":"${'x'.repeat(100)}"}`
  const answer = await rawExchange(small.url, `${head}Transfer-Encoding: chunked\r\n\r\n${chunk.length.toString(16)}\r\n${chunk}\r\n`)
  t.match(answer.toString(), /^HTTP\/1\.1 413 [\s\S]*connection: close/i, 'found to be too long, with the rest unread')
})

t.test('a key from its making to its end', async (t) => {
  const { gateway, clock } = await managed(t)
  const demand = {
    name: 'Wörker',
    limit: 0.123456789,
    limit_reset: 'weekly',
    include_byok_in_limit: true,
    expires_at: '2027-01-31T00:00:00Z',
    creator_user_id: 'user_1',
    workspace_id: WORKSPACE,
  }
  const reply = await call(gateway, ['POST', '/v1/keys', demand])
  t.equal(reply.status, 201)
  const { data = {}, key = '' } = reply.body
  t.match(key, /^sk-router-v2-[0-9a-f]{64}$/)
  t.equal(data.hash, secretHash(key))
  const expected = {
    name: 'Wörker',
    label: `${key.slice(0, 16)}...${key.slice(-4)}`,
    disabled: false,
    limit: 0.123456789,
    limit_remaining: 0.123456789,
    limit_reset: 'weekly',
    include_byok_in_limit: true,
    usage: 0,
    byok_usage_monthly: 0,
    created_at: new Date(clock.now()).toISOString(),
    updated_at: new Date(clock.now()).toISOString(),
    expires_at: '2027-01-31T00:00:00.000Z',
    workspace_id: WORKSPACE,
    creator_user_id: 'user_1',
  }
  t.match(data, expected)
  const hash = String(data.hash)
  t.same((await call(gateway, ['GET', `/v1/keys/${hash}`])).body, { data }, 'without the secret')
  t.same(
    (await list(gateway, '')).map(({ name }) => name),
    ['app', 'boss', 'old', 'Wörker'],
    'the disabled one is left out',
  )
  t.same(
    (await list(gateway)).map(({ name }) => name),
    ['app', 'boss', 'off', 'old', 'Wörker'],
  )
  t.same(
    (await list(gateway, '?include_disabled=true&offset=3')).map(({ name }) => name),
    ['old', 'Wörker'],
  )
  t.same(await list(gateway, '?offset=99'), [])
  t.same(await list(gateway, '?workspace_id=0df9e665-d932-5740-b2c7-b52af166bc11'), [])
  t.equal((await list(gateway, `?workspace_id=${WORKSPACE}`)).length, 4)

  t.equal(await status(gateway, key), 402, 'the limit holds: a call costs $1')
  const patch = async (body: JsonObject): Promise<JsonObject> => (await call(gateway, ['PATCH', `/v1/keys/${hash}`, body])).body.data ?? {}
  t.match(await patch({ limit: 2, limit_reset: null, include_byok_in_limit: false, name: 'w' }), { limit: 2, limit_reset: null, name: 'w' })
  t.equal(await status(gateway, key), 200, 'at once')
  t.match(await patch({ disabled: true }), { disabled: true, limit: 2, usage: 1, limit_remaining: 1, usage_daily: 1 })
  t.equal(await status(gateway, key), 401)
  t.match(await patch({ disabled: false }), { disabled: false })
  t.equal(await status(gateway, key), 200)
  t.equal(await status(gateway, key), 402)
  t.match(await patch({ limit: null }), { limit: null, limit_remaining: null })
  t.equal(await status(gateway, key), 200)
  t.match(await patch({}), { limit: null, usage: 3 }, 'nothing named, nothing changed')
  clock.jumpTo('2027-01-31T00:00:00Z')
  t.equal(await status(gateway, key), 401, 'it has expired')
  t.same((await call(gateway, ['DELETE', `/v1/keys/${hash}`])).body, { deleted: true })
  t.equal((await call(gateway, ['DELETE', `/v1/keys/${hash}`])).status, 404)
  t.equal(await status(gateway, key), 401)
  t.match(
    (await call(gateway, ['GET', '/v1/credits'])).body,
    { data: { total_usage: 3, total_credits: 8 } },
    'what it spent stays; app has $5',
  )
})

t.test('of many changes at once each one counts', async (t) => {
  const { gateway } = await managed(t)
  const { hash } = await made(gateway, { name: 'busy' })
  const changes: JsonObject[] = [
    { name: 'other' },
    { limit: 3 },
    { limit_reset: 'monthly' },
    { disabled: true },
    { include_byok_in_limit: true },
  ]
  await Promise.all(changes.map((change) => call(gateway, ['PATCH', `/v1/keys/${hash}`, change])))
  const expected = { name: 'other', limit: 3, limit_reset: 'monthly', disabled: true, include_byok_in_limit: true }
  t.match((await call(gateway, ['GET', `/v1/keys/${hash}`])).body.data, expected)
})

t.test('keys of the configuration are shown, and changed only there', async (t) => {
  const { gateway } = await managed(t)
  const entry = {
    name: 'app',
    hash: APP,
    label: 'sk-r...cdef',
    limit: 5,
    limit_reset: 'daily',
    source: 'configuration',
    creator_user_id: null,
  }
  t.match((await call(gateway, ['GET', `/v1/keys/${APP}`])).body.data, { ...entry, created_at: '1970-01-01T00:00:00.000Z' })
  for (const operation of [
    ['PATCH', `/v1/keys/${APP}`, { disabled: true }],
    ['DELETE', `/v1/keys/${APP}`],
  ] as const)
    t.match(await call(gateway, operation), { status: 409, body: { error: { message: /^The key app stands in the configuration file/ } } })
  t.equal(await status(gateway, SECRETS.app), 200)
})

t.test('a limit per day over midnight: what was held before settles after it', async (t) => {
  const { gateway, upstream, clock } = await managed(t)
  const { key, hash } = await made(gateway, { name: 'daily', limit: 3, limit_reset: 'daily' })
  const left = async (): Promise<unknown> => {
    const { data } = (await call(gateway, ['GET', `/v1/keys/${hash}`])).body
    return { left: data?.limit_remaining, day: data?.usage_daily, all: data?.usage }
  }
  clock.jumpTo('2026-01-05T23:59:58Z')
  t.equal(await status(gateway, key), 200)
  const gate = new Gate()
  upstream.script = (seen) => {
    const frames = framesFor(seen.path, { text: ['one', 'two'] })
    const cut = frames.findIndex((frame) => frame.includes('"two"'))
    return sseAnswer([...frames.slice(0, cut), gate.step, ...frames.slice(cut)])
  }
  const open = await generate(gateway, key, { stream: true })
  t.same(await left(), { left: 1, day: 1, all: 1 }, 'a dollar is spent, one is held')
  upstream.script = (seen) => answerFor(seen, { text: ['fine'] })
  clock.jumpTo('2026-01-06T00:00:00Z')
  t.same(await left(), { left: 2, day: 0, all: 1 }, 'a new day; the open hold counts in it')
  gate.open()
  await open.text()
  t.same(await left(), { left: 2, day: 1, all: 2 }, 'charged to the day in which it ended')
  t.equal(await status(gateway, key), 200)
  t.equal(await status(gateway, key), 200)
  const refused = await generate(gateway, key)
  t.match(await refused.json(), {
    error: { code: 402, metadata: { left: '0.00', needed: '1.00', limit_resets_at: '2026-01-07T00:00:00.000Z' } },
  })
  clock.jumpTo('2026-01-06T23:59:59.999Z')
  t.equal(await status(gateway, key), 402)
  clock.jumpTo('2026-01-07T00:00:00Z')
  t.equal(await status(gateway, key), 200)
  t.same(await left(), { left: 2, day: 1, all: 5 })
})

t.test('many at once never pass a limit with a reset', async (t) => {
  const { gateway } = await managed(t)
  const { key, hash } = await made(gateway, { name: 'race', limit: 7, limit_reset: 'monthly' })
  const outcomes = await Promise.all(Array.from({ length: 40 }, () => status(gateway, key)))
  t.equal(outcomes.filter((code) => code === 200).length, 7)
  t.equal(outcomes.filter((code) => code === 402).length, 33)
  t.match((await call(gateway, ['GET', `/v1/keys/${hash}`])).body.data, { usage_monthly: 7, limit_remaining: 0 })
})

t.test('after a restart keys, windows and limits are as they were', async (t) => {
  const { gateway, clock } = await managed(t, `sqlite:${join(t.testdir(), 'ledger.db')}`)
  const { key, hash } = await made(gateway, { name: 'lasting', limit: 2, limit_reset: 'weekly', creator_user_id: 'me' })
  clock.jumpTo('2026-01-09T12:00:00Z')
  t.equal(await status(gateway, key), 200)
  clock.jumpTo('2026-01-10T12:00:00Z')
  t.equal(await status(gateway, key), 200)
  const entry = async (): Promise<unknown> => (await call(gateway, ['GET', `/v1/keys/${hash}`])).body
  const before = await entry()
  t.match(before, { data: { usage_daily: 1, usage_weekly: 2, limit_remaining: 0, creator_user_id: 'me' } })
  await gateway.restart()
  t.same(await entry(), before)
  t.equal(await status(gateway, key), 402)
  clock.jumpTo('2026-01-12T00:00:00Z')
  t.equal(await status(gateway, key), 200, 'Monday')
  await gateway.restart()
  t.match(await entry(), { data: { usage: 3, usage_weekly: 1, usage_monthly: 3, limit_remaining: 1 } })
})

t.test('keys of the store obey the rate limits of the configuration', async (t) => {
  const directory = t.testdir()
  const { gateway, upstream } = await startScene(t, {
    config: (url) => `limits: { requests: 2 }\n${configuration(url)}`,
    clock: new JumpingClock(),
    directory,
  })
  const { key } = await made(gateway, { name: 'fast', creator_user_id: 'ada' })
  t.same([await status(gateway, key), await status(gateway, key), await status(gateway, key)], [200, 200, 429])
  t.match((await call(gateway, ['GET', '/v1/key'], key)).body.data, { rate_limit: { requests: 2 }, creator_user_id: 'ada' })
  t.match(await gateway.reconfigure(configuration(upstream.url)), { kind: 'applied' })
  t.equal(await status(gateway, key), 200, 'and follow a reload')
})

t.test('activity: the last 30 full days', async (t) => {
  const { gateway, clock } = await managed(t)
  const one = await made(gateway, { name: 'one', creator_user_id: 'ada' })
  const two = await made(gateway, { name: 'two' })
  const spend = async (iso: string, ...keys: string[]): Promise<void> => {
    clock.jumpTo(iso)
    for (const key of keys) t.equal(await status(gateway, key), 200)
  }
  await spend('2026-02-01T23:59:59Z', one.key)
  await spend('2026-02-02T00:00:00Z', one.key, two.key)
  await spend('2026-03-03T23:59:59Z', one.key)
  await spend('2026-03-04T00:00:00Z', two.key)
  const rows = async (query = ''): Promise<JsonObject[]> =>
    (await call(gateway, ['GET', `/v1/activity${query}`])).body.data as unknown as JsonObject[]
  const same = {
    model: 'acme/one',
    model_permaslug: 'acme/one',
    endpoint_id: 'acme/one@first',
    provider_name: 'first',
    byok_usage_inference: 0,
    byok_requests: 0,
  }
  const usage = { prompt_tokens: 11, completion_tokens: 7, reasoning_tokens: 2, cache_discount: 0 }
  t.same(await rows(), [
    { date: '2026-03-03', ...same, usage: 1, requests: 1, ...usage },
    { date: '2026-02-02', ...same, usage: 2, requests: 2, ...usage, prompt_tokens: 22, completion_tokens: 14, reasoning_tokens: 4 },
  ])
  t.match(await rows('?date=2026-02-02'), [{ date: '2026-02-02', requests: 2 }])
  t.same(await rows('?date=2026-02-10'), [])
  t.match(await rows(`?api_key_hash=${two.hash}`), [{ date: '2026-02-02', requests: 1 }])
  t.equal((await rows(`?api_key_hash=${two.hash}`)).length, 1)
  t.same(
    (await rows('?user_id=ada')).map(({ requests }) => requests),
    [1, 1],
  )
  t.same(await rows('?user_id=nobody'), [])
  t.match(await rows('?group_by=workspace'), [{ workspace_id: WORKSPACE }, { workspace_id: WORKSPACE }])
  t.same(await rows('?workspace_id=0df9e665-d932-5740-b2c7-b52af166bc11'), [])
  await call(gateway, ['DELETE', `/v1/keys/${two.hash}`])
  t.equal((await rows(`?api_key_hash=${two.hash}`)).length, 1, 'a key that is gone has left its rows')
})

t.test('activity: what the caches of providers have saved', async (t) => {
  const { clock, gateway } = await startScene(t, {
    answer: (seen) => answerFor(seen, { text: ['fine'], usage: { input: 1000, output: 1, cached: 600, reasoning: 0 } }),
    config: (url) => `${configuration(url)}  acme/cached:
    endpoints: [ { provider: first, model: m, price: { prompt: "2.00", completion: "0", cached: "0.50" } } ]
`,
    clock: new JumpingClock(),
  })
  clock.jumpTo('2026-03-03T12:00:00Z')
  const { key } = await made(gateway, { name: 'cached' })
  const body = { model: 'acme/cached', messages: [{ role: 'user', content: 'Hello' }] }
  for (let turn = 0; turn < 2; turn++) {
    const reply = await gateway.post('/v1/chat/completions', body, { authorization: `Bearer ${key}` })
    t.equal(reply.status, 200)
    await reply.text()
  }
  clock.jumpTo('2026-03-04T12:00:00Z')
  // 600 tokens at $1.50 less per million, twice.
  t.match((await call(gateway, ['GET', '/v1/activity'])).body.data, [{ date: '2026-03-03', model: 'acme/cached', cache_discount: 0.0018 }])
})

t.test('secrets are in no log, no metric and no error', async (t) => {
  const { gateway } = await managed(t)
  const { key, hash } = await made(gateway, { name: 'quiet', limit: 1 })
  await status(gateway, key)
  await status(gateway, key)
  await call(gateway, ['PATCH', `/v1/keys/${hash}`, { disabled: true }])
  const utterance = [
    JSON.stringify((await call(gateway, ['GET', '/v1/keys'], key)).body),
    JSON.stringify((await call(gateway, ['POST', '/v1/keys', `{"name": "${key}`])).body),
    JSON.stringify(await list(gateway)),
    await (await fetch(`${gateway.admin}/metrics`)).text(),
    await (await adminFetch(`${gateway.admin}/ledger/export`)).text(),
    ...gateway.logs,
  ].join('\n')
  t.ok(utterance.includes('quiet') && utterance.includes(hash), 'something was said')
  for (const secret of [key, ...Object.values(SECRETS)]) t.notOk(utterance.includes(secret))
})

t.test('several keys may have one name, and a new one is made without reading the others', async (t) => {
  const { gateway } = await managed(t)
  const make = () => call(gateway, ['POST', '/v1/keys', { name: 'twin' }])
  const [first, second] = [await make(), await make()]
  for (const each of [first, second]) t.match(each, { status: 201, body: { data: { name: 'twin' } } })
  t.not(first.body.data?.hash, second.body.data?.hash)
})

/** Rotation of a key with an overlap: both secrets are one key, until the old one has ended. */
import { hash as digest } from 'node:crypto'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { asObjects, type JsonObject } from '../../../src/core/json.ts'
import { adminFetch } from '../../support/admin.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import type { Gateway } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'

const BOSS = 'sk-router-v1-boss-0123456789abcdef'
const HOUR = 3_600_000
const sha256 = (text: string): string => digest('sha256', text)

/** A call costs exactly $1. */
const configuration = (upstream: string): string => `
auth:
  sign_in: { callbacks: [ "https://app.example/*" ], pkce: optional }
  keys:
    - { name: boss, key: "${BOSS}", management: true }
providers:
  first: { dialect: openai-chat, base_url: "${upstream}/v1", key: "sk-provider-secret" }
models:
  acme/one: { endpoints: [ { provider: first, model: upstream-model, price: { prompt: "0", completion: "0", request: "1.00" } } ] }
`

interface Reply {
  readonly status: number
  readonly key: string
  readonly data: JsonObject
  readonly message: string
}

async function call({ url }: Gateway, route: string, body?: JsonObject | string, secret = BOSS): Promise<Reply> {
  const [method = '', path = ''] = route.split(' ')
  const headers = { authorization: `Bearer ${secret}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
  const text = body === undefined || typeof body === 'string' ? (body ?? null) : JSON.stringify(body)
  const response = await fetch(`${url}/v1${path}`, { method, headers, body: text })
  const reply = (await response.json()) as JsonObject
  const { message = '' } = (reply.error ?? {}) as JsonObject
  return { status: response.status, key: String(reply.key), data: (reply.data ?? {}) as JsonObject, message: String(message) }
}

const generate = (gateway: Gateway, secret: string): Promise<Reply> =>
  call(gateway, 'POST /chat/completions', { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] }, secret)

async function scene(t: Test) {
  const clock = new FakeClock()
  const { gateway } = await startScene(t, { config: configuration, clock })
  const make = async (fields: JsonObject = {}) => {
    const { key, data } = await call(gateway, 'POST /keys', { name: 'app', ...fields })
    return { secret: key, hash: String(data.hash), data }
  }
  const rotate = async (hash: string, body?: JsonObject) => {
    const { key, data } = await call(gateway, `POST /keys/${hash}/rotate`, body)
    return { secret: key, hash: String(data.hash), data }
  }
  return { clock, gateway, make, rotate }
}

t.test('both secrets are one key until the overlap has ended', async (t) => {
  const { clock, gateway, make, rotate } = await scene(t)
  const first = await make({ limit: 5 })
  t.equal((await generate(gateway, first.secret)).status, 200)
  const begun = clock.now()
  const second = await rotate(first.hash, { grace_seconds: 3600 })
  t.not(second.hash, first.hash)
  t.match(second.data, {
    limit_remaining: 4,
    rotated_at: new Date(begun).toISOString(),
    previous_secret_expires_at: new Date(begun + HOUR).toISOString(),
    expires_at: null,
  })
  t.equal((await generate(gateway, first.secret)).status, 200, 'the old secret works')
  t.equal((await generate(gateway, second.secret)).status, 200)
  t.match((await call(gateway, `GET /keys/${second.hash}`)).data, { usage: 3, limit_remaining: 2 }, 'both spend one limit')
  t.match((await call(gateway, 'GET /key', undefined, first.secret)).data, { name: 'app', usage: 3 }, 'the old secret names the same key')

  await t.test('the old hash still names the key in paths', async (t) => {
    t.match((await call(gateway, `GET /keys/${first.hash}`)).data, { hash: second.hash, expires_at: null })
    t.match((await call(gateway, `PATCH /keys/${first.hash}`, { limit: 6 })).data, { hash: second.hash, limit: 6, expires_at: null })
    t.match((await call(gateway, `GET /keys/${first.hash}/budget`)).status, 200)
  })
  await clock.advance(HOUR - 1)
  t.equal((await generate(gateway, first.secret)).status, 200, 'in the last millisecond')
  await clock.advance(1)
  const late = await generate(gateway, first.secret)
  t.equal(late.status, 401)
  t.equal(
    late.message,
    `This secret was replaced by a rotation of its key at ${new Date(begun).toISOString()}, and ended at ${new Date(begun + HOUR).toISOString()}: send the new one`,
  )
  t.equal((await generate(gateway, second.secret)).status, 200)
  t.match((await call(gateway, `GET /keys/${second.hash}`)).data, { previous_secret_expires_at: null, expires_at: null })
  for (const route of [`GET /keys/${first.hash}`, `DELETE /keys/${first.hash}`, `GET /keys/${first.hash}/budget`])
    t.equal((await call(gateway, route)).status, 404, `${route.slice(0, 8)}: the old hash names nothing after the end`)
  const refusals = await call(gateway, 'GET /refusals?reason=key_rotated')
  t.match(refusals.data, [{ count: 1 }], 'the operator reads why')
})

t.test('a key has one old secret at most', async (t) => {
  const { gateway, make, rotate } = await scene(t)
  const first = await make()
  const second = await rotate(first.hash, { grace_seconds: 3600 })
  const third = await rotate(second.hash, { grace_seconds: 60 })
  t.match(await generate(gateway, first.secret), { status: 401, message: 'Invalid API key' }, 'a further rotation ends the one before')
  t.equal((await generate(gateway, second.secret)).status, 200)
  t.equal((await generate(gateway, third.secret)).status, 200)
  const fourth = await rotate(third.hash)
  for (const { secret } of [first, second, third])
    t.match(await generate(gateway, secret), { status: 401, message: 'Invalid API key' }, 'a rotation without an overlap ends all')
  t.equal((await generate(gateway, fourth.secret)).status, 200)
  t.match(fourth.data, { rotated_at: null, previous_secret_expires_at: null })
})

t.test('the overlap ends when it is ended, and with the key', async (t) => {
  const { gateway, clock, make, rotate } = await scene(t)
  const first = await make()
  const second = await rotate(first.hash, { grace_seconds: 3600 })
  t.equal((await generate(gateway, first.secret)).status, 200)
  t.match(await call(gateway, `DELETE /keys/${second.hash}/previous`), { status: 200, data: { previous_secret_expires_at: null } })
  t.match(await generate(gateway, first.secret), { status: 401, message: 'Invalid API key' })
  t.equal((await call(gateway, `DELETE /keys/${second.hash}/previous`)).status, 409)
  const third = await rotate(second.hash, { grace_seconds: 3600 })
  await call(gateway, `PATCH /keys/${third.hash}`, { disabled: true })
  for (const { secret } of [second, third]) t.match(await generate(gateway, secret), { status: 401, message: 'Invalid API key' })
  await call(gateway, `PATCH /keys/${third.hash}`, { disabled: false })
  for (const { secret } of [second, third]) t.equal((await generate(gateway, secret)).status, 200)
  t.equal((await call(gateway, `DELETE /keys/${second.hash}`)).status, 200, 'named by the old hash')
  for (const { secret } of [second, third]) t.match(await generate(gateway, secret), { status: 401, message: 'Invalid API key' })

  const ending = await make({ expires_at: new Date(clock.now() + 1000).toISOString() })
  const next = await rotate(ending.hash, { grace_seconds: 3600 })
  t.equal(next.data.previous_secret_expires_at, ending.data.expires_at, 'no secret outlives its key')
  await clock.advance(1000)
  for (const { secret } of [ending, next]) t.match(await generate(gateway, secret), { status: 401, message: 'Invalid API key' })
})

t.test('keys that the old secret issued last as long as it does', async (t) => {
  const { gateway, clock, make, rotate } = await scene(t)
  const issue = async (secret: string) => {
    const code = await call(gateway, 'POST /auth/keys/code', { callback_url: 'https://app.example/back' }, secret)
    const { key } = await call(gateway, 'POST /auth/keys', { code: String(code.data.id) })
    return key
  }
  const first = await make()
  const before = await issue(first.secret)
  const second = await rotate(first.hash, { grace_seconds: 3600 })
  const during = await issue(first.secret)
  const ofNew = await issue(second.secret)
  for (const secret of [before, during, ofNew]) t.equal((await generate(gateway, secret)).status, 200)
  const listed = asObjects((await call(gateway, 'GET /keys')).data as never)
  t.equal(listed.filter((key) => key.parent_hash === second.hash && key.disabled === false).length, 3)
  await clock.advance(HOUR)
  for (const secret of [before, during]) t.equal((await generate(gateway, secret)).status, 401)
  t.equal((await generate(gateway, ofNew)).status, 200, 'the new secret has its own')
})

t.test('an old secret of a management key gives no more rights than it has', async (t) => {
  const { gateway, make, rotate } = await scene(t)
  const first = await make({ role: 'admin' })
  const second = await rotate(first.hash, { grace_seconds: 3600 })
  t.match(await call(gateway, `POST /keys/${second.hash}/rotate`, undefined, first.secret), { status: 403 })
  const made = await call(gateway, 'POST /keys', { name: 'watcher', role: 'viewer' }, first.secret)
  t.equal(made.data.expires_at, second.data.previous_secret_expires_at, 'what it makes ends with it')
  t.equal((await call(gateway, `POST /keys/${second.hash}/rotate`, undefined, second.secret)).status, 200)
})

t.test('bodies of a rotation that are wrong change nothing', async (t) => {
  const { gateway, make } = await scene(t)
  const { hash, secret } = await make()
  await every(t, 'every wrong body', async (t) => {
    for (const body of [
      '{"grace_seconds":-1}',
      '{"grace_seconds":2592001}',
      '{"grace_seconds":1.5}',
      '{"grace_seconds":"1"}',
      '{"grace":1}',
    ])
      t.match(await call(gateway, `POST /keys/${hash}/rotate`, body), { status: 400, message: /grace/ }, body)
    for (const body of ['[]', '{', 'null', '{"grace_seconds":1e999}'])
      t.equal((await call(gateway, `POST /keys/${hash}/rotate`, body)).status, 400, body)
  })
  t.equal((await generate(gateway, secret)).status, 200)
})

t.test('changes of the secret stand in the audit log, and no secret does', async (t) => {
  const { gateway, make, rotate } = await scene(t)
  const first = await make()
  const second = await rotate(first.hash, { grace_seconds: 3600 })
  await call(gateway, `DELETE /keys/${second.hash}/previous`)
  const entries = asObjects((await call(gateway, `GET /audit?subject=${first.hash}`)).data as never)
  t.match(
    entries.map(({ action, before, after }) => ({ action, before, after })),
    [
      { action: 'key.created' },
      { action: 'key.rotated', before: { hash: first.hash, previous_hash: null }, after: { hash: second.hash, previous_hash: first.hash } },
      { action: 'key.changed', before: { previous_hash: first.hash }, after: { previous_hash: null, previous_ends_at: null } },
    ],
  )
  const text = JSON.stringify(entries)
  for (const { secret } of [first, second]) t.notOk(text.includes(secret))
})

t.test('commands find a key by the hash that it had', async (t) => {
  const { gateway, make, rotate } = await scene(t)
  const first = await make()
  const second = await rotate(first.hash, { grace_seconds: 3600 })
  const body = JSON.stringify({ verb: 'revoke-old', key: first.hash })
  const reply = await adminFetch(`${gateway.admin}/keys/command`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  t.match(await reply.json(), { data: { hash: second.hash, previous_secret_expires_at: null } })
})

type Step = { kind: 'rotate'; grace: number } | { kind: 'wait'; seconds: number } | { kind: 'end' } | { kind: 'switch' }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('rotate' as const), grace: fc.constantFrom(0, 1, 60, 3600) }),
  fc.record({ kind: fc.constant('wait' as const), seconds: fc.constantFrom(1, 59, 60, 3599, 3600) }),
  fc.constant({ kind: 'end' as const }),
  fc.constant({ kind: 'switch' as const }),
)

t.test('whatever is rotated and however time passes, the secrets that work are the ones that a simple model has', async (t) => {
  const { gateway, clock, make, rotate } = await scene(t)
  let tried = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      const first = await make()
      const model = { secrets: [first.secret], hash: first.hash, old: { secret: '', until: 0 }, disabled: false }
      for (const each of steps) {
        if (each.kind === 'wait') await clock.advance(each.seconds * 1000)
        if (each.kind === 'rotate') {
          const { secret, hash } = await rotate(model.hash, each.grace === 0 ? undefined : { grace_seconds: each.grace })
          model.old = { secret: model.secrets.at(-1) ?? '', until: clock.now() + each.grace * 1000 }
          model.secrets.push(secret)
          model.hash = hash
        }
        if (each.kind === 'end') {
          const isOpen = model.old.until > clock.now()
          t.equal((await call(gateway, `DELETE /keys/${model.hash}/previous`)).status, isOpen ? 200 : 409)
          model.old.until = 0
        }
        if (each.kind === 'switch') {
          model.disabled = !model.disabled
          await call(gateway, `PATCH /keys/${model.hash}`, { disabled: model.disabled })
        }
        for (const secret of model.secrets) {
          const isGood = secret === model.secrets.at(-1) || (secret === model.old.secret && clock.now() < model.old.until)
          const found = await call(gateway, 'GET /key', undefined, secret)
          tried++
          if ((found.status === 200) !== (isGood && !model.disabled)) throw new Error(`${found.status} of ${sha256(secret)}`)
          const named = await call(gateway, `GET /keys/${sha256(secret)}`)
          if ((named.status === 200) !== isGood) throw new Error(`${named.status} for the hash ${sha256(secret)}`)
          if (isGood && named.data.hash !== model.hash) throw new Error('another hash')
        }
      }
    }),
    { numRuns: 40, seed: 46 },
  )
  t.ok(tried > 300, `${tried} look-ups`)
})

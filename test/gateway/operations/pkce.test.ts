/** Signing in by a code (RFC 7636) over HTTP: what a code is worth, what its key may do, and the page of the consent. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { createKey, exchangeCode, makeCode, parseKeyRequest, type SignInPolicy } from '../../../src/api/index.ts'
import { OPERATOR_RIGHTS } from '../../../src/api/key-rights.ts'
import { Fault } from '../../../src/core/faults.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { Credit } from '../../../src/ledger/credit.ts'
import { askPage } from '../../../src/server/consent-page.ts'
import type { KeyStore } from '../../../src/store/keys.ts'
import { adminFetch } from '../../support/admin.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import type { Gateway } from '../../support/gateway.ts'
import { MemoryKeys } from '../../support/memory/keys.ts'
import { ORIGIN } from '../../support/origin.ts'
import { parseReply, rawExchange } from '../../support/raw.ts'
import { startScene } from '../../support/scene.ts'
import { property } from '../../support/seed.ts'

const ADA = 'sk-router-v1-ada-0123456789abcdef'
const BOSS = 'sk-router-v1-boss-0123456789abcdef'
const CAPPED = 'sk-router-v1-capped-0123456789abcdef'
const CALLBACK = 'https://app.example/back?from=here'
/** RFC 7636 appendix B. */
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
const MINUTES = 60_000

const POLICY: SignInPolicy = {
  callbacks: [
    'https://app.example/*',
    'https://app.example:8443/a/b',
    'https://xn--bcher-kva.example/',
    'https://other.example/',
    'https://a.example/',
  ],
  loopback: true,
  pkce: 'optional',
}

/** A call costs exactly $1. */
const configuration = (upstream: string, more = ''): string => `
${more}
auth:
  sign_in: { callbacks: ${JSON.stringify(POLICY.callbacks)}, pkce: ${POLICY.pkce} }
  keys:
    - name: ada
      key: "${ADA}"
      allowed_models: [ acme/one ]
      provider: { only: [ first ] }
      limits: { requests: 900 }
    - { name: boss, key: "${BOSS}", management: true }
    - { name: capped, key: "${CAPPED}", limit: "5.00" }
providers:
  first: { dialect: openai-chat, base_url: "${upstream}/v1", key: "sk-provider-secret" }
models:
  acme/one: { endpoints: [ { provider: first, model: one, price: { prompt: "0", completion: "0", request: "1.00" } } ] }
  acme/two: { endpoints: [ { provider: first, model: two, price: { prompt: "0", completion: "0", request: "1.00" } } ] }
`

function signingIn(t: Test, more?: string) {
  return startScene(t, { config: (url) => configuration(url, more) })
}

interface Told {
  status: number
  headers: Headers
  body: JsonObject & { data?: JsonObject; key?: string; error?: { message: string; metadata: JsonObject } }
}

async function call(gateway: Gateway, method: string, path: string, body?: unknown, secret?: string): Promise<Told> {
  const response = await fetch(`${gateway.url}${path}`, {
    method,
    headers: { ...(secret ? { authorization: `Bearer ${secret}` } : {}), 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  })
  return { status: response.status, headers: response.headers, body: (await response.json()) as Told['body'] }
}

const consent = (gateway: Gateway, body: JsonObject = {}, secret = ADA): Promise<Told> =>
  call(gateway, 'POST', '/v1/auth/keys/code', { callback_url: CALLBACK, ...body }, secret)

const codeFor = async (gateway: Gateway, body: JsonObject = {}, secret = ADA): Promise<string> => {
  const { status, body: told } = await consent(gateway, body, secret)
  if (status !== 200) throw new Error(JSON.stringify(told))
  return String(told.data?.id)
}

const exchange = (gateway: Gateway, body: unknown): Promise<Told> => call(gateway, 'POST', '/v1/auth/keys', body)

const generate = async (gateway: Gateway, secret: string, model = 'acme/one'): Promise<number> =>
  (await call(gateway, 'POST', '/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }] }, secret)).status

const keys = async (gateway: Gateway): Promise<JsonObject[]> =>
  (await call(gateway, 'GET', '/v1/keys?include_disabled=true', undefined, BOSS)).body.data as unknown as JsonObject[]

/** A key of the store, made by its manager. */
async function made(gateway: Gateway, body: JsonObject): Promise<{ hash: string; key: string }> {
  const { body: told } = await call(gateway, 'POST', '/v1/keys', { name: 'made', ...body }, BOSS)
  return { hash: String(told.data?.hash), key: String(told.key) }
}

const read = async (gateway: Gateway, secret: string): Promise<JsonObject> =>
  (await call(gateway, 'GET', '/v1/key', undefined, secret)).body.data ?? {}

const UNKNOWN = { status: 403, body: { error: { code: 403, message: /^The code is unknown, was used, or is older than ten minutes$/ } } }

t.test('S256, plain and without a challenge', async (t) => {
  const { gateway, clock } = await signingIn(t)
  const plain = 'a-plain.challenge_with~unreserved-characters-only'
  await every(t, 'every case', async (t) => {
    for (const [name, asked, sent] of [
      ['S256', { code_challenge: CHALLENGE, code_challenge_method: 'S256' }, { code_verifier: VERIFIER, code_challenge_method: 'S256' }],
      ['S256, method unsaid', { code_challenge: CHALLENGE, code_challenge_method: 'S256' }, { code_verifier: VERIFIER }],
      ['plain', { code_challenge: plain, code_challenge_method: 'plain' }, { code_verifier: plain, code_challenge_method: 'plain' }],
      ['plain is what is meant without a method', { code_challenge: plain }, { code_verifier: plain, code_challenge_method: null }],
      ['no challenge', {}, {}],
      ['no challenge, said so', {}, { code_verifier: null, code_challenge_method: null }],
    ] as const) {
      const { status, body } = await consent(gateway, asked)
      t.equal(status, 200, name)
      t.match(body.data, { id: /^[A-Za-z0-9_-]{43}$/, created_at: new Date(clock.now()).toISOString() })
      t.ok(Number.isSafeInteger(body.data?.app_id), 'an integer names the application')
      const reply = await exchange(gateway, { code: body.data?.id ?? '', ...sent })
      t.match(reply, { status: 200, body: { key: /^sk-router-v2-[0-9a-f]{64}$/, user_id: 'ada' } }, name)
      t.same(Object.keys(reply.body).sort(), ['key', 'user_id'])
      t.equal(await generate(gateway, String(reply.body.key)), 200)
      t.match(await exchange(gateway, { code: body.data?.id ?? '', ...sent }), UNKNOWN, 'once')
    }
  })
  const one = await consent(gateway)
  const other = await consent(gateway, { callback_url: 'https://other.example/' })
  t.equal(one.body.data?.app_id, (await consent(gateway)).body.data?.app_id, 'the same application, the same number')
  t.not(one.body.data?.app_id, other.body.data?.app_id)
})

t.test('a wrong verifier opens nothing, and spoils nothing', async (t) => {
  const { gateway } = await signingIn(t)
  const code = await codeFor(gateway, { code_challenge: CHALLENGE, code_challenge_method: 'S256' })
  const before = await keys(gateway)
  await every(t, 'every case', async (t) => {
    for (const [body, status, message] of [
      [{}, 403, /^code_verifier: does not fit/],
      [{ code_verifier: null }, 403, /^code_verifier: does not fit/],
      [{ code_verifier: '' }, 403, /^code_verifier: does not fit/],
      [{ code_verifier: CHALLENGE }, 403, /^code_verifier: does not fit/],
      [{ code_verifier: `${VERIFIER}x` }, 403, /^code_verifier: does not fit/],
      [{ code_verifier: 'x'.repeat(512) }, 403, /^code_verifier: does not fit/],
      [{ code_verifier: 'x'.repeat(513) }, 400, /^code_verifier: must be at most 512/],
      [{ code_verifier: 7 }, 400, /^code_verifier: expected a string or null/],
      [{ code_verifier: VERIFIER, code_challenge_method: 'plain' }, 400, /^code_challenge_method: expected S256, as when/],
      [{ code_verifier: VERIFIER, code_challenge_method: 's256' }, 400, /^code_challenge_method: expected one of: S256, plain/],
      [{ code_verifier: VERIFIER, redirect_uri: CALLBACK }, 400, /^redirect_uri: unknown field/],
    ] as const)
      t.match(await exchange(gateway, { code, ...body }), { status, body: { error: { message } } }, JSON.stringify(body).slice(0, 60))
  })
  t.same(await keys(gateway), before, 'no key came of it')
  t.match(await exchange(gateway, { code, code_verifier: VERIFIER }), { status: 200 }, 'the honest one still gets it')

  const open = await codeFor(gateway)
  t.match(await exchange(gateway, { code: open, code_verifier: VERIFIER }), {
    status: 403,
    body: { error: { message: /^code_verifier: the code was made without a challenge$/ } },
  })
  t.match(await exchange(gateway, { code: open, code_challenge_method: 'S256' }), {
    status: 400,
    body: { error: { message: /^code_challenge_method: expected none/ } },
  })
  t.match(await exchange(gateway, { code: open }), { status: 200 })
})

t.test('codes end after ten minutes, and a code that is changed is no code', async (t) => {
  const { gateway, clock } = await signingIn(t)
  const [inTime, late] = [await codeFor(gateway), await codeFor(gateway)]
  const changed = [
    late.slice(1),
    `${late}A`,
    `${late[0] === 'A' ? 'B' : 'A'}${late.slice(1)}`,
    late.toLowerCase(),
    `code:${late}`,
    ' ',
    'x'.repeat(512),
  ]
  for (const code of changed) t.match(await exchange(gateway, { code }), UNKNOWN, code.slice(0, 50))
  const stored = createHash('sha256').update(late).digest('hex')
  for (const code of [stored, `code:${stored}`]) t.match(await exchange(gateway, { code }), UNKNOWN, 'its digest is worth nothing')
  await clock.advance(10 * MINUTES - 1)
  t.match(await exchange(gateway, { code: inTime }), { status: 200 })
  await clock.advance(1)
  t.match(await exchange(gateway, { code: late }), UNKNOWN)
  for (const body of [{}, { code: '' }, { code: 7 }, { code: null }, { code: 'x'.repeat(513) }])
    t.match(
      await exchange(gateway, body),
      { status: 400, body: { error: { metadata: { field: 'code' } } } },
      JSON.stringify(body).slice(0, 40),
    )
})

t.test('of many at once one gets the key', async (t) => {
  const { gateway } = await signingIn(t)
  const code = await codeFor(gateway)
  const before = (await keys(gateway)).length
  const replies = await Promise.all(Array.from({ length: 20 }, () => exchange(gateway, { code })))
  t.same(replies.map(({ status }) => status).sort(), [200, ...Array(19).fill(403)])
  t.equal((await keys(gateway)).length, before + 1)
})

t.test('a code opens nothing by itself and is shown to nobody', async (t) => {
  const { gateway } = await signingIn(t)
  const code = await codeFor(gateway, { key_label: 'hidden' })
  const digest = createHash('sha256').update(code).digest('hex')
  const shown = JSON.stringify(await keys(gateway))
  t.notOk(shown.includes('hidden') || shown.includes(digest))
  for (const secret of [code, `code:${digest}`, digest]) t.equal(await generate(gateway, secret), 401)
  await every(t, 'every name', async (t) => {
    for (const name of [`code:${digest}`, `code%3A${digest}`, digest])
      for (const [method, body] of [['GET'], ['PATCH', { disabled: false }], ['DELETE']] as const)
        t.match(await call(gateway, method, `/v1/keys/${name}`, body, BOSS), { status: 404 }, `${method} ${name.slice(0, 8)}`)
  })
  t.match(await exchange(gateway, { code }), { status: 200 }, 'it was not touched')
  t.match(await call(gateway, 'GET', '/v1/credits', undefined, BOSS), { body: { data: { total_credits: 5, total_usage: 0 } } })
})

t.test('the key has the rights that were consented to', async (t) => {
  const { gateway, clock } = await signingIn(t)
  const keyRequest = {
    limit: 1.5,
    usage_limit_type: 'monthly',
    expires_at: '2026-02-01T00:00:00Z',
    key_label: 'Wörk',
    workspace_id: '00000000-0000-8000-8000-000000000001',
  }
  const { key = '' } = (await exchange(gateway, { code: await codeFor(gateway, keyRequest) })).body
  t.match(await read(gateway, key), {
    name: 'Wörk',
    label: `${key.slice(0, 16)}...${key.slice(-4)}`,
    limit: 1.5,
    limit_remaining: 1.5,
    limit_reset: 'monthly',
    expires_at: '2026-02-01T00:00:00.000Z',
    creator_user_id: 'ada',
    is_management_key: false,
    rate_limit: { requests: 900 },
  })
  t.equal(await generate(gateway, key, 'acme/two'), 403, 'the models of the one who consented')
  t.equal(await generate(gateway, ADA, 'acme/two'), 403)
  t.equal(await generate(gateway, key), 200)
  t.equal(await generate(gateway, key), 402, 'its own limit')
  t.match(await call(gateway, 'GET', '/v1/keys', undefined, key), { status: 403 })
  const plain = String((await exchange(gateway, { code: await codeFor(gateway, { limit: null, expires_at: null }) })).body.key)
  t.match(await read(gateway, plain), { name: 'app.example', limit: null, limit_reset: null, expires_at: null })
  await clock.advance(Date.UTC(2026, 1, 1) - clock.now())
  t.equal(await generate(gateway, key), 401)
  t.equal(await generate(gateway, plain), 200)
})

t.test('an issued key draws on the limit of its issuer, below a cap of its own', async (t) => {
  const { gateway } = await signingIn(t)
  const giver = await made(gateway, { limit: 5, limit_reset: 'weekly', creator_user_id: 'user_1', expires_at: '2026-06-01T00:00:00Z' })
  t.equal(await generate(gateway, giver.key), 200)
  for (const [body, field, message] of [
    [{ limit: 5.01, usage_limit_type: 'weekly' }, 'limit', /must be at most 5\.00, the limit of the key that consents/],
    [{ limit: 1, expires_at: '2026-06-01T00:00:01Z' }, 'expires_at', /must not be later than the end of the key that consents/],
  ] as const)
    t.match(
      await consent(gateway, body, giver.key),
      { status: 400, body: { error: { message, metadata: { field } } } },
      JSON.stringify(body),
    )
  const issued = async (body: JsonObject): Promise<string> =>
    String((await exchange(gateway, { code: await codeFor(gateway, body, giver.key) })).body.key)
  const [capped, open] = [await issued({ limit: 1 }), await issued({})]
  t.match(await read(gateway, giver.key), { limit: 5, limit_remaining: 4 }, 'the limit of the issuer stays')
  t.match(await read(gateway, capped), { limit: 1, limit_remaining: 1, limit_reset: null, creator_user_id: 'user_1' })
  t.match(await read(gateway, open), { limit: null, limit_remaining: 4, expires_at: '2026-06-01T00:00:00.000Z' })
  const served = []
  for (const secret of [capped, capped, open, open, giver.key, open, giver.key]) served.push(await generate(gateway, secret))
  t.same(served, [200, 402, 200, 200, 200, 402, 402], 'five dollars in all, one of them by the key with a cap')
  t.match(await read(gateway, giver.key), { usage: 5, limit_remaining: 0 }, 'what issued keys spend counts for their issuer')
  t.match(await read(gateway, open), { usage: 2, limit_remaining: 0 })
  t.match(await call(gateway, 'GET', '/v1/credits', undefined, BOSS), { body: { data: { total_usage: 5, total_credits: 10 } } })

  const written = String((await exchange(gateway, { code: await codeFor(gateway, {}, CAPPED) })).body.key)
  for (let index = 0; index < 5; index++) t.equal(await generate(gateway, written), 200)
  t.equal(await generate(gateway, CAPPED), 402, 'also of a key of the configuration')
})

t.test('consent ends with the key that gave it', async (t) => {
  const { gateway, clock } = await signingIn(t)
  const ends: Record<string, (hash: string) => Promise<unknown>> = {
    disabled: (hash) => call(gateway, 'PATCH', `/v1/keys/${hash}`, { disabled: true }, BOSS),
    deleted: (hash) => call(gateway, 'DELETE', `/v1/keys/${hash}`, undefined, BOSS),
    rotated: (hash) =>
      adminFetch(`${gateway.admin}/keys/command`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ verb: 'rotate', key: hash }),
      }),
    expired: () => clock.advance(5 * MINUTES),
  }
  await every(t, 'every case', async (t) => {
    for (const [name, end] of Object.entries(ends)) {
      const giver = await made(gateway, { expires_at: new Date(clock.now() + 5 * MINUTES).toISOString() })
      const code = await codeFor(gateway, {}, giver.key)
      await end(giver.hash)
      const before = await keys(gateway)
      t.match(
        await exchange(gateway, { code }),
        { status: 403, body: { error: { message: /^The key that consented can no longer/ } } },
        name,
      )
      t.same(await keys(gateway), before, 'no key came of it')
    }
  })
  const lasting = await made(gateway, {})
  const code = await codeFor(gateway, {}, lasting.key)
  await call(gateway, 'PATCH', `/v1/keys/${lasting.hash}`, { disabled: true }, BOSS)
  t.match(await exchange(gateway, { code }), { status: 403 })
  await call(gateway, 'PATCH', `/v1/keys/${lasting.hash}`, { disabled: false }, BOSS)
  const reply = await exchange(gateway, { code })
  t.equal(reply.status, 200, 'a code lives as long as it lives')
  t.match(await consent(gateway, {}, String(reply.body.key)), {
    status: 403,
    body: { error: { message: /^A key that was given to an application/ } },
  })
})

t.test('refuses codes to management keys, and bounds the codes and attempts of one key', async (t) => {
  const { gateway, clock } = await signingIn(t)
  t.match(await consent(gateway, {}, BOSS), { status: 403, body: { error: { message: /^Only keys of the role member/ } } })
  await every(t, 'every round', async (t) => {
    for (let i = 0; i < 50; i++) t.equal((await consent(gateway)).status, 200)
  })
  t.match(await consent(gateway), { status: 409, body: { error: { code: 409, message: /^50 codes of this key wait/ } } })
  const other = await made(gateway, {})
  t.equal((await consent(gateway, {}, other.key)).status, 200, 'of this key only')
  await every(t, 'every round', async (t) => {
    for (let i = 0; i < 9; i++) t.equal((await consent(gateway)).status, 409)
  })
  const limited = await consent(gateway)
  t.match(limited, { status: 429, body: { error: { code: 429 } } })
  t.equal(limited.headers.get('retry-after'), '1')
  t.equal(limited.headers.get('x-ratelimit-limit'), '60')
  t.equal(limited.headers.get('x-ratelimit-remaining'), '0')
  await clock.advance(10 * MINUTES)
  t.equal((await consent(gateway)).status, 200, 'codes that nobody came for have gone')
})

t.test('codes that wait count among the keys that one key may have given', async (t) => {
  const { gateway, clock } = await signingIn(t)
  await every(t, 'every round', async (t) => {
    for (let i = 0; i < 98; i++) {
      t.equal((await exchange(gateway, { code: await codeFor(gateway) })).status, 200)
      await clock.advance(1000)
    }
  })
  for (let i = 0; i < 2; i++) t.equal((await consent(gateway)).status, 200)
  t.match(await consent(gateway), {
    status: 409,
    body: { error: { message: /^100 applications have a key from this one already, or a code/ } },
  })
})

t.test('the page counts towards the codes that one key makes', async (t) => {
  const { gateway, clock } = await signingIn(t)
  const fields = { callback_url: CALLBACK, key: ADA }
  await every(t, 'every round', async (t) => {
    for (let i = 0; i < 60; i++) t.equal((await send(gateway, fields)).status, i < 50 ? 303 : 409)
  })
  const slowed = await send(gateway, fields)
  t.equal(slowed.status, 429)
  t.equal(slowed.headers.get('retry-after'), '1')
  t.match(slowed.html, /used for too many applications/)
  t.equal((await consent(gateway)).status, 429, 'the operation and the page take from one bucket')
  const other = await made(gateway, {})
  t.equal((await send(gateway, { ...fields, key: other.key })).status, 303, 'of this key only')
  await clock.advance(10 * MINUTES)
  t.equal((await send(gateway, fields)).status, 303)
})

t.test('a code is made without reading all keys, and late ones of other keys go', async (t) => {
  const clock = new FakeClock()
  const keys = new MemoryKeys(clock)
  const store: KeyStore = Object.assign(Object.create(keys) as MemoryKeys, {
    list: () => {
      throw new Error('reads all keys')
    },
  })
  const source = { store, configured: [], budgets: {}, credit: new Credit(clock), brand: 'router', clock, signIn: POLICY, origin: ORIGIN }
  const hashes: string[] = []
  for (const name of ['one', 'two'])
    hashes.push(String(((await createKey({ name }, { ...source, caller: OPERATOR_RIGHTS })).body.data as JsonObject).hash))
  const keyRequest = parseKeyRequest({ callback_url: CALLBACK }, clock.now(), POLICY)
  for (let i = 0; i < 10; i++) await makeCode(keyRequest, hashes[0], source)
  await clock.advance(10 * MINUTES)
  await makeCode(keyRequest, hashes[1], source)
  t.equal(keys.list().length, 3, 'two keys and one code')
})

t.test('wrong codes are bounded by address', async (t) => {
  const { gateway, clock } = await signingIn(t)
  const code = await codeFor(gateway)
  await every(t, 'every round', async (t) => {
    for (let i = 0; i < 100; i++) t.equal((await exchange(gateway, { code: `wrong-${i}` })).status, 403)
  })
  t.match(await exchange(gateway, { code }), { status: 429 })
  await clock.advance(1000)
  t.match(await exchange(gateway, { code }), { status: 200 })
})

t.test('callbacks', async (t) => {
  const { gateway } = await signingIn(t)
  await every(t, 'every callback_url', async (t) => {
    for (const callback_url of [
      'https://app.example',
      'https://app.example:8443/a/b?c=d&e=',
      'https://xn--bcher-kva.example/',
      'http://localhost:3000/cb',
      'http://127.0.0.1/',
      'http://127.8.7.6:1/',
      'http://[::1]:8080/cb',
      'https://app.example/cb?state=xyz',
    ])
      t.match(await consent(gateway, { callback_url }), { status: 200 }, callback_url)
  })
  await every(t, 'every callback_url', async (t) => {
    for (const callback_url of [
      '',
      'app.example',
      '/relative',
      '//app.example/',
      'http://app.example/',
      'http://localhost.evil.example/',
      'http://127.0.0.1.evil.example/',
      'http://10.0.0.1/',
      'http://[::2]/',
      'javascript:alert(1)',
      'data:text/html,x',
      'file:///etc/passwd',
      'myapp://cb',
      'https://user@app.example/',
      'https://user:pass@app.example/',
      'https://app.example/#fragment',
      'https://app.example/#',
      'https://app.example\\@evil.example/',
      'https://app.example/a b',
      'https://app.example/\r\nSet-Cookie: a=b',
      'https://app.ex\u200bample/',
      'https://app.example/\u202e',
      'https://app.example/?code=1',
      'https://app.example/?error=1',
      'https://',
      'https://app.example:99999/',
      `https://app.example/${'x'.repeat(2048)}`,
      7,
      null,
      ['https://app.example/'],
    ])
      t.match(
        await consent(gateway, { callback_url }),
        { status: 400, body: { error: { metadata: { field: 'callback_url' } } } },
        JSON.stringify(callback_url).slice(0, 60),
      )
  })
})

const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
}

interface Shown {
  status: number
  headers: Headers
  html: string
}

async function page(gateway: Gateway, parameters: Record<string, string> | string, init: RequestInit = {}): Promise<Shown> {
  const query = typeof parameters === 'string' ? parameters : new URLSearchParams(parameters).toString()
  const response = await fetch(`${gateway.url}/auth?${query}`, { redirect: 'manual', ...init })
  return { status: response.status, headers: response.headers, html: await response.text() }
}

async function send(gateway: Gateway, fields: Record<string, string> | string, headers: Record<string, string> = {}): Promise<Shown> {
  const body = typeof fields === 'string' ? fields : new URLSearchParams(fields).toString()
  const response = await fetch(`${gateway.url}/auth`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body,
  })
  return { status: response.status, headers: response.headers, html: await response.text() }
}

/** Body that a browser would send: the fields of the form with the values that stand in it. */
function htmlFields(html: string): Record<string, string> {
  const text = (value: string): string =>
    value.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" })[name] ?? '')
  const inputs = [...html.matchAll(/<input ([^>]*)>/g)].map(([, attributes]) => attributes)
  const attribute = (input: string, name: string): string => text(new RegExp(`${name}="([^"]*)"`).exec(input)?.[1] ?? '')
  return Object.fromEntries(inputs.map((input) => [attribute(input, 'name'), attribute(input, 'value')]))
}

function checkHeaders(t: Test, { headers }: Shown, target: string): void {
  for (const [name, value] of Object.entries(PAGE_HEADERS)) t.equal(headers.get(name), value, name)
  const policy = headers.get('content-security-policy') ?? ''
  t.match(policy, /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; form-action /)
  t.ok(policy.endsWith(`form-action ${target}; frame-ancestors 'none'; base-uri 'none'`), policy)
  t.equal(headers.get('set-cookie'), null)
}

t.test('from the link to the key, as a browser goes', async (t) => {
  const { gateway } = await signingIn(t)
  const asked = {
    callback_url: CALLBACK,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    limit: '2.5',
    usage_limit_type: 'daily',
    key_label: 'My tool',
    state: 'a&b=c',
  }
  const shown = await page(gateway, asked)
  t.equal(shown.status, 200)
  checkHeaders(t, shown, "'self' https://app.example")
  t.match(shown.html, /<h1>app\.example asks for a key<\/h1>/)
  t.match(shown.html, /Limit in USD per day/)
  t.match(shown.html, /<input name="key" type="password" required/)
  t.match(shown.html, /href="https:\/\/app\.example\/back\?from=here&amp;error=access_denied&amp;state=a%26b%3Dc"/)
  const style = /<style>([^<]*)<\/style>/.exec(shown.html)?.[1] ?? ''
  t.ok(
    shown.headers.get('content-security-policy')?.includes(createHash('sha256').update(style).digest('base64')),
    'the style is the allowed one',
  )
  t.notMatch(shown.html, /<script|<img|<link|\bsrc=|url\(|@import|javascript:|\son\w+=/i, 'nothing runs and nothing is fetched')
  t.notMatch(shown.html, /headgate/i)
  const fields = htmlFields(shown.html)
  t.same(fields, { ...asked, key: '' })

  const origin = new URL(gateway.url).origin
  const sent = await send(gateway, { ...fields, limit: '1.25', key: ` ${ADA}\n` }, { origin })
  t.equal(sent.status, 303)
  t.equal(sent.html, '')
  t.equal(sent.headers.get('referrer-policy'), 'no-referrer')
  t.equal(sent.headers.get('cache-control'), 'no-store')
  const address = new URL(sent.headers.get('location') ?? '')
  t.equal(address.origin + address.pathname, 'https://app.example/back')
  t.same([...address.searchParams.keys()], ['from', 'code', 'state'])
  t.equal(address.searchParams.get('state'), 'a&b=c')
  t.notOk(address.href.includes(ADA))
  const reply = await exchange(gateway, { code: address.searchParams.get('code'), code_verifier: VERIFIER })
  t.equal(reply.status, 200)
  t.match(
    await read(gateway, String(reply.body.key)),
    { name: 'My tool', limit: 1.25, limit_reset: 'daily' },
    'the limit is the one of the user',
  )

  const simple = await send(gateway, { callback_url: 'http://localhost:3000/cb', key: ADA })
  t.match(simple.headers.get('location'), /^http:\/\/localhost:3000\/cb\?code=[A-Za-z0-9_-]{43}$/)
  checkHeaders(t, await page(gateway, { callback_url: 'http://[::1]:3000/cb' }), "'self' http:")
  t.match((await page(gateway, { callback_url: 'http://localhost:3000/cb' })).html, /localhost:3000 \(a program on your own machine\)/)
  t.notOk(gateway.logs.join('\n').includes(ADA))
})

t.test('shows the error of a link on its page', async (t) => {
  const { gateway } = await signingIn(t)
  const before = await keys(gateway)
  await every(t, 'every case', async (t) => {
    for (const [query, message] of [
      ['', /callback_url: is required/],
      ['callback_url=', /callback_url: is required/],
      ['callback_url=http://evil.example/', /callback_url: expected an address that begins with https/],
      ['callback_url=javascript:alert(1)', /callback_url/],
      ['callback_url=https://a.example/&callback_url=https://b.example/', /callback_url: must be given once/],
      ['callback_url=https://a.example/&state=1&state=2', /state: must be given once/],
      ['callback_url=https://a.example/%3Fstate%3D1&state=2', /callback_url: must not hold the parameter state/],
      ['callback_url=https://a.example/&state=%0d%0aX:1', /state: expected/],
      [`callback_url=https://a.example/&state=${'x'.repeat(1025)}`, /state: expected/],
      ['callback_url=https://a.example/&code_challenge=short', /code_challenge: expected 43 to 128/],
      [`callback_url=https://a.example/&code_challenge=${CHALLENGE}&code_challenge_method=S512`, /code_challenge_method: expected/],
      ['callback_url=https://a.example/&code_challenge_method=S256', /code_challenge: is required/],
      [`callback_url=https://a.example/&code_challenge=${CHALLENGE}x&code_challenge_method=S256`, /code_challenge: expected a SHA-256/],
      ['callback_url=https://a.example/&limit=much', /limit: expected an amount/],
      ['callback_url=https://a.example/&limit=9999999', /limit: must be from 0 to 9000000/],
      ['callback_url=https://a.example/&usage_limit_type=hourly', /usage_limit_type: expected/],
      ['callback_url=https://a.example/&expires_at=2020-01-01T00:00:00Z', /expires_at: must be later/],
      [`callback_url=https://a.example/&key_label=${'x'.repeat(101)}`, /key_label: must be at most 100/],
    ] as const) {
      const shown = await page(gateway, query)
      t.equal(shown.status, 400, query.slice(0, 80))
      t.match(shown.html, message)
      t.equal(shown.headers.get('location'), null)
      t.notMatch(shown.html, /<form|<a /)
      checkHeaders(t, shown, "'none'")
      if (!query.includes('limit=')) t.equal((await send(gateway, `${query}&key=${ADA}`)).status, 400, 'the same of the form')
    }
  })
  t.same(await keys(gateway), before)
})

t.test('no value can become markup', async (t) => {
  const { gateway } = await signingIn(t)
  const evil = `"'><script>alert(1)</script><img src=x onerror=alert(1)>&lt;`
  const names = [
    'callback_url',
    'code_challenge',
    'code_challenge_method',
    'limit',
    'usage_limit_type',
    'expires_at',
    'key_label',
    'workspace_id',
    'state',
    'other',
  ]
  const plain: Record<string, string> = { callback_url: 'https://app.example/' }
  await every(t, 'every name', async (t) => {
    for (const name of names) {
      const value = name === 'callback_url' ? `https://app.example/?x=${evil}` : evil
      for (const shown of [await page(gateway, { ...plain, [name]: value }), await send(gateway, { ...plain, [name]: value, key: evil })]) {
        t.notMatch(shown.html, /<script|<img|onerror=alert\(1\)>|"'>/, `${name}: ${shown.status}`)
        t.notMatch(shown.html, /\s(?:value|href)="[^"]*[<>'][^"]*"/)
      }
    }
  })
  const labelled = await page(gateway, { ...plain, key_label: evil, state: evil })
  t.equal(labelled.status, 200)
  t.match(labelled.html, /&quot;&#39;&gt;&lt;script&gt;/)
  t.match(htmlFields(labelled.html), { key_label: evil, state: evil }, 'and goes back as it came')
  const turned = await page(gateway, { ...plain, key_label: 'a\u202eb\u0000c' })
  t.equal(turned.status, 200)
  t.notOk(turned.html.includes('\u202e') || turned.html.includes('\u0000'))
})

t.test('whatever an application says, the page has the same elements', async (t) => {
  const plain = { callback_url: 'https://app.example/', key_label: 'x', state: 'x', limit: '1' }
  const shown = (fields: typeof plain, problem: string): string => {
    const { limit, state, ...body } = fields
    const carried = new Map(Object.entries({ ...body, state }))
    return askPage({ keyRequest: parseKeyRequest(body, 0, POLICY), carried, limit, state, problem }, 'router').html
  }
  /** Tags with the names of their attributes. */
  const skeleton = (html: string): string[] => (html.match(/<[^>]*>/g) ?? []).map((tag) => tag.replace(/="[^"]*"/g, ''))
  const expected = skeleton(shown(plain, 'x'))
  t.ok(expected.length > 40)
  const text = fc.oneof(fc.string({ minLength: 1, maxLength: 100, unit: 'binary' }), fc.stringMatching(/^[<>"'&=/ a-z!-]{1,100}$/))
  // A path and a query in which nothing is unclear; what stands in them is free.
  const callback_url = text.map(
    (path) =>
      `https://app.example/${encodeURIComponent(path.toWellFormed().replace(/[/\\]/g, ''))}?'="<${path.replace(/[^!-~]|[#\\?&]/g, '')}`,
  )
  const fields = fc.record({
    callback_url, // A label of nothing but signs that are left out is none.
    key_label: text.filter((label) => label.length < 100).map((label) => `x${label}`),
    state: text,
    limit: text,
  })
  fc.assert(
    fc.property(fields, text, (asked, problem) => skeleton(shown(asked, problem)).join('') === expected.join('')),
    property(500, 20_000),
  )
})

t.test('forms that are refused', async (t) => {
  const { gateway, clock } = await signingIn(t)
  const fields = { callback_url: CALLBACK, key: ADA }
  const before = JSON.stringify(await keys(gateway))
  const origin = new URL(gateway.url).origin
  await every(t, 'every headers', async (t) => {
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ] as Record<string, string>[]) {
      const shown = await send(gateway, fields, headers)
      t.equal(shown.status, 403, JSON.stringify(headers))
      t.match(shown.html, /sent from another site/)
      t.equal(shown.headers.get('location'), null)
    }
  })
  t.equal((await send(gateway, fields, { 'content-type': 'text/plain' })).status, 415)
  t.equal((await send(gateway, fields, { 'content-type': 'application/json' })).status, 415)
  t.equal((await send(gateway, `${new URLSearchParams(fields)}&pad=${'x'.repeat(17_000)}`)).status, 413)
  await every(t, 'every method', async (t) => {
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const shown = await page(gateway, fields, { method })
      t.equal(shown.status, 405, method)
      t.equal(shown.headers.get('allow'), 'GET, POST')
    }
  })
  const head = await page(gateway, fields, { method: 'HEAD' })
  t.match([head.status, head.html], [200, ''])
  for (const path of ['/auth/', '/auth/x', '/AUTH', '/v1/auth'])
    t.equal((await fetch(`${gateway.url}${path}?callback_url=${CALLBACK}`)).status, 404, path)

  const off = await made(gateway, {})
  await call(gateway, 'PATCH', `/v1/keys/${off.hash}`, { disabled: true }, BOSS)
  const given = await made(gateway, { limit: 3 })
  await every(t, 'every case', async (t) => {
    for (const [key, status, message] of [
      ['', 403, /unknown, disabled or expired/],
      ['sk-router-v1-nobody', 403, /unknown, disabled or expired/],
      ['x'.repeat(513), 403, /unknown, disabled or expired/],
      [off.key, 403, /unknown, disabled or expired/],
      [BOSS, 403, /Management keys cannot sign in/],
      [given.key, 400, /limit: must be at most 3\.00/],
    ] as const) {
      const shown = await send(
        gateway,
        { callback_url: CALLBACK, state: 'kept', key, ...(key === given.key ? { limit: '4' } : {}) },
        { origin },
      )
      t.equal(shown.status, status, key.slice(0, 20))
      t.match(shown.html, message)
      t.match(htmlFields(shown.html), { callback_url: CALLBACK, state: 'kept', key: '' }, 'the form again, without the key')
      if (key !== '') t.notOk(shown.html.includes(key))
      t.equal(shown.headers.get('location'), null)
    }
  })
  const mistyped = await send(gateway, { ...fields, limit: 'five' }, { origin })
  t.equal(mistyped.status, 400)
  t.match(mistyped.html, /limit: expected an amount of USD/)
  t.match(htmlFields(mistyped.html), { limit: 'five', key: '' })
  const rest = JSON.stringify((await keys(gateway)).slice(0, 3))
  t.equal(rest, before, 'nothing was made')

  for (let i = 0; i < 16; i++) await send(gateway, { ...fields, key: `sk-guess-${i}` })
  const slowed = await send(gateway, fields)
  t.equal(slowed.status, 429)
  t.equal(slowed.headers.get('retry-after'), '5')
  t.match(slowed.html, /Too many keys/)
  await clock.advance(5000)
  t.equal((await send(gateway, fields)).status, 303)
  t.notMatch(gateway.logs.join('\n'), /sk-(router|guess)/)
})

t.test('other methods, bodies and paths of the operations', async (t) => {
  const { gateway } = await signingIn(t)
  await every(t, 'every path', async (t) => {
    for (const path of ['/v1/auth/keys', '/v1/auth/keys/code'])
      for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']) {
        const response = await fetch(`${gateway.url}${path}`, { method })
        await response.text()
        t.equal(response.status, 405, `${method} ${path}`)
        t.equal(response.headers.get('allow'), 'POST')
      }
  })
  const raw = async (path: string, rest: string): Promise<number> =>
    parseReply(
      await rawExchange(gateway.url, `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADA}\r\nConnection: close\r\n${rest}`),
    ).status
  await every(t, 'every path', async (t) => {
    for (const path of ['/v1/auth/keys', '/v1/auth/keys/code']) {
      t.equal(await raw(path, 'Content-Length: 99999\r\n\r\n'), 413, path)
      t.equal(await raw(path, 'Content-Length: 2\r\nContent-Type: text/plain\r\n\r\n{}'), 415)
      t.equal(await raw(path, 'Content-Length: 1\r\n\r\n{'), 400)
      t.equal(await raw(path, 'Content-Length: 0\r\n\r\n'), 400)
      t.equal(await raw(`${path}/none`, 'Content-Length: 2\r\n\r\n{}'), 404)
    }
  })
})

t.test('codes outlive a restart', async (t) => {
  const { gateway } = await signingIn(t, `store: { url: "sqlite:${join(t.testdir(), 'ledger.db')}" }`)
  const code = await codeFor(gateway, { code_challenge: CHALLENGE, code_challenge_method: 'S256', limit: 1 })
  await gateway.restart()
  const reply = await exchange(gateway, { code, code_verifier: VERIFIER })
  t.equal(reply.status, 200)
  await gateway.restart()
  t.match(await exchange(gateway, { code, code_verifier: VERIFIER }), UNKNOWN)
  t.match(await read(gateway, String(reply.body.key)), { limit: 1, creator_user_id: 'ada' })
  t.match(await consent(gateway, {}, String(reply.body.key)), { status: 403 }, 'it is still known how the key came to be')
})

t.test('a store that fails gives no key and refuses no code', async (t) => {
  const clock = new FakeClock()
  const keys = new MemoryKeys(clock)
  let failing: 'find' | 'put' | 'remove' | undefined
  const or = <T>(name: typeof failing, answer: () => T): T => {
    if (failing === name) throw new Fault('unavailable')
    return answer()
  }
  const store: KeyStore = {
    find: (hash) => or('find', () => keys.find(hash)),
    put: (key) => or('put', () => keys.put(key)),
    add: (key) => keys.add(key),
    remove: (hash) => or('remove', () => keys.remove(hash)),
    change: (hash, how) => keys.change(hash, how),
    list: () => keys.list(),
    issuedBy: (by, now) => keys.issuedBy(by, now),
    listAfter: (after, most) => keys.listAfter(after, most),
  }
  const source = { store, configured: [], budgets: {}, credit: new Credit(clock), brand: 'router', clock, signIn: POLICY, origin: ORIGIN }
  const { body } = await createKey({ name: 'giver', limit: 3 }, { ...source, caller: OPERATOR_RIGHTS })
  const { hash } = body.data as { hash: string }
  const keyRequest = parseKeyRequest({ callback_url: CALLBACK, limit: 1 }, clock.now(), POLICY)
  for (const name of ['find', 'remove', 'put'] as const) {
    const { code } = await makeCode(keyRequest, hash, source)
    failing = name
    await t.rejects(exchangeCode({ code }, source), { code: 'unavailable', status: 503 }, name)
    failing = undefined
    if (name !== 'put') t.match(await exchangeCode({ code }, source), { status: 200 }, 'and the code can be tried again')
  }
  failing = 'put'
  await t.rejects(makeCode(keyRequest, hash, source), { code: 'unavailable', status: 503 })
  failing = 'find'
  await t.rejects(makeCode(keyRequest, hash, source), { code: 'unavailable', status: 503 })
})

t.test('another brand word', async (t) => {
  const { gateway } = await signingIn(t, 'brand: { word: acme }')
  const shown = await page(gateway, { callback_url: CALLBACK })
  t.match(shown.html, /API key of its own for acme:/)
  t.notMatch(shown.html + JSON.stringify([...shown.headers]), /router/i)
  const { body } = await exchange(gateway, { code: await codeFor(gateway) })
  t.match(body.key, /^sk-acme-v2-/)
})

t.test('hides the remaining limits of the issuer from a key that it issued, since other keys count there too', async (t) => {
  const { gateway } = await signingIn(t)
  const { body } = await exchange(gateway, { code: await codeFor(gateway) })
  const question = { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] }
  const own = await call(gateway, 'POST', '/v1/chat/completions', question, ADA)
  const issued = await call(gateway, 'POST', '/v1/chat/completions', question, String(body.key))
  t.same([own.status, issued.status], [200, 200])
  t.equal(own.headers.get('x-ratelimit-remaining-requests'), '899')
  t.equal(issued.headers.get('x-ratelimit-remaining-requests'), null)
})

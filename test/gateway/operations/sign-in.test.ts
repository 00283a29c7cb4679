/** Keys issued through sign-in: off unless configured, paid by their issuer, counted with it, and ended with it. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { ADMIN_TOKEN } from '../../support/admin.ts'
import { every } from '../../support/every.ts'
import type { Gateway } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import { Gate, jsonAnswer } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

const BOSS = 'sk-router-v1-boss-0123456789abcdef'
const APP = 'sk-router-v1-app-0123456789abcdef'
/** RFC 7636 appendix B. */
const PROOF = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const LOOPBACK = 'http://127.0.0.1:4711/back'

/** A call costs exactly $0.10. */
const models = (upstream: string): string => `
providers: { first: { dialect: openai-chat, base_url: "${upstream}/v1", key: "sk-provider" } }
models:
  acme/one: { endpoints: [ { provider: first, model: one, price: { prompt: "0", completion: "0", request: "0.10" } } ] }
  acme/two: { endpoints: [ { provider: first, model: two, price: { prompt: "0", completion: "0", request: "0.10" } } ] }
`

interface Options {
  /** Entries of `auth` beside the keys. */
  auth?: string
  /** Fields of the key `app`. */
  app?: string
  /** Further YAML. */
  more?: string
}

function signingIn(t: Test, { auth = 'sign_in: {}', app = '', more = '' }: Options = {}) {
  const keys = `- { name: boss, key: "${BOSS}", management: true }\n    - { name: app, key: "${APP}"${app} }`
  return startScene(t, {
    config: (url) => `${more}\nauth:\n  ${auth}\n  keys:\n    ${keys}\n${models(url)}`,
  })
}

interface Reply {
  status: number
  body: JsonObject
}

async function call(
  url: string,
  method: string,
  path: string,
  { secret, body }: { secret?: string; body?: JsonObject | undefined } = {},
): Promise<Reply> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { ...(secret ? { authorization: `Bearer ${secret}` } : {}), 'content-type': 'application/json' },
    body: body ? JSON.stringify(body) : null,
  })
  return { status: response.status, body: (await response.json()) as JsonObject }
}

const boss = (gateway: Gateway, method: string, path: string, body?: JsonObject): Promise<Reply> =>
  call(gateway.url, method, path, { secret: BOSS, body })

const consent = (gateway: Gateway, secret: string, body: JsonObject = {}): Promise<Reply> =>
  call(gateway.url, 'POST', '/v1/auth/keys/code', { secret, body: { callback_url: LOOPBACK, ...PROOF, ...body } })

/** A key that `secret` issues to an application. */
async function issued(gateway: Gateway, secret: string, body: JsonObject = {}): Promise<string> {
  const { body: code } = await consent(gateway, secret, body)
  const exchange = { code: (code.data as JsonObject).id, code_verifier: VERIFIER }
  const { status, body: reply } = await call(gateway.url, 'POST', '/v1/auth/keys', { body: exchange })
  if (status !== 200) throw new Error(JSON.stringify(reply))
  return String(reply.key)
}

const question = (model = 'acme/one'): JsonObject => ({ model, messages: [{ role: 'user', content: 'Hello' }] })

const generate = async ({ url }: Pick<Gateway, 'url'>, secret: string, model?: string): Promise<number> =>
  (await call(url, 'POST', '/v1/chat/completions', { secret, body: question(model) })).status

async function made(gateway: Gateway, body: JsonObject = {}): Promise<{ key: string; hash: string }> {
  const { body: reply } = await boss(gateway, 'POST', '/v1/keys', { name: 'giver', ...body })
  return { key: String(reply.key), hash: String((reply.data as JsonObject).hash) }
}

const secretHash = (secret: string): string => createHash('sha256').update(secret).digest('hex')

t.test('sign-in is off unless the configuration switches it on', async (t) => {
  const { gateway } = await signingIn(t, { auth: '' })
  const off = { status: 404, body: { error: { code: 404, message: /^Sign-in is switched off: auth\.sign_in of the configuration/ } } }
  t.match(await consent(gateway, APP), off)
  t.match(await call(gateway.url, 'POST', '/v1/auth/keys', { body: { code: 'x' } }), off)
  t.match(await call(gateway.url, 'GET', '/v1/auth/keys'), off)
  await every(t, 'every method', async (t) => {
    for (const method of ['GET', 'POST']) {
      const page = await fetch(`${gateway.url}/auth?callback_url=${LOOPBACK}`, { method })
      t.equal(page.status, 404, method)
      t.match(await page.text(), /Sign-in is switched off/)
    }
  })
})

t.test('only callbacks that the configuration names, and loopback', async (t) => {
  const list = '[ "https://app.example/back", "https://wide.example/apps/*" ]'
  const { gateway } = await signingIn(t, { auth: `sign_in: { callbacks: ${list} }` })
  const ask = async (callback_url: string): Promise<number> => (await consent(gateway, APP, { callback_url })).status
  await every(t, 'every good', async (t) => {
    for (const good of [
      'https://app.example/back',
      'https://app.example/back?state=x',
      'https://APP.example:443/back',
      'https://wide.example/apps/one',
      'http://localhost:1/x',
      'http://127.0.0.1:65535/',
      'http://[::1]:8080/cb',
    ])
      t.equal(await ask(good), 200, good)
  })
  await every(t, 'every bad', async (t) => {
    for (const bad of [
      'https://app.example/',
      'https://app.example/back/',
      'https://app.example/back/../other',
      'https://app.example:8443/back',
      'https://app.example.evil.example/back',
      'https://evil.example/back',
      'https://wide.example/apps',
      'https://wide.example/apps/../other',
      'https://wide.example/apps/%2e%2e/other',
      'https://wide.example/apps/..%2fother',
      'https://wide.example/apps/..%5cother',
      'https://192.168.0.1/',
    ])
      t.equal(await ask(bad), 400, bad)
  })
  t.match(await consent(gateway, APP, { callback_url: 'https://evil.example/' }), {
    body: { error: { message: /^callback_url: is not among the callbacks/, metadata: { field: 'callback_url' } } },
  })
  const strict = await signingIn(t, { auth: 'sign_in: { loopback: false }' })
  t.equal((await consent(strict.gateway, APP)).status, 400)
})

t.test('a proof by S256 is required unless the configuration relaxes it', async (t) => {
  const { gateway } = await signingIn(t)
  const plain = 'a-plain.challenge_with~unreserved-characters-only'
  const without = { code_challenge: undefined, code_challenge_method: undefined } as unknown as JsonObject
  await every(t, 'every case', async (t) => {
    for (const [body, field] of [
      [without, 'code_challenge'],
      [{ code_challenge: plain, code_challenge_method: 'plain' }, 'code_challenge_method'],
      [{ ...without, code_challenge: PROOF.code_challenge }, 'code_challenge_method'],
    ] as const)
      t.match(await consent(gateway, APP, body), { status: 400, body: { error: { metadata: { field } } } }, JSON.stringify(body))
  })
  const page = await fetch(`${gateway.url}/auth?callback_url=${LOOPBACK}`)
  t.equal(page.status, 400)
  t.match(await page.text(), /code_challenge: is required/)
  t.equal(await generate(gateway, await issued(gateway, APP)), 200)
  const relaxed = await signingIn(t, { auth: 'sign_in: { pkce: optional }' })
  t.equal((await consent(relaxed.gateway, APP, without)).status, 200)
})

t.test('ten issued keys of a $1 key spend no more than $1 together', async (t) => {
  await every(t, 'every app', async (t) => {
    for (const app of [', limit: "1.00"', ', limit: "1.00", limit_reset: daily']) {
      const { gateway } = await signingIn(t, { app })
      const all = [APP]
      for (let index = 0; index < 10; index++) all.push(await issued(gateway, APP))
      const statuses = await Promise.all(Array.from({ length: 44 }, (_, index) => generate(gateway, all[index % all.length])))
      t.same(statuses.sort(), [...Array(10).fill(200), ...Array(34).fill(402)], app)
      for (const secret of all) t.equal(await generate(gateway, secret), 402)
    }
  })
})

t.test('a budget of a guardrail is one for the issuer and all that it issued', async (t) => {
  await every(t, 'every scope', async (t) => {
    for (const scope of ['scope: { keys: [ app ] }, ', '']) {
      const more = `guardrails: [ { name: frugal, ${scope}limit_usd: 0.5, reset_interval: daily } ]`
      const { gateway, clock } = await signingIn(t, { more })
      const all = [APP, await issued(gateway, APP), await issued(gateway, APP)]
      const statuses = await Promise.all(Array.from({ length: 12 }, (_, index) => generate(gateway, all[index % 3])))
      t.same(statuses.sort(), [...Array(5).fill(200), ...Array(7).fill(403)], scope)
      await clock.advance(24 * 3_600_000)
      t.equal(await generate(gateway, all[1]), 200, 'the next day')
    }
  })
})

t.test('issued keys count in the rate limits of their issuer', async (t) => {
  const { gateway } = await signingIn(t, { app: ', limits: { requests: 4 }' })
  const all = [APP, await issued(gateway, APP), await issued(gateway, APP)]
  const statuses = await Promise.all(Array.from({ length: 9 }, (_, index) => generate(gateway, all[index % 3])))
  t.same(statuses.sort(), [...Array(4).fill(200), ...Array(5).fill(429)])
})

t.test('streams of issued keys count in the limit of their issuer', async (t) => {
  const { gateway, upstream } = await signingIn(t, { app: ', limits: { streams: 1 }' })
  const child = await issued(gateway, APP)
  const gate = new Gate()
  upstream.script = async (seen) => {
    await gate.opened
    return answerFor(seen, { text: ['fine'] })
  }
  const stream = (secret: string): Promise<Response> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...question(), stream: true }),
    })
  const open = stream(child)
  await upstream.request(upstream.requests.length)
  t.equal((await stream(APP)).status, 429, 'the stream of the issued key is one of the issuer')
  gate.open()
  await (await open).text()
})

t.test('an issued key ends with its issuer', async (t) => {
  const { gateway, clock } = await signingIn(t)
  const end = async (name: string, act: (hash: string) => Promise<unknown>, body?: JsonObject): Promise<string> => {
    const giver = await made(gateway, body)
    const child = await issued(gateway, giver.key)
    t.equal(await generate(gateway, child), 200, `before: ${name}`)
    await act(giver.hash)
    t.equal(await generate(gateway, child), 401, name)
    return child
  }
  const set = (disabled: boolean) => (hash: string) => boss(gateway, 'PATCH', `/v1/keys/${hash}`, { disabled })
  let off = ''
  const child = await end('disabled', (hash) => {
    off = hash
    return set(true)(hash)
  })
  await set(false)(off)
  t.equal(await generate(gateway, child), 200, 'only while it is disabled')
  await end('deleted', (hash) => boss(gateway, 'DELETE', `/v1/keys/${hash}`))
  await end('rotated', (key) => call(gateway.admin, 'POST', '/keys/command', { secret: ADMIN_TOKEN, body: { verb: 'rotate', key } }))
  const soon = new Date(clock.now() + 60_000).toISOString()
  await end('expired', () => clock.advance(60_000), { expires_at: soon })
})

t.test('an issued key ends with its issuer in the configuration', async (t) => {
  const directory = t.testdir()
  const yaml = (url: string, app: string): string =>
    `store: { url: "sqlite:${join(directory, 'ledger.db')}" }\nauth: { sign_in: {}, keys: [ { name: boss, key: "${BOSS}", management: true }, ${app} ] }\n${models(url)}`
  const { gateway, upstream } = await startScene(t, { config: (url) => yaml(url, `{ name: app, key: "${APP}" }`), directory })
  const child = await issued(gateway, APP)
  t.equal(await generate(gateway, child), 200)
  await gateway.reconfigure(yaml(upstream.url, `{ name: app, key: "${APP}", allowed_models: [ acme/two ], limit: "0.25" }`))
  t.same([await generate(gateway, child), await generate(gateway, child, 'acme/two')], [403, 200], 'what holds for the issuer now')
  t.equal(await generate(gateway, child, 'acme/two'), 402, 'with what was spent before')
  await every(t, 'every app', async (t) => {
    for (const app of [
      `{ name: app, key: "${APP}", disabled: true }`,
      `{ name: app, key: "${APP}-new" }`,
      `{ name: other, key: "${APP}" }`,
    ]) {
      await gateway.reconfigure(yaml(upstream.url, app))
      t.equal(await generate(gateway, child), 401, app)
    }
  })
  await gateway.reconfigure(yaml(upstream.url, `{ name: app, key: "${APP}" }`))
  t.equal(await generate(gateway, child), 200)
})

t.test('issued keys are listed with the hash of their issuer', async (t) => {
  const { gateway } = await signingIn(t)
  const giver = await made(gateway, { limit: 3 })
  const [first, second] = [await issued(gateway, giver.key, { key_label: 'tool' }), await issued(gateway, APP)]
  const list = async (): Promise<JsonObject[]> =>
    (await boss(gateway, 'GET', '/v1/keys?include_disabled=true')).body.data as unknown as JsonObject[]
  const entry = async (secret: string): Promise<JsonObject | undefined> => (await list()).find(({ hash }) => hash === secretHash(secret))
  t.match(await entry(first), { name: 'tool', parent_hash: giver.hash, disabled: false, limit: null, limit_remaining: 3 })
  t.match(await entry(second), { parent_hash: secretHash(APP) })
  t.match(await entry(giver.key), { parent_hash: null })
  t.match((await boss(gateway, 'GET', `/v1/keys/${secretHash(first)}`)).body, { data: { parent_hash: giver.hash } })
  await boss(gateway, 'PATCH', `/v1/keys/${giver.hash}`, { disabled: true })
  t.match(await entry(first), { disabled: true }, 'as it can be used now')
  await boss(gateway, 'DELETE', `/v1/keys/${giver.hash}`)
  t.equal(await entry(first), undefined, 'removed with its issuer')
  t.match(await entry(second), { disabled: false })
})

t.test('keys issued by an earlier version live under the same rules', async (t) => {
  const { gateway } = await signingIn(t, { app: ', limit: "0.30"' })
  const { keys } = gateway.running.store
  const giver = await made(gateway, { limit: 0.2 })
  const ofFile = await issued(gateway, APP)
  const ofStore = await issued(gateway, giver.key)
  // Earlier versions kept the identity of the issuer alone, and copied its rights.
  for (const secret of [ofFile, ofStore])
    await keys.change(secretHash(secret), (key) => ({ ...key, consent: { by: key.consent?.by ?? '' }, limit: null }))
  t.same([await generate(gateway, ofStore), await generate(gateway, ofStore), await generate(gateway, ofStore)], [200, 200, 402])
  t.equal(await generate(gateway, giver.key), 402)
  t.same([await generate(gateway, ofFile), await generate(gateway, APP), await generate(gateway, ofFile)], [200, 200, 200])
  t.equal(await generate(gateway, APP), 402)
  await boss(gateway, 'PATCH', `/v1/keys/${giver.hash}`, { disabled: true })
  t.equal(await generate(gateway, ofStore), 401)
})

t.test('the ledger has the spending of issued keys under both keys, also after a restart', async (t) => {
  const more = `store: { url: "sqlite:${join(t.testdir(), 'ledger.db')}" }`
  const { gateway } = await signingIn(t, { more, app: ', limit: "0.50"' })
  const [first, second] = [await issued(gateway, APP), await issued(gateway, APP, { limit: 0.1 })]
  await every(t, 'every secret', async (t) => {
    for (const secret of [first, first, second]) t.equal(await generate(gateway, secret), 200)
  })
  await gateway.restart()
  const shown = async (secret: string): Promise<JsonObject> =>
    (await call(gateway.url, 'GET', '/v1/key', { secret })).body.data as JsonObject
  t.match(await shown(APP), { usage: 0.3, limit_remaining: 0.2 })
  t.match(await shown(first), { usage: 0.2, limit_remaining: 0.2 })
  t.match(await shown(second), { usage: 0.1, limit_remaining: 0 })
  t.same([await generate(gateway, second), await generate(gateway, first), await generate(gateway, APP)], [402, 200, 200])
  await every(t, 'every secret', async (t) => {
    for (const secret of [APP, first, second]) t.equal(await generate(gateway, secret), 402)
  })
  t.match((await call(gateway.admin, 'GET', '/ledger/verify', { secret: ADMIN_TOKEN })).body, { ok: true, open: 0, problems: [] })
  t.match((await boss(gateway, 'GET', '/v1/credits')).body, { data: { total_usage: 0.5 } }, 'nothing counts twice')
})

t.test('issued keys have the room of their issuer for files, and no more', async (t) => {
  const { gateway } = await signingIn(t, { more: `store: { files: { path: "${t.testdir()}", max_bytes: 1KB } }` })
  const upload = async (secret: string): Promise<number> => {
    const form = new FormData()
    form.append('purpose', 'user_data')
    form.append('file', new File(['x'.repeat(400)], 'a.txt'))
    const reply = await fetch(`${gateway.url}/v1/files`, { method: 'POST', headers: { authorization: `Bearer ${secret}` }, body: form })
    return reply.status
  }
  const [first, second] = [await issued(gateway, APP), await issued(gateway, APP)]
  t.same([await upload(first), await upload(second), await upload(await issued(gateway, APP)), await upload(APP)], [200, 200, 413, 413])
})

t.test('plans and the pass-through of an issued key see the limit of its issuer', async (t) => {
  const { gateway } = await startScene(t, {
    answer: () => jsonAnswer({ data: [] }),
    config: (url) => `
auth: { sign_in: {}, keys: [ { name: app, key: "${APP}", limit: "0.25", pass_through: true } ] }
providers: { first: { dialect: openai-chat, base_url: "${url}/v1", key: "sk-provider", pass_through: { price: "0.10" } } }
models: { acme/one: { endpoints: [ { provider: first, model: one, price: { prompt: "0", completion: "0", request: "0.10" } } ] } }
`,
  })
  const child = await issued(gateway, APP)
  const plan = async (): Promise<Reply> => call(gateway.url, 'POST', '/v1/plan', { secret: child, body: question() })
  t.match((await plan()).body, { hold: { left_usd: '0.25' } })
  const pass = async (secret: string): Promise<number> =>
    (await fetch(`${gateway.url}/v1/passage/first/v1/models`, { headers: { authorization: `Bearer ${secret}` } })).status
  t.same([await pass(child), await pass(APP), await pass(child)], [200, 200, 402])
  t.match((await plan()).body, { error: { code: 402 } })
})

/** Callers with tokens of an identity provider: on every operation, by the rules of the configuration, and beside keys. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { KEY } from '../../support/gateway.ts'
import { type Scene, type SceneOptions, startScene } from '../../support/scene.ts'
import { bearer, issuerConfig, startIssuer, type TokenIssuer } from '../../support/token-issuer.ts'

type Place = Scene & { readonly issuer: TokenIssuer }

async function start(t: Test, settings: Parameters<typeof issuerConfig>[1] = {}, options: SceneOptions = {}): Promise<Place> {
  const clock = new FakeClock()
  const issuer = await startIssuer(t, clock)
  return { ...(await startScene(t, { clock, config: issuerConfig(issuer, settings), ...options })), issuer }
}

const body = async (response: Response): Promise<JsonObject> => (await response.json()) as JsonObject
const message = async (response: Response): Promise<string> => String(((await body(response)).error as JsonObject).message)

t.test('a token opens every operation in each header that carries a key, and the issuer is called once', async (t) => {
  const { gateway, ask, issuer, rows } = await start(t)
  const token = await issuer.token()
  for (const client of ['chat', 'responses', 'messages'] as const) t.equal((await ask({}, client, bearer(token))).status, 200, client)
  for (const name of ['x-api-key', 'x-goog-api-key']) {
    const headers = { 'content-type': 'application/json', [name]: token }
    const question = JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] })
    t.equal((await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body: question })).status, 200, name)
  }
  await every(t, 'operations that are no generations', async (t) => {
    for (const path of ['/v1/models', '/v1/key', '/v1/files']) t.equal((await gateway.get(path, bearer(token))).status, 200, path)
  })
  t.equal((await gateway.get('/v1/keys', bearer(token))).status, 403, 'management is not given by tokens')
  t.same(issuer.calls, { '/.well-known/openid-configuration': 1, '/jwks': 1 })
  const [row] = rows()
  t.match(row?.hold.key, /^[0-9a-f]{64}$/, 'rows show nothing of the member')
  t.equal(new Set(rows().map(({ hold }) => hold.key)).size, 1)
  t.notOk(
    gateway.logs.some((line) => line.includes(token)),
    'the token is in no log',
  )
})

t.test('the caller has the name of its member, and the identity of it through renewals', async (t) => {
  const { gateway, issuer, clock, ask } = await start(t, {
    more: '      member: email',
    rules: '[ { when: { groups: ml-team }, name: ml, limit: "3.00", limit_reset: monthly } ]',
  })
  const claims = { email: 'ada@acme.example' }
  t.equal((await ask({}, 'chat', bearer(await issuer.token(claims)))).status, 200)
  await clock.advance(600_000)
  const { data } = (await body(await gateway.get('/v1/key', bearer(await issuer.token(claims))))) as { data: JsonObject }
  t.match(data, { name: 'ada@acme.example (ml)', label: '127.0.0.1', usage: 1, limit: 3, limit_remaining: 2, is_management_key: false })
  t.equal(data.expires_at, new Date(clock.now() + 330_000).toISOString(), 'the end of the token, with the leeway')
  const other = (await body(await gateway.get('/v1/key', bearer(await issuer.token({ email: 'bob@acme.example' }))))) as {
    data: JsonObject
  }
  t.match(other.data, { usage: 0, limit_remaining: 3 }, 'another member has spent nothing')
  t.equal((await gateway.get('/v1/key', bearer(await issuer.token()))).status, 401, 'a token without the claim names no member')
})

t.test('a generation is shown to its own member alone', async (t) => {
  const { gateway, issuer, ask } = await start(t)
  const id = String((await ask({}, 'chat', bearer(await issuer.token()))).headers.get('x-generation-id'))
  const path = `/v1/generation?id=${id}`
  t.equal((await gateway.get(path, bearer(await issuer.token({ jti: 'another' })))).status, 200, 'a new token of the member')
  t.equal((await gateway.get(path, bearer(await issuer.token({ sub: 'bob' })))).status, 404)
})

t.test('the first rule whose claims fit gives models, guardrails and limits; without one the reply is 403', async (t) => {
  const { issuer, ask, gateway } = await start(t, {
    rules: `
        - { when: { groups: [ ops, sre ], realm_access.roles: admin }, limits: { requests: 1 } }
        - { when: { groups: ml-team }, allowed_models: [ acme/one ], guardrails: [ no-fruit ] }
        - { when: { kubernetes.io.namespace: prod, email_verified: true } }
        - { when: { groups: former }, disabled: true }`,
    yaml: 'guardrails: [ { name: no-fruit, scope: { keys: [] }, content_filters: [ { pattern: banana, action: block } ] } ]',
  })
  const statusFor = async (claims: JsonObject, more: JsonObject = {}): Promise<number> =>
    (await ask(more, 'chat', bearer(await issuer.token(claims)))).status
  const fruit = { messages: [{ role: 'user', content: 'banana' }] }
  const admin = { groups: ['x', 'sre'], realm_access: { roles: ['admin'] } }
  t.same([await statusFor(admin, fruit), await statusFor(admin)], [200, 429], 'one of a list, a member of a claim, and a rate limit')
  t.same([await statusFor({}), await statusFor({}, fruit), await statusFor({}, { model: 'acme/two' })], [200, 403, 403])
  const pod = { sub: 'pod', groups: undefined, 'kubernetes.io': { namespace: 'prod' }, email_verified: true } as unknown as JsonObject
  t.equal(await statusFor(pod, fruit), 200, 'a claim with a dot in its name; a guardrail of another rule does not hold')
  t.equal(await statusFor({ ...pod, email_verified: 'true' }), 403, 'text is not true')
  t.equal(await statusFor({ groups: ['former'] }), 401, 'a rule that is disabled')
  const unmapped = await ask({}, 'chat', bearer(await issuer.token({ groups: ['secret-group'] })))
  t.equal(unmapped.status, 403)
  const text = await message(unmapped)
  t.match(text, 'no rule of its issuer maps this caller')
  t.notMatch(text, 'secret-group')
  t.equal((await gateway.get('/v1/models', bearer(await issuer.token({ groups: ['secret-group'] })))).status, 403)
})

t.test('no member passes for a key of its name', async (t) => {
  const { ask, issuer } = await start(t, {
    auth: `  keys: [ { name: test, key: "${KEY}", limit: "1.00" } ]`,
    yaml: 'guardrails: [ { name: of-test, scope: { keys: [ test ] }, content_filters: [ { pattern: Hello, action: block } ] } ]',
  })
  const greeting = { messages: [{ role: 'user', content: 'Hello' }] }
  t.equal((await ask(greeting, 'chat')).status, 403, 'the guardrail of the key')
  t.equal((await ask(greeting, 'chat', bearer(await issuer.token({ sub: 'test' })))).status, 200)
})

t.test('keys work beside tokens, also one that has the form of a token', async (t) => {
  const { ask, issuer } = await start(t, { auth: `  keys: [ { name: test, key: "${KEY}" }, { name: odd, key: "eyJh.eyJi.c2ln" } ]` })
  t.equal((await ask()).status, 200)
  t.equal((await ask({}, 'chat', bearer('eyJh.eyJi.c2ln'))).status, 200)
  t.equal((await ask({}, 'chat', bearer(await issuer.token()))).status, 200)
  t.equal((await ask({}, 'chat', bearer('sk-router-v1-0000000000000000'))).status, 401)
})

t.test('with issuers and no keys there is no development key', async (t) => {
  const { ask, issuer } = await start(t, {}, { env: { HEADGATE_DEV_KEY: 'sk-router-v1-dev' } })
  t.equal((await ask({}, 'chat', bearer('sk-router-v1-dev'))).status, 401)
  t.equal((await ask({}, 'chat', bearer(await issuer.token()))).status, 200)
})

t.test('a token cannot sign in to applications', async (t) => {
  const { gateway, issuer } = await start(t, { auth: '  sign_in: {}' })
  const request = {
    callback_url: 'http://localhost:3000/back',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  }
  const reply = await gateway.post('/v1/auth/keys/code', request, bearer(await issuer.token()))
  t.equal(reply.status, 403)
  t.match(await message(reply), 'use a key')
})

t.test('a reload takes other rules, and keeps the keys of the issuer', async (t) => {
  const clock = new FakeClock()
  const issuer = await startIssuer(t, clock)
  const directory = t.testdir({})
  const config = issuerConfig(issuer)
  const { gateway, upstream, ask } = await startScene(t, { clock, config, directory })
  const token = await issuer.token()
  t.equal((await ask({}, 'chat', bearer(token))).status, 200)
  issuer.intercept = (_path, response) => {
    response.writeHead(500).end()
    return true
  }
  t.equal((await gateway.reconfigure(issuerConfig(issuer, { rules: '[ { when: { groups: others } } ]' })(upstream.url))).kind, 'applied')
  t.equal((await ask({}, 'chat', bearer(token))).status, 403, 'a token that was verified before is mapped anew')
  t.equal((await gateway.reconfigure(config(upstream.url))).kind, 'applied')
  t.equal((await ask({}, 'chat', bearer(await issuer.token({ sub: 'bob' })))).status, 200, 'while the issuer is down')
})

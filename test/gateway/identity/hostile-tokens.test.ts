/** Attacks on callers' tokens: each is refused, the operator reads why, and neither the issuer nor good callers pay for it. */
import { createHmac, type webcrypto } from 'node:crypto'
import { exportSPKI, importJWK, UnsecuredJWT } from 'jose'
import t, { type Test } from 'tap'
import { entryAt } from '../../../src/core/entry-at.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { type Scene, type SceneOptions, startScene } from '../../support/scene.ts'
import { bearer, issuerConfig, makeSigningKey, startIssuer, type TokenIssuer } from '../../support/token-issuer.ts'

type Place = Scene & { readonly issuer: TokenIssuer }

async function start(t: Test, settings: Parameters<typeof issuerConfig>[1] = {}, options: SceneOptions = {}): Promise<Place> {
  const clock = new FakeClock()
  const issuer = await startIssuer(t, clock)
  return { ...(await startScene(t, { clock, config: issuerConfig(issuer, settings), ...options })), issuer }
}

const base64url = (value: unknown): string => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** A token whose signature is an HMAC, with a secret that everybody knows: the text of the public key. */
function hmacToken(header: JsonObject, claims: JsonObject, secret: string): string {
  const signed = `${base64url(header)}.${base64url(claims)}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

t.test('a token that proves nothing is a 401 that says why, in its challenge and in the log', async (t) => {
  const { issuer, ask, clock, gateway } = await start(t, {
    more: '      max_age: 10m\n      required_claims: { email_verified: true, tenant: [ one, two ] }',
    auth: '  keys: [ { name: boss, key: "sk-router-v1-boss-0123456789abcdef", management: true } ]',
  })
  const now = (seconds: number): number => Math.floor(clock.now() / 1000) + seconds
  const good = { email_verified: true, tenant: 'one' }
  const key = entryAt(issuer.keys, 0)
  const { kid } = key
  const stranger = await makeSigningKey(kid)
  const unlisted = await makeSigningKey('unlisted')
  const claims = { iss: issuer.url, aud: 'headgate', sub: 'alice', iat: now(0), exp: now(3000), ...good }
  const pem = await exportSPKI((await importJWK(key.jwk, 'RS256')) as webcrypto.CryptoKey)
  const [head, , signature] = (await issuer.token(good)).split('.')
  const attacks: [reason: string, token: () => string | Promise<string>][] = [
    ['token_algorithm', () => new UnsecuredJWT(claims).encode()],
    ['token_algorithm', () => `${base64url({ alg: 'NONE', kid })}.${base64url(claims)}.`],
    ['token_algorithm', () => hmacToken({ alg: 'HS256', kid }, claims, pem)],
    ['token_algorithm', () => hmacToken({ alg: 'HS256', kid }, claims, JSON.stringify(key.jwk))],
    ['token_issuer', () => issuer.token({ ...good, iss: 'https://evil.example' })],
    ['token_issuer', () => issuer.token({ ...good, iss: `${issuer.url}/` })],
    ['token_issuer', () => issuer.token({ ...good, iss: undefined })],
    ['token_audience', () => issuer.token({ ...good, aud: 'another' })],
    ['token_audience', () => issuer.token({ ...good, aud: ['headgate2', 'HEADGATE'] })],
    ['token_audience', () => issuer.token({ ...good, aud: undefined })],
    ['token_expired', () => issuer.token({ ...good, exp: now(-31) })],
    ['token_claim', () => issuer.token({ ...good, exp: undefined })],
    ['token_claim', () => issuer.token({ ...good, exp: String(now(300)) })],
    ['token_early', () => issuer.token({ ...good, nbf: now(31) })],
    ['token_early', () => issuer.token({ ...good, iat: now(31) })],
    ['token_old', () => issuer.token({ ...good, iat: now(-631), exp: now(3000) })],
    ['token_claim', () => issuer.token({ ...good, email_verified: 'true' })],
    ['token_claim', () => issuer.token({ ...good, tenant: ['three'] })],
    ['token_claim', () => issuer.token({ email_verified: true })],
    ['token_claim', () => issuer.token({ ...good, sub: '' })],
    ['token_claim', () => issuer.token({ ...good, sub: { name: 'alice' } })],
    ['token_claim', () => issuer.token({ ...good, sub: 'a'.repeat(257) })],
    ['token_type', () => issuer.token(good, { header: { typ: 'logout+jwt' } })],
    ['token_unknown_key', () => issuer.token(good, { key: unlisted })],
    ['token_signature', () => issuer.token(good, { key: stranger })],
    ['token_signature', () => `${head}.${base64url({ ...claims, sub: 'admin' })}.${signature}`],
    ['token_signature', () => `${head}.${base64url(claims)}.${base64url('x')}`],
    ['token_malformed', () => `${base64url('{"alg":')}.${base64url(claims)}.x`],
    ['token_malformed', () => `${base64url({ kid })}.${base64url('[]')}.x`],
    ['token_signature', () => `${base64url({ alg: 'RS256', kid, crit: ['b64'], b64: false })}.${base64url(claims)}.${signature}`],
  ]
  const good200 = await ask({}, 'chat', bearer(await issuer.token(good)))
  t.equal(good200.status, 200)
  await every(t, 'each is refused', async (t) => {
    for (const [reason, make] of attacks) {
      await clock.advance(11_000)
      const token = await make()
      const logged = gateway.logs.length
      const reply = await ask({}, 'chat', bearer(token))
      const text = await reply.text()
      t.equal(reply.status, 401, `${reason}: ${text}`)
      const challenge = String(reply.headers.get('www-authenticate'))
      t.match(challenge, /^Bearer error="invalid_token", error_description="The [a-zA-Z ,]+"$/)
      t.match(text, challenge.split('"')[3] ?? '-', 'the message says the same')
      const line = gateway.logs.slice(logged).find((each) => each.includes('token refused')) ?? ''
      t.match(JSON.parse(line || '{}'), { part: 'auth', reason })
      for (const secret of [token.slice(10, 60), 'alice', 'evil.example']) t.notMatch(line + text, secret)
    }
  })
  t.equal(attacks.length, 30)
  const { data } = (await (await gateway.get('/v1/refusals?limit=100', bearer('sk-router-v1-boss-0123456789abcdef'))).json()) as {
    data: JsonObject[]
  }
  t.ok(
    data.some(({ reason, api_key_hash: hash }) => reason === 'token_audience' && hash === null),
    'and stand among the refusals',
  )
})

t.test('a token of one issuer with the name of another is refused', async (t) => {
  const clock = new FakeClock()
  const [one, two] = [await startIssuer(t, clock), await startIssuer(t, clock)]
  const second = `    - { issuer: "${two.url}", audiences: [ headgate ], rules: [ { when: {} } ] }`
  const config = (url: string): string => issuerConfig(one)(url).replace('\nproviders:', `\n${second}\nproviders:`)
  const { ask, gateway } = await startScene(t, { clock, config })
  const statusFor = async (token: string): Promise<number> => (await ask({}, 'chat', bearer(token))).status
  t.same([await statusFor(await one.token()), await statusFor(await two.token())], [200, 200])
  t.equal(await statusFor(await one.token({ iss: two.url })), 401)
  t.equal(
    await statusFor(await two.token({ iss: one.url }, { header: { jku: `${two.url}/jwks` } })),
    401,
    'no address of the token is believed',
  )
  const { jwk } = entryAt(two.keys, 0)
  t.equal(await statusFor(await two.token({ iss: one.url }, { header: { jwk: jwk as unknown as string } })), 401, 'nor a key in it')
  const usage = async (token: string): Promise<unknown> => {
    const { data } = (await (await gateway.get('/v1/key', bearer(token))).json()) as { data: JsonObject }
    return data.usage
  }
  t.same(
    [await usage(await one.token()), await usage(await one.token({ sub: 'bob' }))],
    [1, 0],
    'the same name at another issuer is another member',
  )
})

t.test('a discovery document of another issuer, or keys on a plain address, open nothing', async (t) => {
  const { issuer, ask, gateway } = await start(t)
  const documents: JsonObject[] = [
    { issuer: 'https://evil.example', jwks_uri: `${issuer.url}/jwks` },
    { issuer: issuer.url, jwks_uri: 'http://10.0.0.1/jwks' },
    { issuer: issuer.url },
  ]
  for (const document of documents) {
    const fresh = await start(t)
    fresh.issuer.intercept = (path, response) => {
      if (!path.includes('openid')) return false
      response.end(JSON.stringify(document).replaceAll(issuer.url, fresh.issuer.url))
      return true
    }
    const reply = await fresh.ask({}, 'chat', bearer(await fresh.issuer.token()))
    t.equal(reply.status, 503)
    t.equal(reply.headers.get('retry-after'), '5')
    t.equal(fresh.issuer.calls['/jwks'], undefined)
    t.ok(fresh.gateway.logs.some((line) => line.includes('keys of the issuer cannot be fetched')))
  }
  issuer.intercept = (path, response) => {
    if (!path.includes('openid')) return false
    response.writeHead(302, { location: `${issuer.url}/elsewhere` }).end()
    return true
  }
  t.equal((await ask({}, 'chat', bearer(await issuer.token()))).status, 503, 'no redirect is followed')
  t.equal(issuer.calls['/elsewhere'], undefined)
  t.ok(gateway.logs.some((line) => line.includes('status 302')))
})

t.test('a huge token is refused before it is read', async (t) => {
  const { ask, issuer, gateway } = await start(t, { yaml: 'server: { host: 127.0.0.1, port: 0, max_headers: 64KB }' })
  const reply = await ask({}, 'chat', bearer(await issuer.token({ padding: 'x'.repeat(16_000) })))
  t.equal(reply.status, 401)
  t.match(reply.headers.get('www-authenticate'), 'longer than is allowed')
  t.same(issuer.calls, {}, 'the issuer is not called')
  t.ok(gateway.logs.some((line) => line.includes('token_too_long')))
  t.equal((await ask({}, 'chat', bearer(await issuer.token({ padding: 'x'.repeat(8_000) })))).status, 200, 'a long one works')
})

t.test('tokens draw on the failures of their address, and a flood of unknown keys is one call of the issuer', async (t) => {
  const limits = 'server: { host: 127.0.0.1, port: 0, auth_failures: { burst: 5, per_minute: 60 } }'
  const { ask, issuer, clock } = await start(t, { yaml: limits })
  t.equal((await ask({}, 'chat', bearer(await issuer.token()))).status, 200)
  await clock.advance(30_000)
  const bad = await Promise.all(
    Array.from({ length: 20 }, async (_, at) => issuer.token({ sub: `u${at}` }, { key: await makeSigningKey(`k${at}`, 'ES256') })),
  )
  const statuses = await Promise.all(bad.map(async (token) => (await ask({}, 'chat', bearer(token))).status))
  t.same(statuses.toSorted(), [...Array(5).fill(401), ...Array(15).fill(429)])
  t.equal(issuer.calls['/jwks'], 2, 'the first call, and one for all of them')
  const good = await ask({}, 'chat', bearer(await issuer.token({ sub: 'good' })))
  t.equal(good.status, 200, 'a good token from that address still works')
  await clock.advance(29_000)
  const [late] = bad
  t.equal((await ask({}, 'chat', bearer(String(late)))).status, 401)
  t.equal(issuer.calls['/jwks'], 2, 'at most one in 30 seconds')
})

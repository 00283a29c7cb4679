/** The keys of an issuer: fetched once for all who wait, rotated, and kept while the issuer cannot be reached. */
import t, { type Test } from 'tap'
import { ALGORITHMS } from '../../../src/config/schema/issuers.ts'
import { certificate } from '../../support/certificates.ts'
import { FakeClock } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { bearer, issuerConfig, startIssuer, type TokenIssuer } from '../../support/token-issuer.ts'

type Place = Scene & { readonly issuer: TokenIssuer; readonly statusFor: (token: string) => Promise<number> }

async function start(t: Test, settings: Parameters<typeof issuerConfig>[1] = {}): Promise<Place> {
  const clock = new FakeClock()
  const issuer = await startIssuer(t, clock)
  const scene = await startScene(t, { clock, config: issuerConfig(issuer, settings) })
  return { ...scene, issuer, statusFor: async (token) => (await scene.ask({}, 'chat', bearer(token))).status }
}

const MINUTE = 60_000
const isDown: TokenIssuer['intercept'] = (_path, response) => {
  response.writeHead(503).end()
  return true
}

t.test('tokens that come at once wait for one call of the issuer', async (t) => {
  const { issuer, ask } = await start(t)
  const gate = Promise.withResolvers<void>()
  issuer.gate = gate.promise
  const tokens = [await issuer.token(), await issuer.token({ sub: 'bob' })]
  const replies = tokens.flatMap((token) => Array.from({ length: 5 }, () => ask({}, 'chat', bearer(token))))
  await eventually('the issuer is called', () => issuer.calls['/.well-known/openid-configuration'] === 1)
  gate.resolve()
  t.same(
    (await Promise.all(replies)).map(({ status }) => status),
    Array(10).fill(200),
  )
  t.same(issuer.calls, { '/.well-known/openid-configuration': 1, '/jwks': 1 })
})

t.test('a rotated key works with its first token, and one that was withdrawn works no more', async (t) => {
  const { issuer, clock, statusFor } = await start(t)
  const [old] = issuer.keys
  if (!old) throw new Error('no key')
  t.equal(await statusFor(await issuer.token()), 200)
  await clock.advance(MINUTE)
  const next = await issuer.makeKey('second', 'ES256')
  issuer.keys = [next, old]
  const tokens = await Promise.all(['a', 'b', 'c'].map((sub) => issuer.token({ sub })))
  t.same(await Promise.all(tokens.map(statusFor)), [200, 200, 200])
  t.equal(issuer.calls['/jwks'], 2)
  issuer.keys = [next]
  await clock.advance(11 * MINUTE)
  t.equal(await statusFor(await issuer.token({}, { key: old })), 401, 'the keys are fetched again before it is verified')
  t.equal(await statusFor(await issuer.token()), 200)
  t.equal(issuer.calls['/jwks'], 3)
})

t.test('known keys are fetched anew in the background, and serve an outage for the time that is stated', async (t) => {
  const { issuer, clock, gateway, statusFor } = await start(t, { more: '      keys_kept: 2h' })
  t.equal(await statusFor(await issuer.token()), 200)
  await clock.advance(6 * MINUTE)
  const gate = Promise.withResolvers<void>()
  issuer.gate = gate.promise
  t.equal(await statusFor(await issuer.token()), 200, 'no token waits for it')
  const added = await issuer.makeKey('added')
  issuer.keys = [...issuer.keys, added]
  gate.resolve()
  const other = await issuer.token({}, { key: added })
  await eventually('the keys are fetched', async () => (await statusFor(other)) === 200)
  t.equal(issuer.calls['/jwks'], 2)
  issuer.intercept = isDown
  const { calls } = issuer
  for (let at = 0; at < 11; at++) {
    await clock.advance(10 * MINUTE)
    t.equal(await statusFor(await issuer.token()), 200)
  }
  const warned = gateway.logs.filter((line) => line.includes('keys of the issuer cannot be fetched'))
  t.equal(warned.length, 1, 'one line for the outage')
  t.match(JSON.parse(warned[0] ?? '{}'), { part: 'auth', level: 40, issuer: issuer.url, problem: /replied with status 503/ })
  await clock.advance(10 * MINUTE)
  t.equal(await statusFor(await issuer.token()), 503, 'two hours have passed')
  const before = calls['/.well-known/openid-configuration'] ?? 0
  t.same(await Promise.all(Array.from({ length: 5 }, async () => statusFor(await issuer.token()))), Array(5).fill(503))
  t.equal(calls['/.well-known/openid-configuration'], before, 'a flood is not handed on')
  issuer.intercept = undefined
  await clock.advance(5_000)
  t.equal(await statusFor(await issuer.token()), 200)
  t.ok(gateway.logs.some((line) => line.includes('keys of the issuer are fetched again')))
})

t.test('a token of an unknown key waits for no issuer that is down, and is no 401 then', async (t) => {
  const { issuer, clock, statusFor } = await start(t)
  t.equal(await statusFor(await issuer.token()), 200)
  await clock.advance(MINUTE)
  issuer.intercept = isDown
  const key = await issuer.makeKey('second')
  t.equal(await statusFor(await issuer.token({}, { key })), 503)
  t.equal(await statusFor(await issuer.token({ sub: 'bob' })), 200, 'known keys serve')
})

t.test('an issuer that does not answer is given up after five seconds', async (t) => {
  const { issuer, clock, ask } = await start(t)
  issuer.gate = new Promise(() => {})
  const reply = ask({}, 'chat', bearer(await issuer.token()))
  await eventually('the issuer is called', () => issuer.calls['/.well-known/openid-configuration'] === 1)
  await clock.advance(5_000)
  t.equal((await reply).status, 503)
})

t.test('sets of keys that are no such thing open nothing', async (t) => {
  for (const text of [
    '{"keys":[]}',
    '{"keys":{}}',
    '[]',
    'x',
    '{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}',
    `{"keys":["${'x'.repeat(300_000)}"]}`,
  ]) {
    const { issuer, statusFor } = await start(t)
    issuer.intercept = (path, response) => {
      if (path !== '/jwks') return false
      response.end(text)
      return true
    }
    t.equal(await statusFor(await issuer.token()), 503, text.slice(0, 40))
  }
})

t.test('a token without kid is verified with the keys that fit', async (t) => {
  const { issuer, statusFor } = await start(t)
  issuer.keys = [await issuer.makeKey('a'), await issuer.makeKey('b'), await issuer.makeKey('c', 'EdDSA')]
  const [a, b, c] = issuer.keys
  if (!(a && b && c)) throw new Error('no key')
  for (const key of [a, b, c])
    t.equal(await statusFor(await issuer.token({ sub: key.kid }, { key, header: { kid: undefined } })), 200, key.alg)
  const stranger = await issuer.makeKey('d')
  t.equal(await statusFor(await issuer.token({ sub: 'd' }, { key: stranger, header: { kid: undefined } })), 401)
})

t.test('the keys are fetched with a token where one is set, which no other address gets', async (t) => {
  const clock = new FakeClock()
  const [issuer, elsewhere] = [await startIssuer(t, clock), await startIssuer(t, clock)]
  const { ask } = await startScene(t, { clock, config: issuerConfig(issuer, { more: '      jwks_token: "cluster-token"' }) })
  elsewhere.keys = issuer.keys
  issuer.intercept = (path, response) => {
    if (!path.includes('openid')) return false
    response.end(JSON.stringify({ issuer: issuer.url, jwks_uri: `${elsewhere.url}/jwks` }))
    return true
  }
  t.equal((await ask({}, 'chat', bearer(await issuer.token()))).status, 200)
  t.equal(issuer.headers.get('/.well-known/openid-configuration')?.authorization, 'Bearer cluster-token')
  t.equal(elsewhere.headers.get('/jwks')?.authorization, undefined)
})

t.test('every algorithm that the configuration knows is verified', async (t) => {
  const { issuer, statusFor } = await start(t)
  issuer.keys = await Promise.all(ALGORITHMS.map((alg) => issuer.makeKey(alg, alg)))
  for (const key of issuer.keys) t.equal(await statusFor(await issuer.token({}, { key })), 200, key.alg)
})

t.test('an issuer with a certificate of its own authority is believed where the configuration has that authority', async (t) => {
  const clock = new FakeClock()
  const authority = certificate({ name: 'cluster' })
  const { cert, key } = certificate({ name: 'issuer', by: authority, addresses: ['127.0.0.1'] })
  const issuer = await startIssuer(t, clock, '', { cert, key: key.export({ type: 'pkcs8', format: 'pem' }).toString() })
  const ca = `      ca: ${JSON.stringify(authority.cert)}`
  for (const [more, status] of [
    [ca, 200],
    ['', 503],
  ] as const) {
    const { ask, gateway } = await startScene(t, { clock, config: issuerConfig(issuer, { more }) })
    t.equal((await ask({}, 'chat', bearer(await issuer.token()))).status, status)
    t.equal(
      gateway.logs.some((line) => line.includes('keys of the issuer cannot be fetched')),
      status === 503,
    )
  }
})

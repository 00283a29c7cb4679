/** Opaque tokens: what the issuer says of them is checked as the claims of a JWT are, remembered for a stated time, and bounded. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { bearer, issuerConfig, startIssuer, type TokenIssuer } from '../../support/token-issuer.ts'

type Place = Scene & { readonly issuer: TokenIssuer; readonly calls: () => number; readonly statusFor: (token: string) => Promise<number> }

async function start(t: Test, yaml = ''): Promise<Place> {
  const clock = new FakeClock()
  const issuer = await startIssuer(t, clock)
  const more = `      introspection: { url: "${issuer.url}/introspect", client_id: "a b", client_secret: "c:d" }`
  const scene = await startScene(t, { clock, config: issuerConfig(issuer, { more, yaml }) })
  const statusFor = async (token: string): Promise<number> => (await scene.ask({}, 'chat', bearer(token))).status
  return { ...scene, issuer, calls: () => issuer.calls['/introspect'] ?? 0, statusFor }
}

const active = ({ clock, issuer }: Place, more: JsonObject = {}): JsonObject => {
  const exp = Math.floor(clock.now() / 1000) + 600
  return { active: true, aud: 'headgate', iss: issuer.url, sub: 'alice', exp, ...more }
}

t.test('an answer holds for a minute, and at most until the end of the token', async (t) => {
  const place = await start(t)
  const { issuer, clock, statusFor, calls } = place
  issuer.opaque.set('long', active(place))
  t.same([await statusFor('long'), await statusFor('long'), calls()], [200, 200, 1])
  t.equal(issuer.headers.get('/introspect')?.authorization, `Basic ${Buffer.from('a%20b:c%3Ad').toString('base64')}`)
  issuer.opaque.delete('long')
  await clock.advance(59_000)
  t.same([await statusFor('long'), calls()], [200, 1])
  await clock.advance(1_000)
  t.same([await statusFor('long'), calls()], [401, 2], 'it was withdrawn')
  t.same([await statusFor('long'), calls()], [401, 2], 'which is remembered too')
  issuer.opaque.set('long', active(place))
  await clock.advance(10_000)
  t.same([await statusFor('long'), calls()], [200, 3])
  issuer.opaque.set('short', active(place, { exp: Math.floor(clock.now() / 1000) + 1 }))
  t.equal(await statusFor('short'), 200)
  issuer.opaque.delete('short')
  await clock.advance(31_000)
  t.equal(await statusFor('short'), 401)
})

t.test('an answer is checked as a token is', async (t) => {
  const place = await start(t)
  const { issuer, statusFor } = place
  const wrong: JsonObject[] = [
    { active: 'true' },
    { aud: 'another' },
    { aud: undefined } as unknown as JsonObject,
    { iss: 'https://evil.example' },
    { exp: 1 },
    { exp: '9999999999' },
    { nbf: 9_999_999_999 },
    { sub: undefined } as unknown as JsonObject,
  ]
  for (const [at, claims] of wrong.entries()) {
    issuer.opaque.set(`wrong-${at}`, active(place, claims))
    t.equal(await statusFor(`wrong-${at}`), 401, JSON.stringify(claims))
  }
  issuer.opaque.set('without-end', active(place, { exp: undefined } as unknown as JsonObject))
  t.equal(await statusFor('without-end'), 200, 'one without an end holds as long as the answer')
})

t.test('calls at once are bounded, and a caller that has shown much that opens nothing causes none', async (t) => {
  const place = await start(t, 'server: { host: 127.0.0.1, port: 0, auth_failures: { burst: 3, per_minute: 1 } }')
  const { issuer, statusFor, calls } = place
  const gate = Promise.withResolvers<void>()
  issuer.gate = gate.promise
  const tokens = Array.from({ length: 40 }, (_, at) => `token-${at}`)
  for (const token of tokens) issuer.opaque.set(token, active(place))
  let refused = 0
  const replies = tokens.map(async (token) => {
    const status = await statusFor(token)
    if (status === 503) refused++
    return status
  })
  await eventually('the calls that are allowed', () => calls() === 32 && refused === 8)
  gate.resolve()
  const statuses = await Promise.all(replies)
  t.same([statuses.filter((each) => each === 200).length, statuses.filter((each) => each === 503).length], [32, 8])
  for (const token of ['x', 'y', 'z']) t.equal(await statusFor(token), 401)
  const before = calls()
  issuer.opaque.set('late', active(place))
  t.same([await statusFor('w'), await statusFor('late')], [429, 429])
  t.equal(calls(), before)
  t.equal(await statusFor('token-0'), 200, 'a token that was verified before works')
})

t.test('an issuer that is down is a 503, and one line in the log', async (t) => {
  const { issuer, gateway, statusFor } = await start(t)
  issuer.intercept = (_path, response) => {
    response.writeHead(500).end()
    return true
  }
  t.same([await statusFor('one'), await statusFor('two')], [503, 503])
  t.equal(gateway.logs.filter((line) => line.includes('introspection of tokens fails')).length, 1)
})

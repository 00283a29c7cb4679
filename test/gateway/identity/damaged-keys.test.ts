/** Sets of keys with damaged, weak and private ones among them, and claims that no calendar and no encoding has. */
import { generateKeyPairSync } from 'node:crypto'
import { exportJWK, type JWK } from 'jose'
import t, { type Test } from 'tap'
import { entryAt } from '../../../src/core/entry-at.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { bearer, issuerConfig, makeSigningKey, startIssuer, type TokenIssuer } from '../../support/token-issuer.ts'

interface Place extends Scene {
  readonly issuer: TokenIssuer
}

async function start(t: Test, listed?: (own: JWK) => unknown[], alg?: string): Promise<Place> {
  const clock = new FakeClock()
  const issuer = await startIssuer(t, clock)
  if (alg) issuer.keys = [await makeSigningKey('first', alg)]
  const own = entryAt(issuer.keys, 0).jwk
  if (listed) {
    issuer.intercept = (path, response) => {
      if (path !== '/jwks') return false
      response.end(JSON.stringify({ keys: listed(own) }))
      return true
    }
  }
  return { ...(await startScene(t, { clock, config: issuerConfig(issuer) })), issuer }
}

const base64url = (text: string): string => Buffer.from(text).toString('base64url')
const rsa = (modulusLength: number): JsonObject =>
  generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' }) as JsonObject

/** Keys that verify nothing, under the id of the one that signs. */
const DAMAGED: readonly [title: string, key: JsonObject][] = [
  ['RSA of 512 bits', { ...rsa(512), kid: 'first', alg: 'RS256' }],
  ['RSA of 1,024 bits', { ...rsa(1024), kid: 'first', alg: 'RS256' }],
  ['RSA with a number as modulus', { kty: 'RSA', n: 5, e: 'AQAB', kid: 'first' }],
  ['RSA without a modulus', { kty: 'RSA', kid: 'first' }],
  ['RSA with an empty modulus', { kty: 'RSA', n: '', e: '', kid: 'first' }],
  ['RSA with a modulus of nothing', { kty: 'RSA', n: 'AA', e: 'AA', kid: 'first' }],
  ['a point that is on no curve', { kty: 'EC', crv: 'P-256', x: base64url('x'.repeat(32)), y: base64url('y'.repeat(32)), kid: 'first' }],
  ['a lattice key without its bytes', { kty: 'AKP', kid: 'first', alg: 'ML-DSA-44' }],
  ['a shared secret', { kty: 'oct', k: base64url('secret'), kid: 'first', alg: 'HS256' }],
]

t.test('a damaged key is left out of its set: it takes no good key down, and alone it opens nothing', async (t) => {
  await every(t, 'each is left out', async (t) => {
    for (const [title, damaged] of DAMAGED) {
      const alg = damaged.kty === 'EC' ? 'ES256' : 'RS256'
      const beside = await start(t, (own) => [damaged, own], alg)
      const headers = [{}, { kid: undefined }]
      for (const header of headers) {
        const token = await beside.issuer.token({}, { header })
        t.equal((await beside.ask({}, 'chat', bearer(token))).status, 200, `${title}, beside a good one, ${JSON.stringify(header)}`)
      }
      const lines = beside.gateway.logs.filter((line) => line.includes('keys of the issuer are left out'))
      t.match(
        lines.map((line) => JSON.parse(line) as JsonObject),
        [{ level: 40, issuer: beside.issuer.url, count: 1 }],
        title,
      )
      const alone = await start(t, () => [damaged], alg)
      t.equal((await alone.ask({}, 'chat', bearer(await alone.issuer.token()))).status, 503, `${title}, alone`)
      t.notOk(
        alone.gateway.logs.some((line) => line.includes('"level":50')),
        `${title}: nothing unexpected`,
      )
    }
  })
  t.equal(DAMAGED.length, 9)
})

t.test('a private key in a public set is not believed, and keys for encryption are no fault', async (t) => {
  const { privateKey } = await makeSigningKey('first')
  const shown = { ...(await exportJWK(privateKey)), kid: 'first', alg: 'RS256' }
  const { issuer, ask, gateway } = await start(t, (own) => [{ ...own, use: 'enc', kid: 'other' }, own, shown])
  t.equal((await ask({}, 'chat', bearer(await issuer.token()))).status, 200)
  t.equal((await ask({}, 'chat', bearer(await issuer.token({}, { key: { ...entryAt(issuer.keys, 0), privateKey } })))).status, 401)
  const lines = gateway.logs.filter((line) => line.includes('keys of the issuer are left out'))
  t.match(
    lines.map((line) => JSON.parse(line) as JsonObject),
    [{ count: 1 }],
    'the private one',
  )
})

t.test('a set of too many keys says so in the log', async (t) => {
  const { issuer, ask, gateway } = await start(t, (own) => [own, ...Array<JsonObject>(200).fill({ kty: 'OKP' })])
  t.equal((await ask({}, 'chat', bearer(await issuer.token()))).status, 503)
  t.ok(gateway.logs.some((line) => line.includes('more than 200 keys')))
})

t.test('an end that no calendar has is refused, and breaks no reply', async (t) => {
  const { issuer, ask, gateway } = await start(t)
  for (const exp of [1e13, 8_640_000_000_001, 1e15, 1e300, 253_402_300_800]) {
    const token = await issuer.token({ exp })
    for (const reply of [await ask({}, 'chat', bearer(token)), await gateway.get('/v1/key', bearer(token))]) {
      t.equal(reply.status, 401, String(exp))
      t.match(await reply.text(), 'lacks a claim that is required')
    }
  }
  const last = await gateway.get('/v1/key', bearer(await issuer.token({ exp: 253_402_300_799 - 30 })))
  t.match(await last.json(), { data: { expires_at: '9999-12-31T23:59:59.000Z' } }, 'the last second of RFC 3339')
})

t.test('members who differ in halves of characters are not one caller: there are no such members', async (t) => {
  const { issuer, ask, rows } = await start(t)
  for (const sub of ['\ud800', 'a\udc00', '\udc00\ud800']) t.equal((await ask({}, 'chat', bearer(await issuer.token({ sub })))).status, 401)
  for (const sub of ['\ufffd', '\u{1f600}', '__proto__', 'a\0b'])
    t.equal((await ask({}, 'chat', bearer(await issuer.token({ sub })))).status, 200)
  t.equal(new Set(rows().map(({ hold }) => hold.key)).size, 4, 'each of the others is one of its own')
})

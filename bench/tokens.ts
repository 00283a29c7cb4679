/**
 * Cost of a caller's token: its first use beside the bare verification by jose, and each later one.
 *
 *   node bench/tokens.ts [rounds]
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createLocalJWKSet, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose'
import { systemClock } from '../src/core/clock.ts'
import { secretHash } from '../src/core/secret.ts'
import { token as tokenMethod } from '../src/pipeline/request/authentication/token.ts'
import { TokenCallers } from '../src/pipeline/request/authentication/token-callers.ts'
import { KnownKeys } from '../src/services/issuers/known-keys.ts'
import { TokenVerifier } from '../src/services/issuers/token-verifier.ts'

const ROUNDS = Number(process.argv[2] ?? 2_000)
const LATER_USES = 200_000

const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true })
const keys = [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'RS256' }]
const server = createServer((_, response) => response.end(JSON.stringify({ keys })))
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const log = { warn: () => {}, info: () => {} }
const parts = { clock: systemClock, log: log as never }
const settings = {
  issuer,
  audiences: ['headgate'],
  jwksUri: `${issuer}/jwks`,
  algorithms: ['RS256'],
  leeway: 30_000,
  requiredClaims: {},
  member: 'sub',
  keysKept: 86_400_000,
  rules: [{ when: { groups: 'ml-team' } }],
}
const terms = {
  role: 'member' as const,
  disabled: false,
  limit: null,
  limitReset: null,
  allowedModels: undefined,
  provider: undefined,
  limits: {},
  passThrough: false,
}
const proof = new TokenVerifier([settings], new KnownKeys(parts), parts)
const rules = new Map([[issuer, [{ name: 'ml', label: 'localhost', guardrails: [], terms }]]])

const claims = { groups: ['a', 'ml-team'], email: 'ada@acme.example', name: 'Ada', realm_access: { roles: ['x', 'y'] } }
const sign = (sub: string): Promise<string> =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: 'RS256', kid: 'k', typ: 'JWT' })
    .setIssuer(issuer)
    .setAudience('headgate')
    .setSubject(sub)
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(privateKey)
const tokens = await Promise.all(Array.from({ length: ROUNDS }, (_, at) => sign(`user-${at}`)))

const bare = createLocalJWKSet({ keys: keys as never })
const options = { issuer, audience: 'headgate', algorithms: ['RS256' as const], clockTolerance: 30 }
const callers = (): TokenCallers => new TokenCallers({ clock: systemClock, proof, rules, claimNames: new Set() })
const method = (known: TokenCallers) =>
  tokenMethod({ keys: { written: new Map(), atHand: () => undefined, find: () => undefined }, config: {} as never, tokens: known })

const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
async function each(run: (token: string) => unknown): Promise<number> {
  const times: number[] = []
  for (const token of tokens) {
    const began = performance.now()
    await run(token)
    times.push((performance.now() - began) * 1000)
  }
  return median(times)
}

const headers = (token: string) => ({ authorization: `Bearer ${token}` })
const caller = (token: string) => ({ headers: headers(token), connection: {} })
const known = callers()
const show = method(known)
if (!show) throw new Error('no method')
for (const _ of [1, 2]) {
  const first = callers()
  await each((token) => jwtVerify(token, bare, options))
  await each((token) => first.find(token, secretHash(token), { isJwt: true, isSuspect: () => false }))
}
const [bareUs, firstUs] = [
  await each((token) => jwtVerify(token, bare, options)),
  await each((token) => show.find(caller(token), () => false)),
]

/** Microseconds of one use. @param digest of a connection that remembers it; undefined for a new connection each time. */
function later(digest: ((secret: string) => string) | undefined): number {
  const [token = ''] = tokens
  const shown = { headers: headers(token), connection: digest ? { digest } : {} }
  const began = performance.now()
  for (let at = 0; at < LATER_USES; at++) if (show?.shows?.(shown) !== true || !show.atHand(shown)) throw new Error('not known')
  return ((performance.now() - began) * 1000) / LATER_USES
}
const remembered = secretHash(tokens[0] ?? '')
later(undefined)
const figures = {
  bare_jose_us: bareUs.toFixed(1),
  first_use_us: firstUs.toFixed(1),
  ratio: (firstUs / bareUs).toFixed(2),
  later_use_new_connection_us: later(undefined).toFixed(2),
  later_use_same_connection_us: later(() => remembered).toFixed(2),
  token_characters: String(tokens[0]?.length),
}
process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`)
server.close()
server.closeAllConnections()
process.exit(0)

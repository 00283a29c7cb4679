/** Verifies tokens of the configured issuers: the signature and the claims of a JWT, or the answer of the issuer about an opaque token. */
import type { CryptoKey, JWSAlgorithm, JWTClaimVerificationOptions, JWTPayload } from 'jose'
import type { Clock } from '../../core/clock.ts'
import { FirstUse } from '../../core/first-use.ts'
import { RefusedToken, type TokenRefusal } from '../../core/token-refusals.ts'
import { Introspection } from './introspection.ts'
import type { KeySet, KnownKeys } from './known-keys.ts'
import { mapClaims } from './mapping.ts'
import { RefusalReports } from './refusal-reports.ts'
import type { Claims, IssuerParts, IssuerSettings, MappedMember, VerifiedToken } from './types.ts'

/** Keys of one issuer that are tried where a token names none and several fit. */
const MAX_KEYS_TRIED = 4

/** Seconds since the epoch: the end of the year 9999, the last one of RFC 3339. An end behind it is a mistake, such as milliseconds. */
const MAX_EXP = 253_402_300_799

/** Types of tokens that open an API: those of others, such as logout tokens, have the same issuer and audience (RFC 8725, 3.11). */
const TYPES: ReadonlySet<string> = new Set(['jwt', 'application/jwt', 'at+jwt', 'application/at+jwt'])

type Library = typeof import('jose')

/** Loaded with the first token. */
const library = new FirstUse(() => import('jose'))

export class TokenVerifier {
  private readonly issuers: ReadonlyMap<string, IssuerSettings>
  private readonly clock: Clock
  private readonly keys: KnownKeys
  private readonly reports: RefusalReports
  private readonly introspection: Introspection | undefined

  constructor(issuers: readonly IssuerSettings[], keys: KnownKeys, parts: IssuerParts) {
    this.issuers = new Map(issuers.map((settings) => [settings.issuer, settings]))
    this.clock = parts.clock
    this.keys = keys
    this.reports = new RefusalReports(parts)
    const introspected = issuers.find(({ introspection }) => introspection !== undefined)
    this.introspection = introspected?.introspection && new Introspection(introspected, introspected.introspection, parts)
  }

  /** True where tokens that are no JWT can be verified. */
  get takesOpaque(): boolean {
    return this.introspection !== undefined
  }

  /** A refusal of a token that is not verified at all, which the log has as the others. */
  refuse(why: TokenRefusal): RefusedToken {
    const refused = new RefusedToken(why)
    this.reports.noted(refused, undefined)
    return refused
  }

  /** The member with these claims, which were verified before; undefined where the issuer or a claim is missing. */
  map(issuer: string, claims: Claims): MappedMember | undefined {
    const settings = this.issuers.get(issuer)
    return settings && mapClaims(claims, settings)
  }

  /**
   * @param isSuspect true of a caller that has shown much that opens nothing: no call goes out for it.
   * @throws RefusedToken; Fault 503 where the issuer cannot be reached.
   */
  async verifyJwt(token: string, isSuspect: () => boolean): Promise<VerifiedToken> {
    const jose = await library.get()
    let settings: IssuerSettings | undefined
    try {
      settings = this.issuerIn(token, jose)
      return this.verified(await this.claims(token, settings, { jose, isSuspect }), settings)
    } catch (thrown) {
      throw this.reports.noted(asRefusal(thrown, jose), settings?.issuer)
    }
  }

  /** As `verifyJwt`, for a token that its issuer knows. */
  async verifyOpaque(token: string, isSuspect: () => boolean): Promise<VerifiedToken> {
    const { introspection } = this
    if (!introspection) throw this.refuse('token_malformed')
    if (isSuspect()) throw new RefusedToken('token_inactive')
    const { settings, cache } = introspection
    const jose = await library.get()
    const now = this.clock.now()
    try {
      const answer = await introspection.claims(token)
      // The issuer of an answer is the server that gave it (RFC 7662, 2.2: the member is optional).
      const claims = { iss: settings.issuer, exp: Math.floor((now + cache) / 1000), ...answer }
      const unsecured = new jose.UnsecuredJWT(claims as JWTPayload).encode()
      const { payload } = jose.UnsecuredJWT.decode(unsecured, this.rules(settings))
      const verified = this.verified(payload as Claims, settings)
      return { ...verified, holdsUntil: Math.min(verified.holdsUntil, now + cache) }
    } catch (thrown) {
      throw this.reports.noted(asRefusal(thrown, jose), settings.issuer)
    }
  }

  /** The issuer that a token says it is of, as far as that is configured; whether it is, the signature decides. */
  private issuerIn(token: string, { decodeJwt, decodeProtectedHeader }: Library): IssuerSettings {
    const { alg, typ } = decodeProtectedHeader(token)
    const { iss } = decodeJwt(token)
    const settings = typeof iss === 'string' ? this.issuers.get(iss) : undefined
    if (!settings) throw new RefusedToken('token_issuer')
    if (alg === undefined || !settings.algorithms.includes(alg)) throw new RefusedToken('token_algorithm')
    if (typ !== undefined && !TYPES.has(String(typ).toLowerCase())) throw new RefusedToken('token_type')
    return settings
  }

  private async claims(token: string, settings: IssuerSettings, { jose, isSuspect }: Verification): Promise<Claims> {
    const keys = this.keys.for(settings, jose.createLocalJWKSet)
    const set = await keys.current()
    const options = { ...this.rules(settings), algorithms: settings.algorithms as JWSAlgorithm[] }
    const verify = async (by: KeySet | CryptoKey): Promise<Claims> => {
      // Two forms of one function, of which each takes one kind of key.
      const { payload } = typeof by === 'function' ? await jose.jwtVerify(token, by, options) : await jose.jwtVerify(token, by, options)
      return payload as Claims
    }
    const withSet = (from: KeySet): Promise<Claims> =>
      verify(from).catch((thrown: unknown) => {
        if (thrown instanceof jose.errors.JWKSMultipleMatchingKeys) return verifyWithAny(thrown, verify, jose)
        throw thrown
      })
    return withSet(set).catch(async (thrown: unknown) => {
      if (!(thrown instanceof jose.errors.JWKSNoMatchingKey) || isSuspect()) throw thrown
      const newer = await keys.newer(set)
      if (!newer) throw thrown
      return withSet(newer)
    })
  }

  private rules({ issuer, audiences, leeway, maxAge }: IssuerSettings): JWTClaimVerificationOptions {
    return {
      issuer,
      audience: [...audiences],
      clockTolerance: leeway / 1000,
      currentDate: new Date(this.clock.now()),
      requiredClaims: ['exp'],
      ...(maxAge === undefined ? {} : { maxTokenAge: maxAge / 1000 }),
    }
  }

  /** Checks what the library has no option for. */
  private verified(claims: Claims, settings: IssuerSettings): VerifiedToken {
    const { issuer, leeway, maxAge } = settings
    const { exp, iat } = claims
    if (typeof exp !== 'number' || exp > MAX_EXP) throw new RefusedToken('token_claim')
    const issuedAt = typeof iat === 'number' ? iat * 1000 : undefined
    if (issuedAt !== undefined && issuedAt > this.clock.now() + leeway) throw new RefusedToken('token_early')
    const mapped = mapClaims(claims, settings)
    if (!mapped) throw new RefusedToken('token_claim')
    const ends = [exp * 1000, ...(maxAge === undefined || issuedAt === undefined ? [] : [issuedAt + maxAge])]
    const expiresAt = Math.min(...ends) + leeway
    return { issuer, ...mapped, expiresAt, holdsUntil: expiresAt, claims }
  }
}

interface Verification {
  readonly jose: Library
  readonly isSuspect: () => boolean
}

/** Tries the keys that fit a token without `kid`. */
async function verifyWithAny(
  several: AsyncIterable<CryptoKey>,
  verify: (key: CryptoKey) => Promise<Claims>,
  { errors }: Library,
): Promise<Claims> {
  let tried = 0
  for await (const key of several) {
    if (++tried > MAX_KEYS_TRIED) break
    try {
      return await verify(key)
    } catch (thrown) {
      if (!(thrown instanceof errors.JWSSignatureVerificationFailed)) throw thrown
    }
  }
  throw new RefusedToken('token_signature')
}

const BY_CLAIM: Readonly<Record<string, TokenRefusal>> = { aud: 'token_audience', nbf: 'token_early', iss: 'token_issuer' }

/** An error of the library as the refusal that it means; others as they are. */
function asRefusal(thrown: unknown, { errors }: Library): unknown {
  if (thrown instanceof errors.JWTExpired) return new RefusedToken(thrown.claim === 'iat' ? 'token_old' : 'token_expired')
  if (thrown instanceof errors.JWTClaimValidationFailed) {
    if (thrown.claim === 'iat' && thrown.reason === 'check_failed') return new RefusedToken('token_early')
    return new RefusedToken(BY_CLAIM[thrown.claim] ?? 'token_claim')
  }
  if (thrown instanceof errors.JWKSNoMatchingKey) return new RefusedToken('token_unknown_key')
  if (thrown instanceof errors.JWSSignatureVerificationFailed) return new RefusedToken('token_signature')
  if (thrown instanceof errors.JOSEAlgNotAllowed) return new RefusedToken('token_algorithm')
  // WebCrypto cannot use the key for this algorithm.
  if (thrown instanceof DOMException) return new RefusedToken('token_unknown_key')
  if (thrown instanceof errors.JOSEError || thrown instanceof TypeError) return new RefusedToken('token_malformed')
  return thrown
}

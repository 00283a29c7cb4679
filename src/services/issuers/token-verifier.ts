/** Verifies tokens of the configured issuers: the signature and the claims of a JWT, or the answer of the issuer about an opaque token. */
import type { JWSAlgorithm, JWTClaimVerificationOptions, JWTPayload } from 'jose'
import type { Clock } from '../../core/clock.ts'
import { RefusedToken, type TokenRefusal } from '../../core/token-refusals.ts'
import { Introspection } from './introspection.ts'
import type { KnownKeys } from './known-keys.ts'
import { mapClaims } from './mapping.ts'
import { RefusalReports } from './refusal-reports.ts'
import { asRefusal, type JoseLibrary, joseLibrary, signedClaims } from './signed-claims.ts'
import type { Claims, IssuerParts, IssuerSettings, MappedMember, VerifiedToken } from './types.ts'

/** Seconds since the epoch: the end of the year 9999, the last one of RFC 3339. An end behind it is a mistake, such as milliseconds. */
const MAX_EXP = 253_402_300_799

/** Types of tokens that open an API: those of others, such as logout tokens, have the same issuer and audience (RFC 8725, 3.11). */
const TYPES: ReadonlySet<string> = new Set(['jwt', 'application/jwt', 'at+jwt', 'application/at+jwt'])

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
    this.reports = new RefusalReports(parts, (line) => {
      parts.log.warn(line, 'token refused')
    })
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
    const jose = await joseLibrary.get()
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
    const jose = await joseLibrary.get()
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
  private issuerIn(token: string, { decodeJwt, decodeProtectedHeader }: JoseLibrary): IssuerSettings {
    const { alg, typ } = decodeProtectedHeader(token)
    const { iss } = decodeJwt(token)
    const settings = typeof iss === 'string' ? this.issuers.get(iss) : undefined
    if (!settings) throw new RefusedToken('token_issuer')
    if (alg === undefined || !settings.algorithms.includes(alg)) throw new RefusedToken('token_algorithm')
    if (typ !== undefined && !TYPES.has(String(typ).toLowerCase())) throw new RefusedToken('token_type')
    return settings
  }

  private claims(token: string, settings: IssuerSettings, { jose, isSuspect }: Verifying): Promise<Claims> {
    const keys = this.keys.for(settings, jose.createLocalJWKSet)
    const options = { ...this.rules(settings), algorithms: settings.algorithms as JWSAlgorithm[] }
    return signedClaims(token, { jose, keys, options, isSuspect })
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

interface Verifying {
  readonly jose: JoseLibrary
  readonly isSuspect: () => boolean
}

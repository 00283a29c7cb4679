/**
 * Logout tokens, by which an issuer says that a session of a person there has ended (OpenID Connect Back-Channel Logout 1.0, 2.4 and 2.6).
 * They come to one address without any other credential: the signature and the claims are all that proves them.
 */
import type { JWSAlgorithm } from 'jose'
import { LRUCache } from 'lru-cache'
import { isObject } from '../../core/json.ts'
import { secretHash } from '../../core/secret.ts'
import { RefusedToken } from '../../core/token-refusals.ts'
import type { SignInIssuer } from './code-flow.ts'
import { KnownKeys } from './known-keys.ts'
import { RefusalReports } from './refusal-reports.ts'
import { asRefusal, joseLibrary, signedClaims } from './signed-claims.ts'
import type { Claims, IssuerParts } from './types.ts'

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'

/** The type is recommended, not required (2.4): ID tokens have `JWT`, and lack the event. */
const TYPES: ReadonlySet<string> = new Set(['jwt', 'application/jwt', 'logout+jwt', 'application/logout+jwt'])

/** Milliseconds since `iat` after which one is refused, whatever its end is; issuers give them two minutes (2.4 recommends it). */
const MAX_AGE_MS = 5 * 60_000
/** Those that were used and are remembered. */
const MAX_USED = 10_000
/** Characters of `jti`, `sub` and `sid`. */
const MAX_ID_LENGTH = 256

/** A person, a session of the person, or both as the issuer names them. */
export interface LogoutClaims {
  readonly subject: string | undefined
  readonly session: string | undefined
  /** Milliseconds since the epoch, to the second. */
  readonly issuedAt: number
}

export interface VerifiedLogout extends LogoutClaims {
  /** Remembers that it was used, once it has done what it is for: an issuer may send it again until then. */
  readonly use: () => void
}

export class LogoutTokens {
  private readonly settings: SignInIssuer
  private readonly clock: IssuerParts['clock']
  private readonly keys: KnownKeys
  private readonly reports: RefusalReports
  private readonly used = new LRUCache<string, true>({ max: MAX_USED })

  constructor(settings: SignInIssuer, parts: IssuerParts) {
    this.settings = settings
    this.clock = parts.clock
    this.keys = new KnownKeys(parts)
    this.reports = new RefusalReports(parts, (line) => {
      parts.log.warn(line, 'logout token refused')
    })
  }

  /**
   * @param isSuspect true of an address that has sent much that is wrong: no call goes out for it.
   * @throws RefusedToken; Fault 503 where the keys of the issuer cannot be fetched.
   */
  async verify(token: string, isSuspect: () => boolean): Promise<VerifiedLogout> {
    const { issuer, algorithms, leeway, signIn } = this.settings
    const jose = await joseLibrary.get()
    try {
      const { typ, alg } = jose.decodeProtectedHeader(token)
      if (alg === undefined || !algorithms.includes(alg)) throw new RefusedToken('token_algorithm')
      if (typ !== undefined && !TYPES.has(String(typ).toLowerCase())) throw new RefusedToken('token_type')
      const claims = await signedClaims(token, {
        jose,
        keys: this.keys.for(this.settings, jose.createLocalJWKSet),
        options: {
          issuer,
          audience: signIn.clientId,
          algorithms: algorithms as JWSAlgorithm[],
          clockTolerance: leeway / 1000,
          currentDate: new Date(this.clock.now()),
          maxTokenAge: MAX_AGE_MS / 1000,
          requiredClaims: ['iat', 'jti', 'events'],
        },
        isSuspect,
      })
      return this.checked(claims)
    } catch (thrown) {
      throw this.reports.noted(asRefusal(thrown, jose), issuer)
    }
  }

  /** Checks what the library has no option for (2.6). */
  private checked({ jti, sub, sid, events, nonce, iat }: Claims): VerifiedLogout {
    const event = isObject(events) ? events[EVENT] : undefined
    // With a nonce it would be an ID token in another place.
    if (!isObject(event) || nonce !== undefined || typeof iat !== 'number') throw new RefusedToken('token_claim')
    const [id, subject, session] = [named(jti), named(sub), named(sid)]
    if (id === undefined || (subject === undefined && session === undefined)) throw new RefusedToken('token_claim')
    const digest = secretHash(id)
    if (this.used.has(digest)) throw new RefusedToken('token_inactive')
    return { subject, session, issuedAt: iat * 1000, use: () => void this.used.set(digest, true) }
  }
}

/** Undefined where the claim is missing. @throws RefusedToken for any other value than text. */
function named(claim: unknown): string | undefined {
  if (claim === undefined) return undefined
  if (typeof claim !== 'string' || claim === '' || claim.length > MAX_ID_LENGTH) throw new RefusedToken('token_claim')
  return claim
}

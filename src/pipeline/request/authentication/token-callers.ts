/** The callers whose tokens were verified, each with the key that stands for them. */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../../core/clock.ts'
import { Fault } from '../../../core/faults.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { PersonTicket } from '../../../core/person-ticket.ts'
import { RefusedToken, type TokenRefusal } from '../../../core/token-refusals.ts'
import type { ApiKey } from '../../../plugin-api/key.ts'
import type { MappedMember, VerifiedToken } from '../../../services/issuers/types.ts'
import { memberKey, type RuleTerms, readClaims } from './member-key.ts'

/** Tokens that are remembered; of more, the least recently used one is verified again. */
const MAX_TOKENS = 10_000

/** Verifies tokens. */
export interface TokenProof {
  /** True where tokens that are no JWT can be verified. */
  readonly takesOpaque: boolean
  /** A token that is refused before it is verified. @returns what is to be thrown. */
  refuse(why: TokenRefusal): RefusedToken
  /** @throws Fault 401, 503. */
  verifyJwt(token: string, isSuspect: () => boolean): Promise<VerifiedToken>
  /** The member with claims that were verified before. */
  map(issuer: string, claims: JsonObject): MappedMember | undefined
  /** @throws Fault 401, 503. */
  verifyOpaque(token: string, isSuspect: () => boolean): Promise<VerifiedToken>
}

export interface TokenCallersOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly proof: TokenProof
  /** By issuer, in the order of the configuration. */
  readonly rules: ReadonlyMap<string, readonly RuleTerms[]>
  /** Names of the claims that policies read. */
  readonly claimNames: ReadonlySet<string>
}

interface Known {
  /** Undefined where no rule maps the caller. */
  readonly key: ApiKey | undefined
  readonly holdsUntil: number
}

/** Made once per configuration. */
export class TokenCallers {
  private readonly options: TokenCallersOptions
  /** By the digest of the token. Made with the first one: it takes room for all of them at once. */
  private known: LRUCache<string, Known> | undefined
  private readonly pending = new Map<string, Promise<Known>>()

  constructor(options: TokenCallersOptions) {
    this.options = options
  }

  get takesOpaque(): boolean {
    return this.options.proof.takesOpaque
  }

  /** @throws RefusedToken */
  refuse(why: TokenRefusal): never {
    throw this.options.proof.refuse(why)
  }

  /** The key of a token that was verified before. @param digest SHA-256 of the token, hex. @throws Fault 403 where no rule maps it. */
  atHand(digest: string): ApiKey | undefined {
    const known = this.known?.get(digest)
    if (!known) return undefined
    if (known.holdsUntil > this.options.clock.now()) return mapped(known)
    this.known?.delete(digest)
    return undefined
  }

  /** The key of a person who has signed in; undefined where no rule maps the person any more. */
  person({ issuer, claims, until }: PersonTicket): ApiKey | undefined {
    const found = this.options.proof.map(issuer, claims)
    const terms = found?.rule === undefined ? undefined : this.options.rules.get(issuer)?.[found.rule]
    return found && terms && memberKey({ issuer, member: found.member, expiresAt: until }, terms, this.claims(claims))
  }

  get clock(): Pick<Clock, 'now'> {
    return this.options.clock
  }

  /** Verifies a token, once for all who show it at the same time. @throws Fault 401, 403, 503. */
  async find(token: string, digest: string, { isJwt, isSuspect }: { isJwt: boolean; isSuspect: () => boolean }): Promise<ApiKey> {
    let pending = this.pending.get(digest)
    if (!pending) {
      const { proof } = this.options
      const verifying = isJwt ? proof.verifyJwt(token, isSuspect) : proof.verifyOpaque(token, isSuspect)
      pending = verifying.then((verified) => this.remember(digest, verified)).finally(() => this.pending.delete(digest))
      this.pending.set(digest, pending)
    }
    return mapped(await pending)
  }

  private claims(claims: JsonObject): ReturnType<typeof readClaims> {
    return readClaims(claims, this.options.claimNames)
  }

  private remember(digest: string, verified: VerifiedToken): Known {
    const { issuer, rule, holdsUntil } = verified
    const found = rule === undefined ? undefined : this.options.rules.get(issuer)?.[rule]
    const known = { key: found && memberKey(verified, found, this.claims(verified.claims)), holdsUntil }
    if (holdsUntil <= this.options.clock.now()) throw new RefusedToken('token_expired')
    this.known ??= new LRUCache({ max: MAX_TOKENS })
    this.known.set(digest, known)
    return known
  }
}

function mapped({ key }: Known): ApiKey {
  if (!key) throw new Fault('forbidden', { message: 'The token is valid, but no rule of its issuer maps this caller' })
  return key
}

/** Opaque tokens: their issuer says what they are (RFC 7662). Answers are remembered by the digest of the token, negative ones briefly. */
import { LRUCache } from 'lru-cache'
import { Fault } from '../../core/faults.ts'
import { secretHash } from '../../core/secret.ts'
import { RefusedToken } from '../../core/token-refusals.ts'
import { IssuerClient, problemText } from './issuer-fetch.ts'
import type { Claims, IntrospectionSettings, IssuerParts, IssuerSettings } from './types.ts'

/** Milliseconds for which a token that is not active counts as such. */
const INACTIVE_MS = 10_000
const MAX_INACTIVE = 4_096
/** Calls at once: of further tokens the callers come again. */
const MAX_CALLS = 32

export class Introspection {
  readonly settings: IssuerSettings
  private readonly options: IntrospectionSettings
  private readonly parts: IssuerParts
  private readonly client: IssuerClient
  /** Until when a token is not active, monotonic milliseconds, by digest. Made with the first one. */
  private inactive: LRUCache<string, number> | undefined
  private calls = 0
  private isFailing = false

  constructor(settings: IssuerSettings, options: IntrospectionSettings, parts: IssuerParts) {
    this.settings = settings
    this.options = options
    this.parts = parts
    this.client = new IssuerClient(parts.clock, settings.ca)
  }

  /** Milliseconds for which an answer holds. */
  get cache(): number {
    return this.options.cache
  }

  /** Claims of an active token, by its issuer. @throws RefusedToken; Fault 503 where the issuer cannot be called now. */
  async claims(token: string): Promise<Claims> {
    const digest = secretHash(token)
    if ((this.inactive?.get(digest) ?? Number.NEGATIVE_INFINITY) > this.parts.clock.monotonic()) throw new RefusedToken('token_inactive')
    if (this.calls >= MAX_CALLS) throw unavailable()
    this.calls++
    const answer = await this.call(token).finally(() => this.calls--)
    if (answer.active === true) return answer
    this.inactive ??= new LRUCache({ max: MAX_INACTIVE })
    this.inactive.set(digest, this.parts.clock.monotonic() + INACTIVE_MS)
    throw new RefusedToken('token_inactive')
  }

  private async call(token: string): Promise<Claims> {
    const { url, clientId, clientSecret } = this.options
    // RFC 6749, 2.3.1: both are encoded as in a form first.
    const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`
    try {
      const answer = await this.client.call({
        what: 'the introspection endpoint',
        url,
        headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}`, accept: 'application/json' },
        form: { token, token_type_hint: 'access_token' },
      })
      this.isFailing = false
      return answer
    } catch (cause) {
      if (!this.isFailing)
        this.parts.log.warn({ issuer: this.settings.issuer, problem: problemText(cause) }, 'introspection of tokens fails')
      this.isFailing = true
      throw unavailable(cause)
    }
  }
}

function unavailable(cause?: unknown): Fault {
  const message = 'Service temporarily unavailable: the issuer of this token cannot be reached'
  return new Fault('unavailable', { message, retryAfter: 5, cause })
}

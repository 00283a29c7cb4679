/**
 * The public keys of one issuer: found by discovery, fetched once for all who wait, refreshed ahead of their end, and kept while the
 * issuer cannot be reached.
 */
import { Fault } from '../../core/faults.ts'
import { asObjects, isObject, type JsonObject } from '../../core/json.ts'
import { CredentialError } from '../credentials/types.ts'
import { discover } from './discovery.ts'
import { IssuerClient, isTrustworthy, problemText } from './issuer-fetch.ts'
import { canVerify } from './public-keys.ts'
import type { IssuerParts, IssuerSettings } from './types.ts'

/** Milliseconds after which the keys are fetched again in the background, and after which a token waits for that. */
const REFRESH_MS = 5 * 60_000
const STALE_MS = 10 * 60_000
/** Milliseconds between two fetches that tokens with unknown keys cause, and between two attempts while known keys serve. */
const PAUSE_MS = 30_000
/** The same while no key is known. */
const PAUSE_WITHOUT_KEYS_MS = 5_000
const MAX_KEYS = 200

type KeySettings = Pick<IssuerSettings, 'issuer' | 'jwksUri' | 'jwksToken' | 'ca' | 'keysKept'>

export class IssuerKeys<KeySet> {
  private settings: KeySettings
  private readonly parts: IssuerParts
  private readonly read: (keys: JsonObject[]) => KeySet
  private readonly client: IssuerClient
  private known: { readonly set: KeySet; readonly fetchedAt: number } | undefined
  private pending: Promise<boolean> | undefined
  /** Monotonic milliseconds. */
  private attemptedAt = Number.NEGATIVE_INFINITY
  private isFailing = false
  /** Keys of the last set that cannot verify. */
  private leftOut = 0

  /** @param read makes the set that tokens are verified with. */
  constructor(settings: KeySettings, parts: IssuerParts, read: (keys: JsonObject[]) => KeySet) {
    this.settings = settings
    this.parts = parts
    this.read = read
    this.client = new IssuerClient(parts.clock, settings.ca)
  }

  /** Takes over settings of a reload; the keys stay. */
  apply(settings: KeySettings): void {
    this.settings = settings
  }

  /** The set of now. @throws Fault 503 where none is known. */
  async current(): Promise<KeySet> {
    const { keysKept } = this.settings
    const age = this.age
    if (age >= keysKept) {
      if (!this.pending && this.isResting(PAUSE_WITHOUT_KEYS_MS)) throw this.unavailable()
      await this.fetch()
    } else if (age >= STALE_MS && !this.isFailing) await this.fetch()
    else if (age >= REFRESH_MS && !this.isResting(PAUSE_MS)) void this.fetch()
    if (!this.known || this.age >= keysKept) throw this.unavailable()
    return this.known.set
  }

  /**
   * The set after a token named a key that the other does not have: fetched once for all who wait, and at most every 30 s.
   * @returns undefined where it cannot be newer. @throws Fault 503 where the issuer cannot be reached.
   */
  async newer(than: KeySet): Promise<KeySet | undefined> {
    if (this.known && this.known.set !== than) return this.known.set
    if (!this.pending && this.isResting(PAUSE_MS)) {
      if (this.isFailing) throw this.unavailable()
      return undefined
    }
    if (!(await this.fetch())) throw this.unavailable()
    return this.known?.set
  }

  close(): void {
    this.client.close()
  }

  private get age(): number {
    return this.known ? this.parts.clock.monotonic() - this.known.fetchedAt : Number.POSITIVE_INFINITY
  }

  private isResting(pauseMs: number): boolean {
    return this.parts.clock.monotonic() - this.attemptedAt < pauseMs
  }

  private unavailable(): Fault {
    return new Fault('unavailable', {
      message: 'Service temporarily unavailable: the keys of the issuer of this token cannot be fetched',
      retryAfter: PAUSE_WITHOUT_KEYS_MS / 1000,
    })
  }

  /** @returns true where it succeeded. */
  private fetch(): Promise<boolean> {
    this.pending ??= this.fetchOnce().finally(() => {
      this.pending = undefined
    })
    return this.pending
  }

  private async fetchOnce(): Promise<boolean> {
    const { clock, log } = this.parts
    const { issuer, keysKept } = this.settings
    this.attemptedAt = clock.monotonic()
    try {
      const set = this.read(await this.keys())
      this.known = { set, fetchedAt: clock.monotonic() }
      if (this.isFailing) log.info({ issuer }, 'keys of the issuer are fetched again')
      this.isFailing = false
      return true
    } catch (error) {
      const keptMs = this.known ? Math.max(0, keysKept - this.age) : 0
      if (!this.isFailing)
        log.warn({ issuer, problem: problemText(error), kept_s: Math.floor(keptMs / 1000) }, 'keys of the issuer cannot be fetched')
      this.isFailing = true
      return false
    }
  }

  private async keys(): Promise<JsonObject[]> {
    const { jwksUri, jwksToken } = this.settings
    const url = jwksUri ?? (await this.discovered())
    const isOwn = jwksUri !== undefined || isSameOrigin(url, this.settings.issuer)
    const { keys } = await this.client.call({ what: 'the set of keys', url, headers: isOwn ? bearer(jwksToken) : undefined })
    if (!Array.isArray(keys)) throw new CredentialError('the set of keys has no list of keys')
    if (keys.length > MAX_KEYS) throw new CredentialError(`the set of keys has more than ${MAX_KEYS} keys`)
    // Keys for encryption stand in the same sets (RFC 7517, 4.2).
    const listed = keys.filter((key) => !isObject(key) || key.use === undefined || key.use === 'sig')
    const usable = asObjects(listed).filter(canVerify)
    this.reportLeftOut(listed.length - usable.length)
    if (usable.length === 0) throw new CredentialError('the set of keys has no public key')
    return usable
  }

  /** Once for each number: a set is fetched every few minutes. */
  private reportLeftOut(count: number): void {
    const { issuer } = this.settings
    if (count > 0 && count !== this.leftOut) this.parts.log.warn({ issuer, count }, 'keys of the issuer are left out: they verify nothing')
    this.leftOut = count
  }

  private async discovered(): Promise<string> {
    const { issuer, jwksToken } = this.settings
    const found = await discover(this.client, issuer, bearer(jwksToken))
    const { jwks_uri: uri } = found
    if (typeof uri !== 'string' || !isTrustworthy(uri)) throw new CredentialError('the discovery document names no https address of keys')
    return uri
  }
}

function bearer(token: string | undefined): Record<string, string> | undefined {
  return token === undefined ? undefined : { authorization: `Bearer ${token}` }
}

const isSameOrigin = (one: string, other: string): boolean => new URL(one).origin === new URL(other).origin

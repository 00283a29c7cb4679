/**
 * Several keys of one account as one credential. A conversation keeps its key as long as that can be used; other calls are
 * spread by weight. A key that the provider refuses is left out for a while, one that it limits rests.
 */
import { createHash, hash } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'
import { counter, open } from '../../machines/metrics/metrics.ts'
import type { CredentialParts } from './credential-refresh.ts'
import type { Credential, CredentialedCall, Grant } from './types.ts'

const refusals = counter('provider_key_refusals_total', 'Keys of a pool that a provider refused. `key` is the name of the key.', {
  labels: [open('provider'), open('key')],
  limit: 60,
})

/** Milliseconds for which a refused key is left out: the operator may have had it unlocked by then. */
const REFUSED = 10 * 60_000
/** Milliseconds for which a limited key rests: where the provider does not say, and at most. */
const LIMITED = { usual: 5_000, longest: 60_000 }
const MINUTE = 60_000

/** One key, as the configuration resolves it. */
export interface KeySettings {
  readonly name?: string | undefined
  readonly key: string
  readonly weight: number
  readonly requestsPerMinute?: number | undefined
}

export interface PoolOptions {
  readonly provider: string
  readonly terms: string
  readonly keys: readonly KeySettings[]
}

export class KeyPool implements Credential {
  readonly grant = undefined
  readonly terms: string
  /** Keys of a pool are of one account, so it is that of the first one, whichever are added. */
  readonly fingerprint: string
  private readonly keys: readonly PooledKey[]
  private readonly clock: Clock

  constructor({ provider, terms, keys }: PoolOptions, parts: CredentialParts) {
    this.terms = terms
    this.clock = parts.clock
    this.fingerprint = hash('sha256', keys[0]?.key ?? '', 'base64url')
    this.keys = keys.map((settings, index) => new PooledKey({ provider, settings, pool: this, number: index + 1 }, parts))
  }

  ready(): boolean {
    return true
  }

  refresh(): Promise<void> {
    return Promise.resolve()
  }

  renew(): Promise<boolean> {
    return Promise.resolve(false)
  }

  toJSON(): string {
    return this.fingerprint
  }

  /** Calls of one conversation get one key, so that caches of the provider that belong to a key are found. */
  forCall(conversation?: string): PooledKey {
    const now = this.clock.monotonic()
    const usable = this.keys.filter((key) => key.isUsable(now))
    // Where none is left the provider decides: a refusal may have been its mistake.
    return this.begun(usable.length > 0 ? usable : this.keys, conversation)
  }

  another(tried: readonly Credential[], conversation?: string): PooledKey | undefined {
    const now = this.clock.monotonic()
    const left = this.keys.filter((key) => key.isUsable(now) && !tried.includes(key))
    return left.length > 0 ? this.begun(left, conversation) : undefined
  }

  private begun(from: readonly PooledKey[], conversation: string | undefined): PooledKey {
    const now = this.clock.monotonic()
    const roomy = from.filter((key) => key.hasRoom(now))
    const chosen = this.chosen(roomy.length > 0 ? roomy : from, conversation)
    chosen.begin(now)
    return chosen
  }

  headers(call: CredentialedCall): readonly string[] {
    return this.forCall().headers(call)
  }

  isIn(text: string): boolean {
    return this.keys.some(({ secret }) => text.includes(secret))
  }

  /** Nothing is fetched. */
  start(): void {}

  close(): void {}

  /** Rendezvous hashing by weight: a key that comes or goes moves no conversation of the others. */
  private chosen(keys: readonly PooledKey[], conversation: string | undefined): PooledKey {
    let best: PooledKey | undefined
    let highest = Number.NEGATIVE_INFINITY
    for (const key of keys) {
      const chance = conversation === undefined ? this.clock.random() : hashShare(`${key.name}\0${conversation}`)
      // The chance to be the highest is in proportion to the weight (Efraimidis and Spirakis 2006).
      const score = Math.log(Math.max(chance, Number.MIN_VALUE)) / key.weight
      if (score > highest || !best) [best, highest] = [key, score]
    }
    if (!best) throw new TypeError('a pool of keys without a key')
    return best
  }
}

interface KeyOptions {
  provider: string
  settings: KeySettings
  pool: KeyPool
  number: number
}

/** One key of a pool, for one call. */
class PooledKey implements Credential {
  readonly name: string
  readonly secret: string
  readonly weight: number
  readonly grant: Grant
  private readonly provider: string
  private readonly pool: KeyPool
  private readonly parts: CredentialParts
  private readonly perMinute: number | undefined
  /** Requests that it may still begin, as of `countedAt`. */
  private room: number
  private countedAt = Number.NEGATIVE_INFINITY
  /** Monotonic milliseconds until which it is not used: after a limit, and after a refusal. */
  private restsUntil = Number.NEGATIVE_INFINITY
  private leftOutUntil = Number.NEGATIVE_INFINITY

  constructor({ provider, settings, pool, number }: KeyOptions, parts: CredentialParts) {
    this.provider = provider
    this.pool = pool
    this.parts = parts
    this.name = settings.name ?? String(number)
    this.secret = settings.key
    this.weight = settings.weight
    this.perMinute = settings.requestsPerMinute
    this.room = this.perMinute ?? 0
    this.grant = { expiresAt: undefined, secrets: [settings.key], headers: ({ keyHeader }) => keyHeader(settings.key) }
  }

  get fingerprint(): string {
    return this.pool.fingerprint
  }

  ready(): boolean {
    return true
  }

  refresh(): Promise<void> {
    return Promise.resolve()
  }

  toJSON(): string {
    return this.fingerprint
  }

  forCall(): Credential {
    return this
  }

  headers(call: CredentialedCall): readonly string[] {
    return this.grant.headers(call, 0)
  }

  isIn(text: string): boolean {
    return this.pool.isIn(text)
  }

  isUsable(now: number): boolean {
    return now >= this.restsUntil && now >= this.leftOutUntil
  }

  /** False where its own limit is reached; counted by each process for itself. */
  hasRoom(now: number): boolean {
    if (this.perMinute === undefined) return true
    this.room = Math.min(this.perMinute, this.room + ((now - this.countedAt) * this.perMinute) / MINUTE)
    this.countedAt = now
    return this.room >= 1
  }

  begin(now: number): void {
    if (this.hasRoom(now)) this.room--
  }

  /** The provider has refused the key: it is left out, and nothing else can be had for it. */
  renew(): Promise<boolean> {
    const { clock, log, metrics } = this.parts
    metrics.of(refusals).series(this.provider, this.name).add()
    // Where no key is left they are used all the same: that is no news.
    if (clock.monotonic() < this.leftOutUntil) return Promise.resolve(false)
    this.leftOutUntil = clock.monotonic() + REFUSED
    log.error({ provider: this.provider, key: this.name }, 'a key of a provider is refused and left out for ten minutes')
    return Promise.resolve(false)
  }

  /** The provider has limited the key. @param wait seconds that it states. */
  limited(wait: number | undefined): void {
    const ms = wait === undefined ? LIMITED.usual : Math.min(wait * 1000, LIMITED.longest)
    this.restsUntil = Math.max(this.restsUntil, this.parts.clock.monotonic() + ms)
  }
}

/** An even share of 0 to 1 for a text, the same in every process. */
function hashShare(text: string): number {
  return createHash('sha1').update(text).digest().readUInt32BE(0) / 2 ** 32
}

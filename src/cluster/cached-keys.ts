/**
 * Keys of the store of record, kept at hand: found at once, and dropped when the record reports that they have changed. Unknown ones are
 * looked up in batches.
 */

import { LRUCache } from 'lru-cache'
import type { Origin } from '../core/audit-entries.ts'
import type { Clock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import type { KeyRecord, KeyStore, StoredKey } from '../store/keys.ts'
import { hashesBy } from '../store/rotated-keys.ts'
import { unreachable, within } from './record-calls.ts'

interface Entry {
  readonly key: StoredKey
  /** Monotonic milliseconds from which on it is looked up again, beside its use. */
  renewAt: number
  /** The same while no changes of keys are reported. */
  renewSilentAt: number
}

const MAX_FOUND = 20_000
const MAX_UNKNOWN = 4_096
/** Milliseconds: a key is looked up again after this much, or sooner where that failed; an unknown one counts as such. */
const RENEW_AFTER = 60_000
const RENEW_FAILED = 5_000
/** While pulses fail, only look-ups, which have connections of their own, show changes of keys. */
const RENEW_SILENT = 2_000
/** An unknown key that another process makes meanwhile must work within a second, so this counts while changes of keys are reported. */
const UNKNOWN_FOR = 10_000
const MAX_SILENCE_MS = 1_000
/** Milliseconds after which a look-up counts as failed. */
const MAX_LOOK_MS = 2_000

const ignore = (): void => {}

export class CachedKeys implements KeyStore {
  private readonly remote: KeyStore
  private readonly clock: Pick<Clock, 'monotonic' | 'after'>
  /** Made with the first key: it takes room for all of them at once. */
  private found: LRUCache<string, Entry> | undefined
  /** Until when a hash counts as unknown, monotonic milliseconds. The oldest are dropped where there are too many. */
  private readonly unknown = new Map<string, number>()
  private readonly looking = new Map<string, Promise<StoredKey | undefined>>()
  private readonly lookUps: KeyLookUps
  /** Monotonic time at which the record last reported which keys have changed. */
  private confirmedAt: number

  constructor(remote: KeyStore, clock: Pick<Clock, 'monotonic' | 'after'>) {
    this.remote = remote
    this.clock = clock
    this.lookUps = new KeyLookUps(remote)
    this.confirmedAt = clock.monotonic()
  }

  /**
   * @param isSuspect true where the caller has sent many tokens of no key: such look-ups come after all others.
   * @throws Fault `unavailable` for a key that is not at hand while the record cannot be reached, `rate_limited` for a
   *   suspect's where too many of these wait.
   */
  find(hash: string, isSuspect = false): StoredKey | undefined | Promise<StoredKey | undefined> {
    return this.atHand(hash) ?? (this.isUnknown(hash) ? undefined : this.look(hash, isSuspect))
  }

  /** The key if it is at hand; does not call the record otherwise. */
  atHand(hash: string): StoredKey | undefined {
    const entry = this.found?.get(hash)
    if (!entry) return undefined
    const now = this.clock.monotonic()
    if (now >= (now < this.confirmedAt + RENEW_SILENT ? entry.renewAt : entry.renewSilentAt)) {
      entry.renewAt = now + RENEW_FAILED
      entry.renewSilentAt = entry.renewAt
      this.look(hash).catch(ignore)
    }
    return entry.key
  }

  put(key: KeyRecord, by?: Origin): StoredKey | Promise<StoredKey> {
    return this.through([key.hash], () => this.remote.put(key, by))
  }

  add(key: KeyRecord, by?: Origin): StoredKey | Promise<StoredKey> {
    return this.through([key.hash], () => this.remote.add(key, by))
  }

  change(hash: string, how: (key: StoredKey) => KeyRecord, by?: Origin): StoredKey | undefined | Promise<StoredKey | undefined> {
    const hashes = [hash]
    const noted = (key: StoredKey): KeyRecord => {
      const next = how(key)
      hashes.push(...hashesBy(key, next))
      return next
    }
    return this.through(hashes, () => this.remote.change(hash, noted, by))
  }

  remove(hash: string, by?: Origin): boolean | Promise<boolean> {
    return this.through([hash], () => this.remote.remove(hash, by))
  }

  list(): StoredKey[] | Promise<StoredKey[]> {
    return this.remote.list()
  }

  issuedBy(by: string, now: number): StoredKey[] | Promise<StoredKey[]> {
    return this.remote.issuedBy(by, now)
  }

  listAfter(hash: string, most: number): StoredKey[] | Promise<StoredKey[]> {
    return this.remote.listAfter(hash, most)
  }

  /** The record has reported which keys have changed. @param silence milliseconds since then. */
  confirm(silence = 0): void {
    this.confirmedAt = this.clock.monotonic() - silence
  }

  /** They have changed, or may have. @param hashes undefined for all. */
  drop(hashes: readonly string[] | undefined): void {
    if (!hashes) {
      this.found?.clear()
      this.unknown.clear()
      this.looking.clear()
      return
    }
    for (const hash of hashes) {
      // The secret that a rotation replaced goes with its key.
      for (const each of hashesBy(this.found?.peek(hash)?.key)) this.found?.delete(each)
      this.found?.delete(hash)
      this.unknown.delete(hash)
      // A look-up under way may have read the key before the change: its caller gets the result, the cache does not keep it.
      this.looking.delete(hash)
    }
  }

  private isUnknown(hash: string): boolean {
    const until = this.unknown.get(hash)
    if (until === undefined) return false
    const now = this.clock.monotonic()
    return now < until && now < this.confirmedAt + MAX_SILENCE_MS
  }

  /** One look-up at a time for each hash. */
  private look(hash: string, isSuspect = false): Promise<StoredKey | undefined> {
    const under = this.looking.get(hash)
    if (under) return under
    const looked: Promise<StoredKey | undefined> = within(this.clock, MAX_LOOK_MS, this.lookUps.find(hash, isSuspect)).then(
      (key) => {
        if (this.looking.get(hash) === looked) {
          this.looking.delete(hash)
          this.keep(hash, key)
        }
        return key
      },
      (thrown: unknown) => {
        if (this.looking.get(hash) === looked) this.looking.delete(hash)
        throw thrown instanceof Fault && thrown.code === 'rate_limited' ? thrown : unreachable(thrown)
      },
    )
    this.looking.set(hash, looked)
    return looked
  }

  private keep(hash: string, key: StoredKey | undefined): void {
    const now = this.clock.monotonic()
    if (key) {
      this.unknown.delete(hash)
      this.found ??= new LRUCache({ max: MAX_FOUND })
      this.found.set(hash, { key, renewAt: now + RENEW_AFTER, renewSilentAt: now + RENEW_SILENT })
    } else {
      this.found?.delete(hash)
      this.unknown.delete(hash)
      this.unknown.set(hash, now + UNKNOWN_FOR)
      for (const oldest of this.unknown.keys()) {
        if (this.unknown.size <= MAX_UNKNOWN) break
        this.unknown.delete(oldest)
      }
    }
  }

  private through<T>(hashes: readonly string[], write: () => T | Promise<T>): T | Promise<T> {
    const forget = (): void => this.drop(hashes)
    let written: T | Promise<T> | undefined
    try {
      written = write()
    } finally {
      forget()
    }
    return written instanceof Promise ? written.finally(forget) : written
  }
}

interface Waiting {
  readonly hash: string
  readonly resolve: (key: StoredKey | undefined) => void
  readonly reject: (thrown: unknown) => void
}

/** Hashes of one round trip, and round trips at once: the second one serves while the first one stalls. */
const MAX_IN_BATCH = 256
const MAX_BATCHES = 2
/** Look-ups that wait at once; beyond them a caller is refused. */
const MAX_WAITING = 4_096
const MAX_SUSPECTS = 1_024
/** Seconds. */
const RETRY_AFTER = 1

/** Look-ups of keys in batches: a few round trips answer any number of unknown tokens. */
export class KeyLookUps {
  private readonly keys: KeyStore
  private readonly waiting: Waiting[] = []
  /** Of callers who have sent many tokens of no key: they fill what is left of a batch. */
  private readonly suspects: Waiting[] = []
  private batches = 0

  constructor(keys: KeyStore) {
    this.keys = keys
  }

  /** @throws Fault `unavailable` or, for a suspect, `rate_limited` where too many wait; and whatever the store throws. */
  find(hash: string, isSuspect: boolean): Promise<StoredKey | undefined> {
    if (!this.keys.findMany) return this.one(hash)
    const queue = isSuspect ? this.suspects : this.waiting
    if (queue.length >= (isSuspect ? MAX_SUSPECTS : MAX_WAITING)) return Promise.reject(refusal(isSuspect))
    return new Promise((resolve, reject) => {
      queue.push({ hash, resolve, reject })
      void this.next()
    })
  }

  private async one(hash: string): Promise<StoredKey | undefined> {
    return this.keys.find(hash)
  }

  private async next(): Promise<void> {
    if (this.batches === MAX_BATCHES) return
    const batch = this.waiting.splice(0, MAX_IN_BATCH)
    batch.push(...this.suspects.splice(0, MAX_IN_BATCH - batch.length))
    if (batch.length === 0) return
    this.batches++
    try {
      const found = new Map((await this.ask(batch.map(({ hash }) => hash))).map((key) => [key.shown ?? key.hash, key]))
      for (const { hash, resolve } of batch) resolve(found.get(hash))
    } catch (thrown) {
      for (const { reject } of batch) reject(thrown)
    } finally {
      this.batches--
      void this.next()
    }
  }

  private async ask(hashes: readonly string[]): Promise<readonly StoredKey[]> {
    return (await this.keys.findMany?.(hashes)) ?? []
  }
}

function refusal(isSuspect: boolean): Fault {
  const cause = new Error('too many look-ups of keys wait')
  return isSuspect
    ? new Fault('rate_limited', { message: 'Too many keys that cannot be used', retryAfter: RETRY_AFTER })
    : unreachable(cause)
}

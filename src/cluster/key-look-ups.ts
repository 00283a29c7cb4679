/** Look-ups of keys in batches: a few round trips answer any number of unknown tokens. */
import { Fault } from '../core/faults.ts'
import type { KeyStore, StoredKey } from '../store/keys.ts'
import { unreachable } from './bounded.ts'

interface Waiting {
  readonly hash: string
  readonly resolve: (key: StoredKey | undefined) => void
  readonly reject: (thrown: unknown) => void
}

/** Hashes of one round trip, and round trips at once: the second one serves while the first one stalls. */
const MOST_IN_BATCH = 256
const MOST_BATCHES = 2
/** Look-ups that wait at once; beyond them a caller is refused. */
const MOST_WAITING = 4_096
const MOST_SUSPECTS = 1_024
/** Seconds. */
const RETRY_AFTER = 1

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
    if (queue.length >= (isSuspect ? MOST_SUSPECTS : MOST_WAITING)) return Promise.reject(refusal(isSuspect))
    return new Promise((resolve, reject) => {
      queue.push({ hash, resolve, reject })
      void this.next()
    })
  }

  private async one(hash: string): Promise<StoredKey | undefined> {
    return this.keys.find(hash)
  }

  private async next(): Promise<void> {
    if (this.batches === MOST_BATCHES) return
    const batch = this.waiting.splice(0, MOST_IN_BATCH)
    batch.push(...this.suspects.splice(0, MOST_IN_BATCH - batch.length))
    if (batch.length === 0) return
    this.batches++
    try {
      const found = new Map((await this.ask(batch.map(({ hash }) => hash))).map((key) => [key.hash, key]))
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

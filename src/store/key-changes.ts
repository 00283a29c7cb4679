/** Changes of keys, numbered, so that processes that cache keys can ask what is new to them. */
import type { Origin } from '../core/audit-entries.ts'
import type { KeyRecord, KeyStore, StoredKey } from './keys.ts'
import { hashesBy } from './rotated-keys.ts'

/** Changes that are remembered; a process that is behind by more forgets all that it has cached. */
const MAX_CHANGES = 1024

export class KeyChanges {
  private readonly hashes: string[] = []
  /** Number of the latest change. */
  private last = 0
  private readonly epoch: string

  /** @param epoch distinguishes the numbers of this life from those of another. */
  constructor(epoch: string) {
    this.epoch = epoch
  }

  note(hash: string): void {
    this.last++
    this.hashes.push(hash)
    if (this.hashes.length > MAX_CHANGES) this.hashes.shift()
  }

  /** @returns the cursor of now, and the hashes changed since the one given; undefined where these are unknown. */
  since(cursor: string | undefined): { cursor: string; changed: string[] | undefined } {
    const [epoch, number] = cursor?.split('.') ?? []
    const behind = epoch === this.epoch ? this.last - Number(number) : Number.NaN
    const known = behind >= 0 && behind <= this.hashes.length
    const changed = known ? [...new Set(this.hashes.slice(this.hashes.length - behind))] : undefined
    return { cursor: `${this.epoch}.${this.last}`, changed }
  }
}

/** A store of keys that reports its changes, failed ones too: a failed write may have changed something. */
export class WatchedKeys implements KeyStore {
  private readonly keys: KeyStore
  private readonly changed: (hash: string) => void

  constructor(keys: KeyStore, changed: (hash: string) => void) {
    this.keys = keys
    this.changed = changed
  }

  find(hash: string): StoredKey | undefined | Promise<StoredKey | undefined> {
    return this.keys.find(hash)
  }

  async findMany(hashes: readonly string[]): Promise<StoredKey[]> {
    if (this.keys.findMany) return this.keys.findMany(hashes)
    const found = await Promise.all(hashes.map((hash) => this.keys.find(hash)))
    return found.filter((key) => key !== undefined)
  }

  list(): StoredKey[] | Promise<StoredKey[]> {
    return this.keys.list()
  }

  issuedBy(by: string, now: number): StoredKey[] | Promise<StoredKey[]> {
    return this.keys.issuedBy(by, now)
  }

  listAfter(hash: string, most: number): StoredKey[] | Promise<StoredKey[]> {
    return this.keys.listAfter(hash, most)
  }

  put(key: KeyRecord, by?: Origin): StoredKey | Promise<StoredKey> {
    return this.writeAndReport([key.hash], () => this.keys.put(key, by))
  }

  add(key: KeyRecord, by?: Origin): StoredKey | Promise<StoredKey> {
    return this.writeAndReport([key.hash], () => this.keys.add(key, by))
  }

  change(hash: string, how: (key: StoredKey) => KeyRecord, by?: Origin): StoredKey | undefined | Promise<StoredKey | undefined> {
    const hashes = [hash]
    const noted = (key: StoredKey): KeyRecord => {
      const next = how(key)
      hashes.push(...hashesBy(key, next))
      return next
    }
    return this.writeAndReport(hashes, () => this.keys.change(hash, noted, by))
  }

  async remove(hash: string, by?: Origin): Promise<boolean> {
    const key = await this.keys.find(hash)
    return this.writeAndReport([hash, ...hashesBy(key)], () => this.keys.remove(hash, by))
  }

  private writeAndReport<T>(hashes: readonly string[], write: () => T | Promise<T>): T | Promise<T> {
    const report = (): void => new Set(hashes).forEach(this.changed)
    const done = (written: T): T => {
      if (written) report()
      return written
    }
    const failed = (thrown: unknown): never => {
      report()
      throw thrown
    }
    try {
      const written = write()
      return written instanceof Promise ? written.then(done, failed) : done(written)
    } catch (thrown) {
      return failed(thrown)
    }
  }
}

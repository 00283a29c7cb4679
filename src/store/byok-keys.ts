/** Keys of providers that teams have brought (docs/byok.md), at rest: each is encrypted before it comes here, and is only read as it stands. */
import type { Origin } from '../core/audit-entries.ts'
import type { Attributed } from './audit-log.ts'

/** Terms of a key; null: no restriction. */
export interface ByokTerms {
  readonly name: string | null
  /** Masked: the first and last few characters of the key. */
  readonly label: string
  /** Tried after the operator's own account instead of before it. */
  readonly isFallback: boolean
  readonly disabled: boolean
  readonly allowedModels: readonly string[] | null
  readonly allowedUsers: readonly string[] | null
  /** Hashes of keys of the gateway. */
  readonly allowedKeys: readonly string[] | null
}

export interface StoredByokKey {
  readonly id: string
  /** 1 when it is made, one more with every change. */
  readonly version: number
  /** Slug of the provider that it is for. */
  readonly provider: string
  /** The key, encrypted (`src/services/byok/key-encryption.ts`). */
  readonly encrypted: string
  readonly terms: ByokTerms
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  /** Null before the first change. */
  readonly updatedAt: number | null
}

type Maybe<T> = T | Promise<T>

/**
 * Every change is durable when it returns, and is one step with its entry in the audit log, which names who has made it: by default the
 * gateway itself. All of it may throw Fault `unavailable`.
 */
export interface ByokKeyStore {
  /** All, the oldest first. */
  all(): Maybe<StoredByokKey[]>
  /**
   * Writes a key where the one of its id still has the version `seen`; 0: where there is none.
   * @returns false where another change came first.
   */
  put(key: StoredByokKey, seen: number, by?: Origin): Maybe<boolean>
  /** Writes the same key as encrypted in another way. @returns false where it is not `from`. */
  rewrap(id: string, from: string, to: string, by?: Origin): Maybe<boolean>
  /** @returns false where there is none. */
  remove(id: string, by?: Origin): Maybe<boolean>
}

/** The same for operations, which state who makes each change. */
export type AttributedByokKeys = Attributed<ByokKeyStore, 'put' | 'rewrap' | 'remove'>

/** Entry among the changed keys that processes receive. No hash of a key has this form. */
export const BYOK_KEYS_CHANGED = 'byok'

/** A store of these keys that reports its changes, failed ones too: a failed write may have changed something. */
export class WatchedByokKeys implements ByokKeyStore {
  private readonly inner: ByokKeyStore
  private readonly changed: () => void

  constructor(inner: ByokKeyStore, changed: () => void) {
    this.inner = inner
    this.changed = changed
  }

  all(): Maybe<StoredByokKey[]> {
    return this.inner.all()
  }

  put(key: StoredByokKey, seen: number, by?: Origin): Promise<boolean> {
    return this.writeAndReport(() => this.inner.put(key, seen, by))
  }

  rewrap(id: string, from: string, to: string, by?: Origin): Promise<boolean> {
    return this.writeAndReport(() => this.inner.rewrap(id, from, to, by))
  }

  remove(id: string, by?: Origin): Promise<boolean> {
    return this.writeAndReport(() => this.inner.remove(id, by))
  }

  private async writeAndReport<T>(write: () => Maybe<T>): Promise<T> {
    try {
      return await write()
    } finally {
      this.changed()
    }
  }
}

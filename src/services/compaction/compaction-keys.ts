/**
 * The keys of compaction items on their way to and from the store: where the operator gave a key, they stand in the store encrypted
 * with it (AES-256-GCM, NIST SP 800-38D), so that neither the store nor a backup of it opens an item.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { Origin } from '../../core/audit-entries.ts'
import { Fault } from '../../core/faults.ts'

/** A key as it stands in the store. */
interface StoredKey {
  readonly number: number
  readonly value: string
  /** Milliseconds since the epoch. */
  readonly createdAt: number
}

type Maybe<T> = T | Promise<T>

/** All of it may throw Fault `unavailable`. */
export interface StoredCompactionKeys {
  all(now: number, first: string): Maybe<readonly StoredKey[]>
  add(now: number, value: string, by?: Origin): Maybe<StoredKey>
  rewrite(number: number, from: string, to: string): Maybe<boolean>
  remove(number: number, by?: Origin): Maybe<boolean>
}

/** Key that the operator gave. */
export interface OperatorKeys {
  /** Encrypts; absent: keys stand in the store as they are. */
  readonly key?: string | undefined
  /** Decrypt what former ones of it have encrypted. */
  readonly formerKeys: readonly string[]
}

export interface CompactionKey {
  /** Items name it. The highest one encrypts, all of them decrypt. */
  readonly number: number
  /** 32 bytes, base64url. */
  readonly value: string
  readonly createdAt: number
}

const CIPHER = 'aes-256-gcm'
/** Bytes. */
const KEY = 32
const NONCE = 12
const TAG = 16
/** Before nonce, tag and encrypted key in base64url. No plain value has a period. */
const MARK = 'hgk1.'
const BOUND_TO = Buffer.from('headgate compaction key 1')

export class CompactionKeys {
  private readonly store: StoredCompactionKeys
  private readonly current: Buffer | undefined
  /** All that may decrypt, the current one first. */
  private readonly wrapping: readonly Buffer[]

  constructor(store: StoredCompactionKeys, { key, formerKeys }: OperatorKeys) {
    this.store = store
    this.current = key === undefined ? undefined : derived(key)
    this.wrapping = [...(this.current ? [this.current] : []), ...formerKeys.map(derived)]
  }

  /**
   * All keys, the oldest first. Those that stand in the store otherwise than the operator wants are written anew.
   * @param now milliseconds since the epoch. @throws Fault `unavailable`, also where a key was encrypted with one that was not given.
   */
  async all(now: number): Promise<CompactionKey[]> {
    const found = await this.store.all(now, this.fresh())
    const keys = found.map((key) => ({ ...this.opened(key), stored: key.value }))
    for (const { number, stored, value, isCurrent } of keys)
      if (!isCurrent && this.current) await this.store.rewrite(number, stored, encrypted(value, this.current))
    return keys.map(({ number, value, createdAt }) => ({ number, value, createdAt }))
  }

  /** Makes the next key. */
  async add(now: number, by: Origin): Promise<void> {
    await this.store.add(now, this.fresh(), by)
  }

  /** @returns false where no key has this number, or the newest one has it. */
  async remove(number: number, by: Origin): Promise<boolean> {
    return this.store.remove(number, by)
  }

  private fresh(): string {
    const value = randomBytes(KEY).toString('base64url')
    return this.current ? encrypted(value, this.current) : value
  }

  private opened({ number, value, createdAt }: StoredKey): CompactionKey & { isCurrent: boolean } {
    if (!value.startsWith(MARK)) return { number, value, createdAt, isCurrent: false }
    for (const key of this.wrapping) {
      const plain = decrypted(value, key)
      if (plain !== undefined) return { number, value: plain, createdAt, isCurrent: key === this.current }
    }
    throw new Fault('unavailable', {
      message: `Compaction key ${number} is encrypted in the store with a key that is neither compaction.key nor in compaction.former_keys`,
    })
  }
}

/** The operator's text is random, so nothing needs to make guesses dear. */
function derived(text: string): Buffer {
  return Buffer.from(hkdfSync('sha256', text, '', 'headgate compaction keys', KEY))
}

function encrypted(value: string, key: Buffer): string {
  const nonce = randomBytes(NONCE)
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG })
  cipher.setAAD(BOUND_TO)
  const content = [cipher.update(value, 'base64url'), cipher.final()]
  return MARK + Buffer.concat([nonce, cipher.getAuthTag(), ...content]).toString('base64url')
}

/** Undefined where another key encrypted it. */
function decrypted(stored: string, key: Buffer): string | undefined {
  const bytes = Buffer.from(stored.slice(MARK.length), 'base64url')
  if (bytes.length !== NONCE + TAG + KEY) return undefined
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE), { authTagLength: TAG })
  decipher.setAAD(BOUND_TO)
  decipher.setAuthTag(bytes.subarray(NONCE, NONCE + TAG))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(NONCE + TAG)), decipher.final()]).toString('base64url')
  } catch {
    return undefined
  }
}

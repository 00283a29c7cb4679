/**
 * Summaries of conversations as texts that only this gateway can read, bound to the API key that they were made for: AES-256-GCM
 * (NIST SP 800-38D), with keys of the store of record that all processes share.
 */
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'

/** A key as the store keeps it: 32 bytes as base64url, and its number. */
interface StoredKey {
  readonly number: number
  readonly value: string
}

export interface EncryptedTextsOptions {
  /** All keys, the newest last. */
  load: (now: number) => readonly StoredKey[] | Promise<readonly StoredKey[]>
  clock: Pick<Clock, 'now' | 'monotonic' | 'after'>
}

/** Why a text cannot be decrypted. One of another key and one that was changed look the same: the tag fails. */
export type Unopened = 'version' | 'key' | 'tag'

/** `hgc`, the version, the number of the key, and base64url of nonce, tag and encrypted text. */
const MARK = /^hgc([1-9]\d{0,5})\./
const FORM = /^hgc\d+\.([1-9]\d{0,14})\.([\w-]+)$/
const VERSION = 1
const CIPHER = 'aes-256-gcm'
/** Bytes. The nonce is random, so one key encrypts at most 2^32 texts (SP 800-38D section 8.3): 136 years of one each second. */
const NONCE = 12
const TAG = 16
/** Letters of a signature. */
const SIGNATURE = 22

/** Milliseconds for which the keys are not read again: in this time every process knows of a new key, and of one that was removed. */
export const KEYS_FRESH = 60_000
/** Milliseconds between two reads for numbers beyond the newest key, which a caller may invent. */
const READ_PAUSE = 1_000

export class EncryptedTexts {
  private readonly options: EncryptedTextsOptions
  private keys = new Map<number, KeyObject>()
  private newest = 0
  /** Monotonic milliseconds of the last read. */
  private readAt = Number.NEGATIVE_INFINITY
  private reading: Promise<void> | undefined
  /** The read for numbers beyond the newest key, which begins once the last one is old enough. */
  private next: Promise<void> | undefined

  constructor(options: EncryptedTextsOptions) {
    this.options = options
  }

  /** True for what a gateway of this program encrypted, in whatever version. */
  isOwn(text: string): boolean {
    return MARK.test(text)
  }

  /**
   * Sees to it that the keys are known and fresh. Where the store does not answer, those that are known serve on.
   * @param texts that are to be decrypted: their keys are looked for. @throws Fault `unavailable` where no key is known.
   */
  async prepare(texts: readonly string[] = []): Promise<void> {
    try {
      if (this.options.clock.monotonic() - this.readAt >= KEYS_FRESH) {
        this.reading ??= this.read()
        await this.reading
      }
      // Another process may have made a key since.
      if (texts.some((text) => textNumber(text) > this.newest)) {
        this.next ??= this.readNext()
        await this.next
      }
    } catch (thrown) {
      if (this.newest === 0) throw thrown
      this.readAt = this.options.clock.monotonic() - KEYS_FRESH + READ_PAUSE
    }
  }

  /** With the newest key. Call `prepare` first. @param owner identity of the API key. */
  encrypt(text: string, owner: string): string {
    const key = this.keys.get(this.newest)
    if (!key) throw new TypeError('no key is known')
    const nonce = randomBytes(NONCE)
    const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG })
    cipher.setAAD(boundTo(VERSION, this.newest, owner))
    const content = [cipher.update(text, 'utf8'), cipher.final()]
    return `hgc${VERSION}.${this.newest}.${Buffer.concat([nonce, cipher.getAuthTag(), ...content]).toString('base64url')}`
  }

  /** Call `prepare` with the text first. @param owner identity of the API key that sends it. */
  decrypt(encrypted: string, owner: string): { text: string } | { unopened: Unopened } {
    if (!encrypted.startsWith(`hgc${VERSION}.`)) return { unopened: 'version' }
    const [, number, content] = FORM.exec(encrypted) ?? []
    if (number === undefined || content === undefined) return { unopened: 'tag' }
    const key = this.keys.get(Number(number))
    if (!key) return { unopened: 'key' }
    const bytes = Buffer.from(content, 'base64url')
    // The last letter may have bits that stand for no byte.
    if (bytes.length < NONCE + TAG || bytes.toString('base64url') !== content) return { unopened: 'tag' }
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE), { authTagLength: TAG })
    decipher.setAAD(boundTo(VERSION, Number(number), owner))
    decipher.setAuthTag(bytes.subarray(NONCE, NONCE + TAG))
    try {
      return { text: Buffer.concat([decipher.update(bytes.subarray(NONCE + TAG)), decipher.final()]).toString('utf8') }
    } catch {
      return { unopened: 'tag' }
    }
  }

  /**
   * Signs an id for its owner, always alike: HMAC-SHA-256 (RFC 2104), cut to 132 bits, by a key of its own that the newest key gives. Call
   * `prepare` first. @param owner identity of the API key.
   */
  sign(text: string, owner: string): { key: number; signature: string } {
    const signature = this.signature(text, owner, this.newest)
    if (signature === undefined) throw new TypeError('no key is known')
    return { key: this.newest, signature }
  }

  /** Call `prepareNumbers` first. */
  isSigned(text: string, owner: string, { key, signature }: { key: number; signature: string }): boolean {
    const expected = this.signature(text, owner, key)
    return expected !== undefined && timingSafeEqual(Buffer.from(expected), Buffer.from(signature))
  }

  /** As `prepare`, for signatures by these keys. */
  prepareNumbers(numbers: readonly number[]): Promise<void> {
    return this.prepare(numbers.map((number) => `hgc${VERSION}.${number}.0`))
  }

  private signature(text: string, owner: string, number: number): string | undefined {
    const key = this.keys.get(number)
    if (!key) return undefined
    const own = createHmac('sha256', key).update('headgate ids').digest()
    return createHmac('sha256', own)
      .update(JSON.stringify([owner, text]))
      .digest('base64url')
      .slice(0, SIGNATURE)
  }

  private async readNext(): Promise<void> {
    const { clock } = this.options
    try {
      const wait = this.readAt + READ_PAUSE - clock.monotonic()
      if (wait > 0) await new Promise<void>((resolve) => void clock.after(wait, resolve))
    } finally {
      // Those that come from here on may name a key that is made while this one reads.
      this.next = undefined
    }
    await this.read()
  }

  private async read(): Promise<void> {
    const { load, clock } = this.options
    try {
      const keys = await load(clock.now())
      this.keys = new Map(keys.map(({ number, value }) => [number, createSecretKey(Buffer.from(value, 'base64url'))]))
      this.newest = keys.at(-1)?.number ?? 0
      this.readAt = clock.monotonic()
    } finally {
      this.reading = undefined
    }
  }
}

function textNumber(encrypted: string): number {
  return Number(FORM.exec(encrypted)?.[1] ?? 0)
}

/** Data that the tag covers beside the text. */
function boundTo(version: number, key: number, owner: string): Buffer {
  return Buffer.from(JSON.stringify(['headgate compaction', version, key, owner]))
}

/**
 * Envelope encryption of keys of providers (docs/decisions/0095-keys-that-teams-bring.md): each has a data key of its own (AES-256-GCM, NIST
 * SP 800-38D), which is wrapped by the operator's key. Both texts are bound to the entry and its provider, so that neither opens elsewhere.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { badField } from '../../core/faults.ts'

/** An entry that a key belongs to. */
export interface KeyOwner {
  readonly id: string
  /** Slug. */
  readonly provider: string
}

const CIPHER = 'aes-256-gcm'
/** Bytes. */
const KEY = 32
const NONCE = 12
const TAG = 16
/** Before the id of the operator's key, the wrapped data key and the encrypted key, with periods between. */
const MARK = 'hgb1'

interface OperatorKey {
  /** Says which of several keys has wrapped a data key, and nothing else. */
  readonly id: string
  readonly key: Buffer
}

export class KeyEncryption {
  /** The first one wraps. */
  private readonly keys: readonly OperatorKey[]

  /** @param keys 32 bytes each, base64. @throws Fault 400 naming the setting. */
  constructor(keys: readonly string[]) {
    this.keys = keys.map((text, at) => {
      const key = Buffer.from(text, 'base64')
      if (key.length !== KEY)
        throw badField(`byok.encryption_keys[${at}]`, 'expected 32 random bytes in base64, such as those of openssl rand -base64 32')
      return { id: createHash('sha256').update('headgate byok ').update(key).digest('hex').slice(0, 8), key }
    })
  }

  /** False where the operator has given no key. */
  get isReady(): boolean {
    return this.keys.length > 0
  }

  /** @throws Fault 400 naming the setting where there is no key to encrypt with. */
  encrypt(secret: string, owner: KeyOwner): string {
    const dataKey = randomBytes(KEY)
    return this.wrapped(dataKey, encrypted(Buffer.from(secret, 'utf8'), dataKey, boundTo('key', owner)), owner)
  }

  /** @returns undefined where no key of the operator's opens it, or where it was changed. */
  decrypt(text: string, owner: KeyOwner): string | undefined {
    const found = this.open(text, owner)
    return found ? decrypted(found.content, found.dataKey, boundTo('key', owner))?.toString('utf8') : undefined
  }

  /** True where the operator's first key has wrapped it. */
  isCurrent(text: string): boolean {
    return parts(text)?.id === this.keys[0]?.id
  }

  /** The same key, wrapped with the operator's first key. @returns undefined where none of them opens it. */
  rewrap(text: string, owner: KeyOwner): string | undefined {
    const found = this.open(text, owner)
    return found ? this.wrapped(found.dataKey, found.content, owner) : undefined
  }

  private wrapped(dataKey: Buffer, content: Buffer, owner: KeyOwner): string {
    const [first] = this.keys
    if (!first) throw badField('byok.encryption_keys', 'is not configured: set it to store keys of providers')
    const wrapped = encrypted(dataKey, first.key, boundTo('data key', owner))
    return [MARK, first.id, wrapped.toString('base64url'), content.toString('base64url')].join('.')
  }

  private open(text: string, owner: KeyOwner): { dataKey: Buffer; content: Buffer } | undefined {
    const found = parts(text)
    if (!found) return undefined
    const operators = this.keys.find(({ id }) => id === found.id)
    const dataKey = operators && decrypted(found.wrapped, operators.key, boundTo('data key', owner))
    return dataKey?.length === KEY ? { dataKey, content: found.content } : undefined
  }
}

function parts(text: string): { id: string; wrapped: Buffer; content: Buffer } | undefined {
  const [mark, id, wrapped, content, ...rest] = text.split('.')
  if (mark !== MARK || id === undefined || wrapped === undefined || content === undefined || rest.length > 0) return undefined
  return { id, wrapped: Buffer.from(wrapped, 'base64url'), content: Buffer.from(content, 'base64url') }
}

const boundTo = (what: string, { id, provider }: KeyOwner): Buffer => Buffer.from(['headgate byok', what, '1', id, provider].join('\0'))

/** Nonce, tag and text. A data key encrypts once, and a key of the operator's far fewer than the 2^32 texts that random nonces are enough for. */
function encrypted(plain: Buffer, key: Buffer, bound: Buffer): Buffer {
  const nonce = randomBytes(NONCE)
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG })
  cipher.setAAD(bound)
  const content = [cipher.update(plain), cipher.final()]
  return Buffer.concat([nonce, cipher.getAuthTag(), ...content])
}

function decrypted(bytes: Buffer, key: Buffer, bound: Buffer): Buffer | undefined {
  if (bytes.length < NONCE + TAG) return undefined
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE), { authTagLength: TAG })
  decipher.setAAD(bound)
  decipher.setAuthTag(bytes.subarray(NONCE, NONCE + TAG))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(NONCE + TAG)), decipher.final()])
  } catch {
    return undefined
  }
}

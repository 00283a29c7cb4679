/** Secrets of API keys: made, hashed, and masked for people. */
import { createHash, randomBytes } from 'node:crypto'

/** SHA-256 of a secret, hex. */
export function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}

/** First and last few characters; less of a short secret, which has at least 8. */
export function maskOf(secret: string): string {
  const shown = Math.min(4, Math.floor(secret.length / 4))
  return `${secret.slice(0, shown)}...${secret.slice(-shown)}`
}

/** 256 random bits are beyond guessing, so their plain SHA-256 can be kept. */
const SECRET_BYTES = 32

export interface MadeSecret {
  /** `sk-<brand>-v1-` and 64 hex digits. */
  readonly secret: string
  readonly hash: string
  /** Masked: the prefix with the first three digits, and the last four. */
  readonly label: string
}

/** @param brand the word of the white label. */
export function makeSecret(brand: string): MadeSecret {
  const prefix = `sk-${brand}-v1-`
  const secret = `${prefix}${randomBytes(SECRET_BYTES).toString('hex')}`
  return { secret, hash: hashOf(secret), label: `${secret.slice(0, prefix.length + 3)}...${secret.slice(-4)}` }
}

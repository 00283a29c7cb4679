/** Secrets of API keys: made, hashed, and masked for people. */
import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** SHA-256 of a secret, hex. */
export function secretHash(secret: string): string {
  return hash('sha256', secret)
}

/** First and last few characters; less of a short secret, which has at least 8. */
export function maskSecret(secret: string): string {
  const shown = Math.min(4, Math.floor(secret.length / 4))
  return `${secret.slice(0, shown)}...${secret.slice(-shown)}`
}

/** 224 random bits are beyond guessing, so their plain SHA-256 can be kept. */
const RANDOM_BYTES = 28
/** Separator of the brand and the digits in a secret with a checksum; secrets of `v1` have none. */
const FORM = '-v2-'
const CHECKED = new RegExp(`^sk-[a-z][a-z0-9]{0,31}${FORM}`)
/** Hex digits of a CRC-32. */
const CHECKSUM = 8

export interface MadeSecret {
  /** `sk-<brand>-v2-`, 56 random hex digits, and the CRC-32 of all that as 8 hex digits. */
  readonly secret: string
  readonly hash: string
  /** Masked: the prefix with the first three digits, and the last four. */
  readonly label: string
}

/** @param brand the word of the white label. */
export function makeSecret(brand: string): MadeSecret {
  const prefix = `sk-${brand}${FORM}`
  const body = `${prefix}${randomBytes(RANDOM_BYTES).toString('hex')}`
  const secret = `${body}${textChecksum(body)}`
  return { secret, hash: secretHash(secret), label: `${secret.slice(0, prefix.length + 3)}...${secret.slice(-4)}` }
}

/** True for a token of the form with a checksum whose checksum is wrong: no key has it, so it needs no look-up. */
export function hasWrongChecksum(token: string): boolean {
  return CHECKED.test(token) && textChecksum(token.slice(0, -CHECKSUM)) !== token.slice(-CHECKSUM)
}

function textChecksum(text: string): string {
  return crc32(text).toString(16).padStart(CHECKSUM, '0')
}

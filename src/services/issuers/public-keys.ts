/**
 * Keys of an issuer that can verify a signature. Others must not stand in the set that tokens are verified with: one that is broken would
 * take the place of a good one with the same `kid`, and tokens without `kid` would meet it first.
 */
import { createPublicKey, type JsonWebKeyInput } from 'node:crypto'
import type { JsonObject } from '../../core/json.ts'

/** RFC 7518, 3.3: keys of RSA have 2,048 bits or more. OpenSSL 3 takes up to 16,384. */
const MIN_RSA_BITS = 2_048
const MAX_RSA_BITS = 16_384

/** Kinds of keys with a public half (RFC 7518, 6.1; RFC 8037, 2). */
const KINDS: ReadonlySet<unknown> = new Set(['RSA', 'EC', 'OKP'])
/** Kind of ML-DSA, which names its algorithm; the library reads its key. */
const LATTICE_KIND = 'AKP'

/** True for a public key that has the form of its kind. */
export function canVerify(jwk: JsonObject): boolean {
  const { kty, d, priv } = jwk
  // A private half that is listed is no secret any more: every reader could sign.
  if (d !== undefined || priv !== undefined) return false
  if (kty === LATTICE_KIND) return typeof jwk.alg === 'string' && typeof jwk.pub === 'string'
  return KINDS.has(kty) && isKey(jwk)
}

function isKey(jwk: JsonObject): boolean {
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key: jwk, format: 'jwk' } as JsonWebKeyInput)
    const bits = asymmetricKeyDetails?.modulusLength ?? MIN_RSA_BITS
    return bits >= MIN_RSA_BITS && bits <= MAX_RSA_BITS
  } catch {
    return false
  }
}

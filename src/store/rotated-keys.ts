/**
 * The secret that a key had before its last rotation. Until its end it opens the same key. What is found by it is the key with an earlier end:
 * whatever looks at the end of a key holds to that of the secret, too.
 */
import type { ApiKey } from '../plugin-api/key.ts'

/** A key as far as its secrets go. */
type Rotated = Pick<ApiKey, 'hash' | 'previous' | 'shown' | 'expiresAt'>

/** A key as the holder of its previous secret has it; undefined of a key without one, and for any other hash. @param hash of the secret that was shown. */
export function byPreviousSecret<Key extends Rotated>(key: Key, hash: string): Key | undefined {
  const { previous, expiresAt } = key
  if (previous?.hash !== hash || key.hash === hash) return undefined
  return { ...key, shown: hash, expiresAt: expiresAt === null ? previous.until : Math.min(expiresAt, previous.until) }
}

/** The hashes by which keys are found, each once. */
export function hashesBy(...keys: readonly (Pick<Rotated, 'hash' | 'previous'> | undefined)[]): string[] {
  return [...new Set(keys.flatMap((key) => (key ? [key.hash, ...(key.previous ? [key.previous.hash] : [])] : [])))]
}

/** Returns the key that each of these hashes finds. @param rows keys that have one of them as their hash or as that of their previous secret. */
export function foundBy<Key extends Rotated>(hashes: readonly string[], rows: readonly Key[]): Key[] {
  const own = new Map(rows.map((key) => [key.hash, key]))
  const former = new Map(rows.map((key) => [key.previous?.hash, key]))
  return hashes.flatMap((hash) => {
    const key = own.get(hash)
    const rotated = key ? undefined : former.get(hash)
    return key ?? (rotated && byPreviousSecret(rotated, hash)) ?? []
  })
}

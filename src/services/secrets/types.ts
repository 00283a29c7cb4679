/** A place where secrets are kept. */
import type { Clock } from '../../core/clock.ts'

export interface SecretPlace {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Directory of the configuration. */
  readonly directory: string
  readonly clock: Clock
}

export interface SecretSource {
  /** Word before the colon of a reference. */
  readonly scheme: string
  /** True where a reference always has the same secret: it is read once. */
  readonly isFixed?: boolean
  /** Begins one reading of all secrets: what they share, such as an access token, is fetched once for it. */
  open(place: SecretPlace): ReadSecret
}

/**
 * @param name what stands behind the colon.
 * @throws Error with half a sentence that says why, and holds nothing of a secret.
 */
export type ReadSecret = (name: string) => Promise<string>

/** Milliseconds for one secret. */
export const SECRET_TIMEOUT = 10_000
/** Bytes of one secret. */
export const SECRET_CAP = 65_536

/**
 * Keys issued through sign-in: what the key that issued them lets them do at this moment.
 * They spend and count in the issuer's name, and end with it: with its removal, and with the secret that consented to them.
 */
import type { ApiKey } from '../plugin-api/key.ts'

type Consent = NonNullable<ApiKey['consent']>

/**
 * Hash under which the issuer stands in a store if its secret is still the one that consented. Stores of earlier versions
 * name no hash; the identity of a stored key is the hash of its first secret.
 */
export function issuerHash({ by, hash }: Consent): string {
  return hash ?? by
}

/** True where this key issued one of this consent, and was found by the secret that it had then. */
export function isIssuer({ by, hash }: Consent, { identity, hash: now, shown, consent }: ApiKey): boolean {
  return identity === by && (hash === undefined || hash === (shown ?? now)) && consent === undefined
}

/** The issued key as it may be used now: its own limit stays, all else is what the issuer has. */
export function underIssuer<K extends ApiKey>(key: K, issuer: ApiKey): K {
  const ends = [key.expiresAt, issuer.expiresAt].filter((end) => end !== null)
  return {
    ...key,
    issuer,
    disabled: key.disabled || issuer.disabled,
    expiresAt: ends.length === 0 ? null : Math.min(...ends),
    allowedModels: issuer.allowedModels,
    provider: issuer.provider,
    limits: issuer.limits,
    defaultMaxOutput: key.defaultMaxOutput ?? issuer.defaultMaxOutput,
    passThrough: key.passThrough && issuer.passThrough,
  }
}

/**
 * Owner of a request's key: failures of one owner's requests are no evidence for those of others (docs/decisions/0028-failures-by-key.md).
 */
import type { ApiKey } from '../../plugin-api/key.ts'

/** @returns the owner of the key that issued it, the user for whom it was made, or the key itself. */
export function keyOwner({ issuer, consent, creator, identity }: ApiKey): string {
  if (issuer) return keyOwner(issuer)
  if (consent) return consent.by
  return creator ? `user ${creator}` : identity
}

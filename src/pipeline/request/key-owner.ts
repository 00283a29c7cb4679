/** Whose key a request has: what keys of one owner send says nothing of others (docs/decisions/0028-failures-by-key.md). */
import type { ApiKey } from '../../plugin-api/key.ts'

/** @returns the owner of the key that issued it, the user for whom it was made, or the key itself. */
export function ownerOf({ issuer, consent, creator, identity }: ApiKey): string {
  if (issuer) return ownerOf(issuer)
  if (consent) return consent.by
  return creator ? `user ${creator}` : identity
}

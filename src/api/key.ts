/** GET /v1/key: what the caller's own key is and what it has spent. */

import { isManager } from '../core/roles.ts'
import { keyAccounts } from '../ledger/payer.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { KeyRecord } from '../store/keys.ts'
import { byokSums } from './byok-use.ts'
import { type KeySource, keyAmounts, placeFields } from './key-entry.ts'
import { type ApiReply, ok } from './reply.ts'

/** Amounts are USD. */
export async function readKey(
  key: ApiKey | KeyRecord,
  { credit, ...source }: Pick<KeySource, 'credit' | 'ledger' | 'clock'>,
): Promise<ApiReply> {
  await credit.refresh?.(keyAccounts(key))
  const byok = await byokSums([key.identity], source)
  return ok({
    data: {
      label: key.label,
      name: key.name,
      ...keyAmounts(key, credit, byok.get(key.identity)),
      parent: key.parent ?? null,
      is_free_tier: false,
      role: key.role,
      is_management_key: isManager(key),
      is_provisioning_key: isManager(key),
      creator_user_id: key.creator ?? null,
      ...placeFields(key),
      // No region is set apart, and no model is free by the day.
      allowed_data_regions: ['global'],
      free_model_daily_requests: { limit: 0, used: 0, remaining: 0 },
      expires_at: key.expiresAt === null ? null : new Date(key.expiresAt).toISOString(),
      // An old field that clients still require; -1 says that no rate is set.
      rate_limit: { requests: key.limits.requests ?? -1, interval: '1m', note: 'Kept for older clients' },
    },
  })
}

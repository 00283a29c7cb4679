/** GET /v1/key: what the caller's own key is and what it has spent. */
import { usd } from '../core/money.ts'
import type { CreditBook } from '../ledger/credit.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { KeyRecord } from '../store/keys.ts'
import { type ApiReply, ok } from './reply.ts'
import { WORKSPACE } from './workspace.ts'

/**
 * Amounts are USD. `limit_remaining` is what may still be reserved: open requests count with their holds.
 */
export async function readKey(key: ApiKey | KeyRecord, credit: CreditBook): Promise<ApiReply> {
  await credit.refresh?.([key.identity])
  const account = credit.account(key.identity)
  const remaining = account.remaining(key)
  const windows = account.usage()
  const record = 'creator' in key ? key : undefined
  return ok({
    data: {
      label: key.label,
      name: key.name,
      limit: key.limit === null ? null : usd(key.limit),
      limit_remaining: remaining === null ? null : usd(remaining),
      limit_reset: key.limitReset,
      include_byok_in_limit: record?.includeByokInLimit ?? false,
      usage: usd(account.settled),
      usage_daily: usd(windows.daily),
      usage_weekly: usd(windows.weekly),
      usage_monthly: usd(windows.monthly),
      byok_usage: 0,
      byok_usage_daily: 0,
      byok_usage_weekly: 0,
      byok_usage_monthly: 0,
      is_free_tier: false,
      is_management_key: key.management,
      is_provisioning_key: key.management,
      creator_user_id: record?.creator ?? null,
      workspace_id: WORKSPACE,
      organization_id: null,
      // No region is set apart, and no model is free by the day.
      allowed_data_regions: ['global'],
      free_model_daily_requests: { limit: 0, used: 0, remaining: 0 },
      expires_at: key.expiresAt === null ? null : new Date(key.expiresAt).toISOString(),
      // An old field that clients still require; -1 says that no rate is set.
      rate_limit: { requests: key.limits.requests ?? -1, interval: '1m', note: 'Kept for older clients' },
    },
  })
}

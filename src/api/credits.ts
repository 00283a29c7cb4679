/** GET /v1/credits: what was spent by all keys, and what those with a limit may still spend. */
import { usd } from '../core/money.ts'
import { allKeys, type KeySource } from './key-entry.ts'
import { type ApiReply, ok } from './reply.ts'

/**
 * Credit is attached to keys: `total_credits` is what was spent plus what is left below the limits of keys that can be
 * used, so that `total_credits - total_usage` is what may still be spent under limits. A key without one adds what it spent.
 */
export async function readCredits(source: KeySource): Promise<ApiReply> {
  const now = source.clock.now()
  const keys = await allKeys(source)
  await Promise.all([source.credit.refresh?.(keys.map((key) => key.identity)), source.credit.refreshSettled?.()])
  const usage = source.credit.settled
  let left = 0n
  for (const key of keys) {
    if (key.limit === null || key.disabled || key.management || (key.expiresAt !== null && key.expiresAt <= now)) continue
    // An issued key draws on the limit of its issuer: its own one adds nothing.
    if (key.issuer && key.issuer.limit !== null) continue
    const unspent = BigInt(key.limit) - source.credit.account(key.identity).counted(key.limitReset)
    if (unspent > 0n) left += unspent
  }
  return ok({ data: { total_credits: usd(usage + left), total_usage: usd(usage) } })
}

/** GET /v1/credits: what was spent by all keys, and what those with a limit may still spend. */

import { usd } from '../core/money.ts'
import { isManager } from '../core/roles.ts'
import { budgetLevels, type SharedBudget } from '../core/shared-budget.ts'
import { keyAccounts } from '../ledger/payer.ts'
import { budgetLeft } from './budgets.ts'
import { allKeys, type KeySource } from './key-entry.ts'
import { type ApiReply, ok } from './reply.ts'

/**
 * Credit is attached to keys: `total_credits` is what was spent plus what is left below the limits of keys that can be
 * used, so that `total_credits - total_usage` is what may still be spent under limits. A key without one adds what it spent.
 */
export async function readCredits(source: KeySource): Promise<ApiReply> {
  const now = source.clock.now()
  const keys = await allKeys(source)
  await Promise.all([source.credit.refresh?.([...new Set(keys.flatMap(keyAccounts))]), source.credit.refreshSettled?.()])
  const usage = source.credit.settled
  let left = 0n
  /** Sum that the keys and budgets right below each budget may still spend by their own limits; undefined where one of them has no limit. */
  const drawn = new Map<SharedBudget, bigint | undefined>()
  for (const key of keys) {
    if (key.disabled || isManager(key) || (key.expiresAt !== null && key.expiresAt <= now)) continue
    // An issued key draws on the limit of its issuer: its own one adds nothing.
    if (key.issuer && key.issuer.limit !== null) continue
    const own = key.limit === null ? undefined : BigInt(key.limit) - source.credit.account(key.identity).counted(key.limitReset)
    const unspent = own === undefined || own > 0n ? own : 0n
    const budget = key.budget ?? key.issuer?.budget
    if (budget) drawn.set(budget, plus(drawn.has(budget) ? drawn.get(budget) : 0n, unspent))
    else if (unspent !== undefined) left += unspent
  }
  // The lowest levels first: what each leaves to its keys is drawn from the one above it.
  const budgets = [...new Set([...drawn.keys()].flatMap(budgetLevels))].sort((a, b) => b.above.length - a.above.length)
  for (const budget of budgets) {
    const wanted = drawn.get(budget)
    const most = BigInt(budgetLeft(budget, source.credit))
    const own = wanted === undefined || wanted > most ? most : wanted
    const above = budget.above[0]
    if (above) drawn.set(above, plus(drawn.has(above) ? drawn.get(above) : 0n, own))
    else left += own
  }
  return ok({ data: { total_credits: usd(usage + left), total_usage: usd(usage) } })
}

/** Undefined is without end. */
function plus(one: bigint | undefined, other: bigint | undefined): bigint | undefined {
  return one === undefined || other === undefined ? undefined : one + other
}

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
  const drawn = new Map<string, bigint | undefined>()
  const found = new Map<string, SharedBudget>()
  const draw = (budget: SharedBudget, amount: bigint | undefined): void => {
    const { identity } = budget
    for (const level of budgetLevels(budget)) if (!found.has(level.identity)) found.set(level.identity, level)
    drawn.set(identity, plus(drawn.has(identity) ? drawn.get(identity) : 0n, amount))
  }
  for (const key of keys) {
    if (key.disabled || key.levels?.refusal !== undefined || isManager(key) || (key.expiresAt !== null && key.expiresAt <= now)) continue
    // An issued key draws on the limit of its issuer: its own one adds nothing.
    if (key.issuer && key.issuer.limit !== null) continue
    const own = key.limit === null ? undefined : BigInt(key.limit) - source.credit.account(key.identity).counted(key.limitReset)
    const unspent = own === undefined || own > 0n ? own : 0n
    const budget = key.budget ?? key.issuer?.budget
    if (budget) draw(budget, unspent)
    else if (unspent !== undefined) left += unspent
  }
  // The lowest levels first: what each leaves to its keys is drawn from the one above it.
  for (const budget of [...found.values()].sort((a, b) => b.above.length - a.above.length)) {
    const wanted = drawn.get(budget.identity)
    const limit = budgetLeft(budget, source.credit)
    const most = limit === undefined ? undefined : BigInt(limit)
    const own = wanted === undefined || (most !== undefined && wanted > most) ? most : wanted
    const above = budget.above[0]
    if (above) draw(above, own)
    else if (own !== undefined) left += own
  }
  return ok({ data: { total_credits: usd(usage + left), total_usage: usd(usage) } })
}

/** Undefined is without end. */
function plus(one: bigint | undefined, other: bigint | undefined): bigint | undefined {
  return one === undefined || other === undefined ? undefined : one + other
}

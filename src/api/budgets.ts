/** GET /v1/budgets: the budgets of the configuration, what the keys under them have spent, and which keys those are. */

import { usd } from '../core/money.ts'
import { budgetLevels, budgetNamed, ownAllowances, type SharedBudget } from '../core/shared-budget.ts'
import { windowEnd } from '../core/windows.ts'
import type { CreditBook } from '../ledger/allowance.ts'
import { allKeys, type KeySource } from './key-entry.ts'
import { type ApiReply, ok } from './reply.ts'

export type BudgetSource = Pick<KeySource, 'budgets' | 'levels' | 'configured' | 'store' | 'credit' | 'clock'>

/** Keys that are named with a budget: `GET /v1/keys?parent=` lists all of them. */
const MAX_SHOWN_KEYS = 100

/** Amounts are USD. A budget that keys still name and the configuration no more has is listed with nothing to spend. */
export async function listBudgets(source: BudgetSource): Promise<ApiReply> {
  const { budgets, credit, clock } = source
  const keys = await allKeys(source)
  const names = new Set([...Object.keys(budgets), ...keys.flatMap(({ parent }) => parent ?? [])])
  const named = Array.from(names, (name) => budgetNamed(name, budgets))
  await credit.refresh?.(named.map(({ identity }) => identity))
  const now = clock.now()
  const drawing = Map.groupBy(keys, ({ parent }) => parent)
  return ok({
    data: named.map((budget) => {
      const account = credit.account(budget.identity)
      const under = drawing.get(budget.name) ?? []
      return {
        name: budget.name,
        is_defined: Object.hasOwn(budgets, budget.name),
        parent: budget.above[0]?.name ?? null,
        children: named.flatMap(({ name, above }) => (above[0]?.name === budget.name ? [name] : [])),
        remaining: usd(Math.min(...budgetLevels(budget).map((level) => budgetLeft(level, credit)))),
        windows: ownAllowances(budget).map(({ limit, limitReset }) => ({
          window: limitReset ?? 'lifetime',
          limit_usd: usd(limit),
          used: usd(account.counted(limitReset)),
          remaining: usd(account.tightest([{ limit, limitReset }])?.left ?? 0),
          resets_at: limitReset ? new Date(windowEnd(limitReset, now)).toISOString() : null,
        })),
        held: usd(account.held),
        key_count: under.length,
        keys: under.slice(0, MAX_SHOWN_KEYS).map(({ hash, name }) => ({ hash, name })),
      }
    }),
  })
}

/** Nano-dollars that its own limits leave to all that is under it, open requests with what they hold. */
export function budgetLeft(budget: SharedBudget, credit: CreditBook): number {
  const own = ownAllowances(budget).map(({ limit, limitReset }) => ({ limit, limitReset }))
  return credit.account(budget.identity).tightest(own)?.left ?? 0
}

/** Budgets that keys share. */
import { Type } from 'typebox'
import { usd } from '../../core/money.ts'
import type { SharedBudget } from '../../core/shared-budget.ts'
import { budgetNamed } from '../../core/shared-budget.ts'
import { windowEnd } from '../../core/windows.ts'
import type { CreditBook } from '../../ledger/allowance.ts'
import { allKeys, type KeySource } from '../key-entry.ts'
import { type Operation, operation } from '../operation.ts'
import { type ApiReply, ok } from '../reply.ts'
import { amount, data, text } from '../schemas.ts'

const budget = Type.Object(
  {
    name: text('As keys name it in `parent`.'),
    is_defined: Type.Boolean({ description: 'False where the configuration has no such budget any more: its keys have nothing to spend.' }),
    windows: Type.Array(
      Type.Object({
        window: Type.Enum(['daily', 'weekly', 'monthly', 'lifetime']),
        limit_usd: amount('USD that its keys together may spend in the window.'),
        used: amount('USD charged in the window; open requests are not in it.'),
        remaining: amount('USD; open requests count with what is held for them.'),
        resets_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
      }),
      { description: 'All of them apply at once.' },
    ),
    held: amount('USD that open requests of its keys hold; with a store on PostgreSQL, in this process.'),
    keys: Type.Array(Type.Object({ hash: Type.String(), name: Type.String() }), { description: 'The keys that draw on it.' }),
  },
  { description: 'A budget of the configuration, and what its keys have spent of it.' },
)

type BudgetSource = Pick<KeySource, 'budgets' | 'configured' | 'store' | 'credit' | 'clock'>

/** Amounts are USD. A budget that keys still name and the configuration no more has is listed with nothing to spend. */
export async function listBudgets(source: BudgetSource): Promise<ApiReply> {
  const { budgets, credit, clock } = source
  const keys = await allKeys(source)
  const names = new Set([...Object.keys(budgets), ...keys.flatMap(({ parent }) => parent ?? [])])
  const named = Array.from(names, (name) => budgetNamed(name, budgets))
  await credit.refresh?.(named.map(({ identity }) => identity))
  const now = clock.now()
  return ok({
    data: named.map((budget) => {
      const account = credit.account(budget.identity)
      return {
        name: budget.name,
        is_defined: Object.hasOwn(budgets, budget.name),
        windows: budget.allowances.map(({ limit, limitReset }) => ({
          window: limitReset ?? 'lifetime',
          limit_usd: usd(limit),
          used: usd(account.counted(limitReset)),
          remaining: usd(leftOf({ ...budget, allowances: [{ limit, limitReset, of: 'payer' }] }, credit)),
          resets_at: limitReset ? new Date(windowEnd(limitReset, now)).toISOString() : null,
        })),
        held: usd(account.held),
        keys: keys.flatMap(({ parent, hash, name }) => (parent === budget.name ? [{ hash, name }] : [])),
      }
    }),
  })
}

/** Nano-dollars that the keys under it may spend together, open requests with what they hold. */
export function leftOf({ identity, allowances }: SharedBudget, credit: CreditBook): number {
  const own = allowances.map(({ limit, limitReset }) => ({ limit, limitReset }))
  return credit.account(identity).tightest(own)?.left ?? 0
}

export const budgetOperations: readonly Operation[] = [
  operation('GET /budgets', {
    tag: 'Keys',
    caller: 'management',
    id: 'listBudgets',
    summary: 'List shared budgets',
    description: 'Budgets that several keys spend together. The configuration file defines them; keys name one as their `parent`.',
    reply: { description: 'Budgets.', schema: data(Type.Array(budget)) },
    handle: (_call, source) => listBudgets(source),
  }),
]

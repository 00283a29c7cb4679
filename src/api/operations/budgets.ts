/** Budgets that keys share. */

import { Type } from 'typebox'
import { BUDGET_WINDOWS } from '../../core/shared-budget.ts'
import { listBudgets } from '../budgets.ts'
import { type Operation, operation } from '../operation.ts'
import { amount, data, text } from '../schemas.ts'

const budget = Type.Object(
  {
    name: text('As keys name it in `parent`.'),
    is_defined: Type.Boolean({ description: 'False where the configuration has no such budget any more: its keys have nothing to spend.' }),
    windows: Type.Array(
      Type.Object({
        window: Type.Enum([...BUDGET_WINDOWS]),
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

export const budgetOperations: readonly Operation[] = [
  operation('GET /budgets', {
    tag: 'Keys',
    roles: ['viewer', 'billing'],
    id: 'listBudgets',
    summary: 'List shared budgets',
    description: 'Budgets that several keys spend together. The configuration file defines them; keys name one as their `parent`.',
    reply: { description: 'Budgets.', schema: data(Type.Array(budget)) },
    handle: (_call, source) => listBudgets(source),
  }),
]

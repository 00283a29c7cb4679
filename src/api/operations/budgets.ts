/** Budgets that keys share. */

import { Type } from 'typebox'
import { BUDGET_WINDOWS } from '../../core/shared-budget.ts'
import { BUDGET_KINDS, BUDGETS_QUERY, listBudgets } from '../budgets.ts'
import { type Operation, operation } from '../operation.ts'
import { amount, count, data, maybe, text } from '../schemas.ts'

const budget = Type.Object(
  {
    name: text('As keys and other budgets name it in `parent`; of an organization, workspace or member that word, a colon and its name.'),
    kind: Type.Enum([...BUDGET_KINDS]),
    level_id: maybe(Type.String({ description: 'Id of the organization, workspace or member; null for a budget of the configuration.' })),
    is_defined: Type.Boolean({ description: 'False where the configuration has no such budget any more: its keys have nothing to spend.' }),
    parent: maybe(Type.String({ description: 'The budget above it: what it spends counts there as well.' })),
    children: Type.Array(Type.String(), { description: 'The budgets right below it.' }),
    remaining: amount('USD that its keys together may still spend at all: the least that it and the budgets above it leave.'),
    windows: Type.Array(
      Type.Object({
        window: Type.Enum([...BUDGET_WINDOWS]),
        limit_usd: amount('USD that its keys and the budgets below it may spend together in the window.'),
        used: amount('USD charged in the window; open requests are not in it.'),
        remaining: amount('USD; open requests count with what is held for them.'),
        resets_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
      }),
      { description: 'Its own limits. All of them, and all of the budgets above it, apply at once.' },
    ),
    held: amount('USD that open requests under it hold; with a store on PostgreSQL, in this process.'),
    key_count: count('Keys that name it; those of the budgets below it are counted there.'),
    keys: Type.Array(Type.Object({ hash: Type.String(), name: Type.String() }), {
      description: 'The first 100 of them; `GET /v1/keys` with `parent` lists all.',
    }),
  },
  { description: 'A budget of the configuration, and what was spent of it.' },
)

export const budgetOperations: readonly Operation[] = [
  operation('GET /budgets', {
    tag: 'Keys',
    roles: ['viewer', 'billing'],
    reach: 'place',
    scope: 'keys:read',
    id: 'listBudgets',
    summary: 'List shared budgets',
    description:
      'Budgets that several keys spend together. The configuration file defines them; keys name one as their `parent`, and so do budgets below others. Organizations, workspaces and members with limits stand behind them.',
    parameters: BUDGETS_QUERY,
    reply: { description: 'Budgets.', schema: data(Type.Array(budget)) },
    faults: ['bad_request'],
    handle: ({ query }, source) => listBudgets(source, query),
  }),
]

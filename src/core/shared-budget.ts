/** Budgets of the configuration that several keys spend together, and the budget that a key draws on. */
import { WINDOWS, type Window } from './windows.ts'

/** Of the identity of a budget in the ledger. No key's identity begins so: names of keys have no colon. */
export const BUDGET_PREFIX = 'budget:'

/** The shortest first. */
export const BUDGET_WINDOWS = [...WINDOWS, 'lifetime'] as const

/** Nano-dollars by window. */
type BudgetLimits = Readonly<Partial<Record<(typeof BUDGET_WINDOWS)[number], number | undefined>>>
/** By name. */
export type Budgets = Readonly<Record<string, BudgetLimits>>

export interface SharedBudget {
  /** Identity in the ledger. */
  readonly identity: string
  readonly name: string
  /** Nano-dollars by window; null for all that was ever spent. All of them apply at once. */
  readonly allowances: readonly { readonly limit: number; readonly limitReset: Window | null; readonly level: number }[]
}

const made = new WeakMap<Budgets, Map<string, SharedBudget>>()

/** The budget of a name, the same object each time. One that is not there has nothing to spend: a key may have outlived it. */
export function budgetNamed(name: string, budgets: Budgets): SharedBudget {
  const known = made.get(budgets) ?? new Map<string, SharedBudget>()
  made.set(budgets, known)
  const budget = known.get(name) ?? sharedBudget(name, Object.hasOwn(budgets, name) ? budgets[name] : undefined)
  known.set(name, budget)
  return budget
}

function sharedBudget(name: string, limits: BudgetLimits = { lifetime: 0 }): SharedBudget {
  return {
    identity: BUDGET_PREFIX + name,
    name,
    allowances: BUDGET_WINDOWS.flatMap((window) => {
      const limit = limits[window]
      return limit === undefined ? [] : [{ limit, limitReset: window === 'lifetime' ? null : window, level: 1 }]
    }),
  }
}

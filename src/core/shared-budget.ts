/** Budgets of the configuration that several keys spend together, each perhaps under another one, and the budget that a key draws on. */
import { joinPayers } from './payers.ts'
import { WINDOWS, type Window } from './windows.ts'

/** Of the identity of a budget in the ledger. No key's identity begins so: names of keys have no colon. */
export const BUDGET_PREFIX = 'budget:'

/** The shortest first. */
export const BUDGET_WINDOWS = [...WINDOWS, 'lifetime'] as const

/** Budgets from one that keys name to its root: each costs a request some tenths of a microsecond, and a lease the lock of its balance. */
export const MAX_BUDGET_LEVELS = 4

/** Nano-dollars by window, and the name of the budget above. */
type BudgetTerms = Readonly<Partial<Record<(typeof BUDGET_WINDOWS)[number], number | undefined>>> & {
  readonly parent?: string | undefined
}
/** By name. */
export type Budgets = Readonly<Record<string, BudgetTerms>>

export interface BudgetAllowance {
  /** Nano-dollars. */
  readonly limit: number
  /** Null for all that was ever spent. */
  readonly limitReset: Window | null
  /** See `Allowance` of the ledger. */
  readonly level: number
  /** Name of the budget whose limit it is. */
  readonly budgetName: string
}

export interface SharedBudget {
  /** Identity in the ledger. */
  readonly identity: string
  readonly name: string
  /** Those above it, the nearest first. */
  readonly above: readonly SharedBudget[]
  /** Its identity and theirs, as rows of the ledger have them (`payers.ts`). */
  readonly payer: string
  /** Limits of all levels for a key that draws on it: all of them apply at once. Those of the budget itself have level 1. */
  readonly allowances: readonly BudgetAllowance[]
}

const made = new WeakMap<Budgets, Map<string, SharedBudget>>()

/** The budget of a name, the same object each time. One that is not there has nothing to spend: a key may have outlived it. */
export function budgetNamed(name: string, budgets: Budgets): SharedBudget {
  const known = made.get(budgets) ?? new Map<string, SharedBudget>()
  made.set(budgets, known)
  return known.get(name) ?? make(name, budgets, known)
}

/** Names from a budget to its root. One that leads back to itself ends there: the check of the configuration refuses it. */
export function namesAbove(name: string, budgets: Readonly<Record<string, { readonly parent?: string | undefined }>>): string[] {
  const names = [name]
  for (let next = parentName(name, budgets); next !== undefined && !names.includes(next); next = parentName(next, budgets)) names.push(next)
  return names
}

function parentName(name: string, budgets: Readonly<Record<string, { readonly parent?: string | undefined }>>): string | undefined {
  return Object.hasOwn(budgets, name) ? budgets[name]?.parent : undefined
}

/** Makes a budget with those above it, the root first. */
function make(name: string, budgets: Budgets, known: Map<string, SharedBudget>): SharedBudget {
  let above: SharedBudget | undefined
  for (const each of namesAbove(name, budgets).reverse()) {
    const budget = known.get(each) ?? sharedBudget(each, Object.hasOwn(budgets, each) ? budgets[each] : undefined, above)
    known.set(each, budget)
    above = budget
  }
  if (!above) throw new TypeError('expected the name of a budget')
  return above
}

function sharedBudget(name: string, terms: BudgetTerms | undefined, above: SharedBudget | undefined): SharedBudget {
  const identity = BUDGET_PREFIX + name
  const limits: BudgetTerms = terms ?? NOTHING_TO_SPEND
  const own = BUDGET_WINDOWS.flatMap((window) => {
    const limit = limits[window]
    return limit === undefined ? [] : [{ limit, limitReset: window === 'lifetime' ? null : window, level: 1, budgetName: name }]
  })
  const others = (above?.allowances ?? []).map((allowance) => ({ ...allowance, level: allowance.level + 1 }))
  return {
    identity,
    name,
    above: above ? budgetLevels(above) : [],
    payer: joinPayers(identity, above?.payer),
    allowances: [...own, ...others],
  }
}

const NOTHING_TO_SPEND: BudgetTerms = { lifetime: 0 }

/** The budget itself, then those above it, to the root. */
export function budgetLevels(budget: SharedBudget): readonly SharedBudget[] {
  return [budget, ...budget.above]
}

/** Limits of the budget itself, without those above it. */
export function ownAllowances({ allowances }: Pick<SharedBudget, 'allowances'>): readonly BudgetAllowance[] {
  return allowances.filter(({ level }) => level === 1)
}

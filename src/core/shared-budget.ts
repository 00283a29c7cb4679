/** Accounts that several keys spend together, each perhaps under another one: budgets of the configuration, and levels of an organisation. */
import { ACCOUNT_KINDS, type AccountKind, accountIdentity } from './account-kinds.ts'
import { joinPayers } from './payers.ts'
import { WINDOWS, type Window } from './windows.ts'

/** The shortest first. */
export const BUDGET_WINDOWS = [...WINDOWS, 'lifetime'] as const

/** Budgets from one that keys name to its root: each costs a request some tenths of a microsecond, and a lease the lock of its balance. */
export const MAX_BUDGET_LEVELS = 4

/** Nano-dollars by window. */
type BudgetLimits = Readonly<Partial<Record<(typeof BUDGET_WINDOWS)[number], number | undefined>>>

/** With the name of the budget above. */
type BudgetTerms = BudgetLimits & {
  readonly parent?: string | undefined
}
/** By name. */
export type Budgets = Readonly<Record<string, BudgetTerms>>

/** The account whose limit is meant, as callers and operators read it. */
export interface AccountName {
  readonly kind: AccountKind
  readonly name: string
}

export interface BudgetAllowance {
  /** Nano-dollars. */
  readonly limit: number
  /** Null for all that was ever spent. */
  readonly limitReset: Window | null
  /** See `Allowance` of the ledger. */
  readonly level: number
  /** The account whose limit it is. */
  readonly account: AccountName
}

export interface SharedBudget extends AccountName {
  /** Identity in the ledger. */
  readonly identity: string
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
    const limits = Object.hasOwn(budgets, each) ? budgets[each] : undefined
    const budget = known.get(each) ?? sharedBudget({ kind: 'budget', id: each, name: each, limits: limits ?? NOTHING_TO_SPEND }, above)
    known.set(each, budget)
    above = budget
  }
  if (!above) throw new TypeError('expected the name of a budget')
  return above
}

interface AccountTerms extends AccountName {
  /** Behind the word of its kind in its identity. */
  readonly id: string
  readonly limits: BudgetLimits
}

/** An account below another one. */
export function sharedBudget({ kind, id, name, limits }: AccountTerms, above: SharedBudget | undefined): SharedBudget {
  const account: AccountName = { kind, name }
  const own = BUDGET_WINDOWS.flatMap((window) => {
    const limit = limits[window]
    return limit === undefined ? [] : [{ limit, limitReset: window === 'lifetime' ? null : window, level: 1, account }]
  })
  return stacked({ ...account, identity: accountIdentity(kind, id) }, own, above)
}

function stacked(
  named: Pick<SharedBudget, 'kind' | 'name' | 'identity'>,
  own: readonly BudgetAllowance[],
  above: SharedBudget | undefined,
): SharedBudget {
  const others = (above?.allowances ?? []).map((allowance) => ({ ...allowance, level: allowance.level + 1 }))
  return {
    ...named,
    above: above ? budgetLevels(above) : [],
    payer: joinPayers(named.identity, above?.payer),
    allowances: [...own, ...others],
  }
}

/** The budget and those above it, with others above their root. */
export function budgetUnder(budget: SharedBudget, above: SharedBudget): SharedBudget {
  return budgetLevels(budget).reduceRight((root, level) => {
    const { kind, name, identity } = level
    return stacked({ kind, name, identity }, ownAllowances(level), root)
  }, above)
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

/** Such as `the workspace ml`. */
export const accountText = ({ kind, name }: AccountName): string => `the ${ACCOUNT_KINDS[kind].noun} ${name}`

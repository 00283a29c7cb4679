/** Budgets of guardrails: every key that one holds for has the whole of it, and the tightest bound decides. */
import { Fault } from '../core/faults.ts'
import { usdText } from '../core/money.ts'
import type { Allowance, CreditAccount } from '../ledger/credit.ts'
import type { GuardrailBudget } from './parts.ts'

/**
 * The bound with the least left. What fits it fits the others as well, so one hold is enough for all of them:
 * nothing can be spent between two looks at one account.
 */
export function tightest(key: Allowance, budgets: readonly GuardrailBudget[], account: CreditAccount): Allowance | GuardrailBudget {
  let least: Allowance | GuardrailBudget = key
  let left = budgets.length > 0 ? (account.remaining(key) ?? Number.POSITIVE_INFINITY) : 0
  for (const budget of budgets) {
    const own = account.remaining(budget) ?? Number.POSITIVE_INFINITY
    if (own >= left) continue
    least = budget
    left = own
  }
  return least
}

export function isBudget(bound: Allowance | GuardrailBudget): bound is GuardrailBudget {
  return 'guardrail' in bound
}

const WORDS = { daily: 'daily', weekly: 'weekly', monthly: 'monthly' } as const

/** 403: which budget it is and what of it is left. @param hold nano-dollars. */
export function overBudget({ guardrail, limit, limitReset }: GuardrailBudget, hold: number, account: CreditAccount): Fault {
  const left = account.remaining({ limit, limitReset }) ?? 0
  const name = `${limitReset === null ? '' : `${WORDS[limitReset]} `}budget of $${usdText(limit)}`
  const state = left === 0 ? 'is spent' : `has $${usdText(left)} left, this request may cost up to $${usdText(hold)}`
  return new Fault('guardrail_blocked', { message: `The ${name} of the guardrail ${guardrail} ${state}`, metadata: { guardrail } })
}

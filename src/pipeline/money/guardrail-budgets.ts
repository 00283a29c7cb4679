/**
 * What bounds the spending of a request: the limit of its key, that of the key's issuer, and budgets of guardrails. Each key
 * that a guardrail applies to has the whole budget; keys issued through sign-in share that of their issuer.
 */

import { Fault } from '../../core/faults.ts'
import { usdText } from '../../core/money.ts'
import type { Allowance, CreditAccount, CreditBook } from '../../ledger/credit.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { GuardrailBudget } from '../guard/guardrail-setting.ts'

/** All allowances of a request of `key`: a hold is taken under every one of them at once. */
export function allowancesOf(key: ApiKey, budgets: readonly GuardrailBudget[]): readonly (Allowance | GuardrailBudget)[] {
  const { issuer } = key
  if (!issuer) return [key, ...budgets]
  return [key, { limit: issuer.limit, limitReset: issuer.limitReset, of: 'payer' }, ...budgets]
}

/** The account that a request of `key` holds and charges: with that of its issuer, where it has one. */
export function accountOf({ identity, issuer }: ApiKey, credit: CreditBook): CreditAccount {
  return credit.account(identity, issuer?.identity)
}

/** True where some allowance has a limit. */
export function isLimited({ limit, issuer }: ApiKey, budgets: readonly GuardrailBudget[]): boolean {
  return limit !== null || (issuer !== undefined && issuer.limit !== null) || budgets.length > 0
}

export function isBudget(bound: Allowance | GuardrailBudget | undefined): bound is GuardrailBudget {
  return bound !== undefined && 'guardrail' in bound
}

const WORDS = { daily: 'daily', weekly: 'weekly', monthly: 'monthly' } as const

/** 403: which budget it is and what of it is left. @param hold nano-dollars. @param left nano-dollars. */
export function overBudget({ guardrail, limit, limitReset }: GuardrailBudget, hold: number, left: number): Fault {
  const name = `${limitReset === null ? '' : `${WORDS[limitReset]} `}budget of $${usdText(limit)}`
  const state = left === 0 ? 'is spent' : `has $${usdText(left)} left, this request may cost up to $${usdText(hold)}`
  return new Fault('guardrail_blocked', { message: `The ${name} of the guardrail ${guardrail} ${state}`, metadata: { guardrail } })
}

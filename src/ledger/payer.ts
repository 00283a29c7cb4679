/** The payer beside a key: the key that issued it through sign-in, or the budget that it draws on. A key has one of the two at most. */
import { BUDGET_PREFIX } from '../core/shared-budget.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { Allowance } from './allowance.ts'

type Paid = Pick<ApiKey, 'issuer' | 'parent' | 'budget'>

/** Identity of the account that is charged with that of the key. */
export function keyPayer({ issuer, parent, budget }: Paid): string | undefined {
  if (issuer) return issuer.identity
  return budget?.identity ?? (parent === undefined ? undefined : BUDGET_PREFIX + parent)
}

const NONE: readonly Allowance[] = []

/** Allowances of the payer: they limit what the key may spend of its account. */
export function payerAllowances({ issuer, budget }: Paid): readonly Allowance[] {
  if (issuer) return [{ limit: issuer.limit, limitReset: issuer.limitReset, level: 1 }]
  return budget?.allowances ?? NONE
}

/** Identities of the accounts that a key's charges count in. */
export function keyAccounts(key: Paid & Pick<ApiKey, 'identity'>): string[] {
  const payer = keyPayer(key)
  return payer === undefined ? [key.identity] : [key.identity, payer]
}

/**
 * Payers beside a key: the budget that it draws on and those above it, then the levels of its place. A key that was issued through sign-in has the key that issued it
 * first, then the payers of that.
 */
import { accountIdentity } from '../core/account-kinds.ts'
import { chargedAccounts, joinPayers } from '../core/payers.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { Allowance } from './allowance.ts'

type Paid = Pick<ApiKey, 'issuer' | 'parent' | 'budget'>

interface Payers {
  /** As rows of the ledger have them (`core/payers.ts`). */
  readonly payer: string
  readonly allowances: readonly Allowance[]
}

/** Payers of the accounts that are charged with that of the key. */
export function keyPayer({ issuer, parent, budget }: Paid): string | undefined {
  if (issuer) return issuedPayers(issuer).payer
  return budget?.payer ?? (parent === undefined ? undefined : accountIdentity('budget', parent))
}

const NONE: readonly Allowance[] = []

/** Allowances of the payers: they limit what the key may spend of its account. */
export function payerAllowances({ issuer, budget }: Paid): readonly Allowance[] {
  return issuer ? issuedPayers(issuer).allowances : (budget?.allowances ?? NONE)
}

const issued = new WeakMap<ApiKey, Payers>()

/**
 * Payers of the keys that a key issued. The budgets above it have no names for them: applications do not learn how the owner of the key
 * has divided its money.
 */
function issuedPayers(issuer: ApiKey): Payers {
  const known = issued.get(issuer)
  if (known) return known
  const own: Allowance = { limit: issuer.limit, limitReset: issuer.limitReset, level: 1 }
  const others = payerAllowances(issuer).map(({ limit, limitReset = null, level = 0 }) => ({ limit, limitReset, level: level + 1 }))
  const made = { payer: joinPayers(issuer.identity, keyPayer(issuer)), allowances: [own, ...others] }
  issued.set(issuer, made)
  return made
}

/** Identities of the accounts that a key's charges count in. */
export function keyAccounts(key: Paid & Pick<ApiKey, 'identity'>): readonly string[] {
  return chargedAccounts({ key: key.identity, payer: keyPayer(key) })
}

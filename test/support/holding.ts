/** Holds of a fixed amount under one allowance, as most tests of credit take them. */

import type { Allowance, CreditAccount } from '../../src/ledger/allowance.ts'
import { fixedAsk, type RecordedSpending } from '../../src/ledger/credit.ts'

/** @param amount nano-dollars. @returns true where all of it is held. */
export function holds(account: CreditAccount, amount: number, ...allowances: readonly Allowance[]): boolean {
  return account.tryHold(fixedAsk(amount), allowances) !== undefined
}

/** The same, leasing more credit where that is possible. */
export async function seeks(account: CreditAccount, amount: number, ...allowances: readonly Allowance[]): Promise<boolean> {
  const ask = fixedAsk(amount)
  return (account.seek ? await account.seek(ask, allowances) : account.tryHold(ask, allowances)) !== undefined
}

/** Nano-dollars that are left under one allowance; null without a limit. */
export function left(account: CreditAccount, allowance: Allowance): number | null {
  return account.tightest([allowance])?.left ?? null
}

/** What a journal has of earlier lives: nano-dollars by key, and by key and day. */
export function recorded(
  spent: Readonly<Record<string, number>>,
  days: readonly { key: string; day: number; cost: number }[] = [],
): RecordedSpending {
  return {
    charges: () => Object.entries(spent).map(([key, cost]) => ({ key, payer: undefined, cost: BigInt(cost) })),
    spentByDay: () => days.map(({ key, day, cost }) => ({ key, day, cost: BigInt(cost) })),
  }
}

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

/** Sums of earlier lives in a journal: nano-dollars by key, and by key and day. */
export function recorded(
  spent: Readonly<Record<string, number>>,
  days: readonly { key: string; day: number; cost: number }[] = [],
): RecordedSpending {
  return {
    charges: () =>
      [...new Set([...Object.keys(spent), ...days.map(({ key }) => key)])].map((key) => ({
        key,
        payer: undefined,
        cost: BigInt(spent[key] ?? 0),
        days: days.filter((each) => each.key === key).map(({ day, cost }) => ({ day, cost: BigInt(cost) })),
      })),
  }
}

/** Charges of each account on each UTC day from a moment on, the charges of keys that it issued among them. */
export function chargedByDay(journal: RecordedSpending, since: number): { key: string; day: number; cost: bigint }[] {
  const sums = new Map<string, { key: string; day: number; cost: bigint }>()
  for (const { key, payer, days } of journal.charges(since))
    for (const account of payer === undefined ? [key] : [key, payer])
      for (const { day, cost } of days) {
        const name = `${account} ${day}`
        sums.set(name, { key: account, day, cost: (sums.get(name)?.cost ?? 0n) + cost })
      }
  return [...sums.values()]
}

/** Use of keys that teams have brought, as lists of keys show it. */
import type { Clock } from '../core/clock.ts'
import { chargedAccounts } from '../core/payers.ts'
import { WINDOWS, windowStarts } from '../core/windows.ts'
import type { LedgerReader } from '../ledger/reader.ts'
import type { ByokUse } from '../ledger/types.ts'
import type { LimitReset } from '../plugin-api/key.ts'

/** Nano-dollars: bills of providers, and the part of them that is among the costs of the ledger. */
export interface ByokSum {
  readonly upstream: bigint
  readonly counted: bigint
}

export type ByokSums = Readonly<Record<LimitReset | 'total', ByokSum>>

const NONE: ByokSum = { upstream: 0n, counted: 0n }
export const NO_BYOK: ByokSums = { total: NONE, daily: NONE, weekly: NONE, monthly: NONE }

/** Sums by identity; what a key used counts also at the key that issued it. Keys without any are absent. */
export async function byokSums(
  keys: readonly string[],
  { ledger, clock }: { ledger?: Pick<LedgerReader, 'byokUse'> | undefined; clock: Pick<Clock, 'now'> },
): Promise<ReadonlyMap<string, ByokSums>> {
  const sums = new Map<string, ByokSums>()
  if (!ledger) return sums
  const now = clock.now()
  const starts = windowStarts(now)
  // A day ahead of this clock counts as well: another process may have written it.
  for (const row of await ledger.byokUse({ from: 0, until: Number.MAX_SAFE_INTEGER, keys }))
    for (const identity of chargedAccounts(row)) sums.set(identity, added(sums.get(identity) ?? NO_BYOK, row, starts))
  return sums
}

function added(sums: ByokSums, row: ByokUse, starts: Readonly<Record<LimitReset, number>>): ByokSums {
  const windows = WINDOWS.map((window) => [window, row.day >= starts[window] ? plus(sums[window], row) : sums[window]])
  return { total: plus(sums.total, row), ...Object.fromEntries(windows) } as ByokSums
}

export function plus(sum: ByokSum, { upstream, counted }: ByokSum): ByokSum {
  return { upstream: sum.upstream + upstream, counted: sum.counted + counted }
}

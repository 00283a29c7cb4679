/** Windows of limits beside the entries that count in them. */
import type { Move } from '../core/ledger-entries.ts'
import { chargedAccounts } from '../core/payers.ts'
import type { LimitReset } from '../plugin-api/key.ts'
import type { RecordedWindows } from './types.ts'

/** The sums of open windows without what entries have moved in them: as they follow from the generations. */
export function withoutMoves(recorded: RecordedWindows, moves: readonly Move[]): RecordedWindows {
  const of = new Map(recorded.of)
  for (const move of moves)
    for (const account of chargedAccounts(move)) {
      const windows = of.get(account)
      if (!windows) continue
      const { starts, sums } = windows
      const { countedAt, nano } = move
      const less = (window: LimitReset): bigint => sums[window] - (countedAt >= starts[window] ? BigInt(nano) : 0n)
      of.set(account, { starts, sums: { daily: less('daily'), weekly: less('weekly'), monthly: less('monthly') } })
    }
  return { at: recorded.at, of }
}

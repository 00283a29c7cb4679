/** Rows of the ledger, the same for every store: records of holds and settlements, and sums of their charges. */

import { generationId, parseGenerationId, TICKS } from '../core/ids.ts'
import { chargedAccounts } from '../core/payers.ts'
import type { GenerationRecord, HoldOwner, HoldRow, KeyCharges, SettleRow } from '../ledger/types.ts'

export { TICKS } from '../core/ids.ts'
export { DAY_MS } from '../core/windows.ts'
export const HOUR_MS = 3_600_000
export const MINUTE_MS = 60_000

/** Sums are kept in whole dollars and a rest, for SQLite's integers end at 9.2e18 nano-dollars and its sums throw there. */
export const NANO = 1_000_000_000

export function joinRecord(hold: HoldRow, settled: SettleRow | undefined): GenerationRecord {
  return { id: generationId(hold.seq, hold.tag), at: Math.floor(hold.seq / TICKS), hold, settled }
}

/** Looks a public id up by its sequence; the tag must fit, or else it names no generation. */
export function findRecord(
  id: string,
  findHold: (seq: number) => HoldRow | undefined,
  findSettle: (seq: number) => SettleRow | undefined,
): GenerationRecord | undefined {
  const parsed = parseGenerationId(id)
  if (!parsed || !Number.isSafeInteger(parsed.seq)) return undefined
  const hold = findHold(parsed.seq)
  return hold && hold.tag === parsed.tag ? joinRecord(hold, findSettle(parsed.seq)) : undefined
}

/** Nano-dollars by account: those of a key count at each of its payers as well. */
export function sumByAccount(charges: Iterable<KeyCharges>): Map<string, bigint> {
  const sums = new Map<string, bigint>()
  for (const charge of charges) for (const account of chargedAccounts(charge)) sums.set(account, (sums.get(account) ?? 0n) + charge.cost)
  return sums
}

/** A settlement of the batch that is being written, and whose it is, as far as that is known. */
export type OwnedRow = readonly [row: SettleRow, owner: HoldOwner | undefined]

/** The moment whose day a charge belongs to: that of the settlement, else that of the admission. */
export function chargedAt(row: SettleRow): number {
  return row.at > 0 ? row.at : Math.floor(row.seq / TICKS)
}

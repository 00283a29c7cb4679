/** Checks the ledger against itself: what the `ledger verify` command runs. */
import { Fault } from '../core/faults.ts'
import { Pace } from './pace.ts'
import type { GenerationRecord, LedgerReader, LedgerReaders, Sums } from './types.ts'
import { verifyNew } from './verify-new.ts'
import { NONE, same, Totals, type Verdict } from './verify-totals.ts'
import { WindowCheck } from './verify-windows.ts'

export type { Verdict } from './verify-totals.ts'

/** Walks until one was not overtaken by retention. */
const MOST_WALKS = 5

/**
 * The order of the sequence kept, every generation once, at most one settlement per hold and of the same sequence,
 * entries that sum to zero, no negative or broken amount, and the entries of each key and of those that it issued, together
 * with what was carried over, summing to its balance.
 * @param spent the balances: nano-dollars per key. @param carried the part of them whose generations have been removed.
 */
export function verify(records: Iterable<GenerationRecord>, spent: Sums, carried: Sums = NONE): Verdict {
  const totals = new Totals()
  for (const record of records) totals.add(record)
  return totals.close(spent, spent, carried)
}

/**
 * The same for a ledger that is being written to, and where rows may be damaged: the sum of each key lies between its
 * balances before and after the walk; and so do its sums of the current day, week and month.
 * @param options.full true: all generations, whatever an earlier check has covered. Else those that are new, where the ledger knows which
 * these are; where something does not match, all of them after all. @throws Fault `unavailable` where the ledger cannot be read.
 */
export async function verifyLedger(
  ledger: LedgerReader,
  { full = false, now = Date.now(), read = () => {} }: VerifyOptions = {},
): Promise<Verdict> {
  const found = full || !ledger.readers ? undefined : await newOnly(ledger, ledger.readers, { now, read })
  return found ?? verifyAll(ledger, read)
}

export interface VerifyOptions {
  readonly full?: boolean
  /** Milliseconds since the epoch. */
  readonly now?: number
  /** Is called now and then with how many generations of this walk have been read. */
  readonly read?: (generations: number) => void
}

/** What cannot be read is reported by the check of everything. */
async function newOnly(
  ledger: LedgerReader,
  readers: LedgerReaders,
  options: Required<Pick<VerifyOptions, 'now' | 'read'>>,
): Promise<Verdict | undefined> {
  try {
    return await verifyNew(ledger, readers, options)
  } catch (error) {
    if (error instanceof Fault) throw error
    return undefined
  }
}

async function verifyAll(ledger: LedgerReader, read: (generations: number) => void): Promise<Verdict> {
  for (let walks = 1; ; walks++) {
    const carriedBefore = (await ledger.carried?.()) ?? NONE
    const before = await ledger.spent()
    const windows = await ledger.windows?.()
    const totals = new Totals(windows && new WindowCheck(windows))
    try {
      const records = ledger.export()
      const pace = new Pace(Symbol.asyncIterator in records)
      for await (const record of records) {
        totals.add(record)
        if (!pace.over) continue
        read(totals.generations)
        await pace.rest()
      }
    } catch (error) {
      if (error instanceof Fault) throw error
      totals.breaksOff(error)
    }
    const after = await ledger.spent()
    const windowsAfter = await ledger.windows?.()
    const carried = (await ledger.carried?.()) ?? NONE
    if (windowsAfter) totals.checkWindows(windowsAfter)
    if (walks === MOST_WALKS || same(carriedBefore, carried)) return totals.close(before, after, carried)
  }
}

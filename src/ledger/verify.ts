/** Checks the ledger against itself: what the `ledger verify` command runs. */
import { Fault } from '../core/faults.ts'
import { TICKS } from '../core/ids.ts'
import { sumOfMoves } from '../core/ledger-entries.ts'
import { Pace } from './pace.ts'
import type { GenerationRecord, LedgerReader, LedgerReaders, ReaderBatch, Sums } from './types.ts'
import { type Earlier, type EarlierWindows, NONE, same, Totals, type Verdict, WindowCheck, withEntries } from './verify-totals.ts'

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
  const verdict = found ?? (await verifyAll(ledger, read))
  return ledger.entries ? withEntries(verdict, await ledger.entries.sums(), await movedOf(ledger)) : verdict
}

/** By account, what entries have moved so far: it is in the balances, and in what was carried over. */
async function movedOf({ entries }: LedgerReader): Promise<Sums> {
  return entries ? sumOfMoves(await entries.moves(0, Number.MAX_SAFE_INTEGER)) : NONE
}

interface VerifyOptions {
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

const READER = 'ledger-verify'
/** Milliseconds: younger generations are checked, and again the next time. */
const AGE = 3_600_000

/** What the reader's note has: sums by account of all that was checked, with those that retention had removed before. */
interface Point extends Omit<Earlier, 'until'> {
  readonly sums: Readonly<Record<string, string>>
  /** What of `sums` entries had moved. */
  readonly moved?: Readonly<Record<string, string>>
  /** Absent where the ledger had no sums of windows. */
  readonly windows?: EarlierWindows
}

/**
 * Checks what has come since the last check, which left its sums with the reader that goes through the ledger step by step: each
 * generation is read once, those that are settled late among them, and what is younger than an hour each time.
 * @returns undefined where all has to be checked. @throws Fault `unavailable`.
 */
async function verifyNew(
  ledger: LedgerReader,
  readers: LedgerReaders,
  { now, read }: { readonly now: number; readonly read: (generations: number) => void },
): Promise<Verdict | undefined> {
  const carriedBefore = (await ledger.carried?.()) ?? NONE
  const movedBefore = await movedOf(ledger)
  const before = await ledger.spent()
  const windows = await ledger.windows?.()
  // Two processes may read the same batch: one of them is accepted.
  const batch = await readers.claim({ reader: READER, holder: READER, holdFor: 0, since: 0, age: AGE, most: Number.MAX_SAFE_INTEGER, now })
  if (!batch) return undefined
  const point = batch.note === '' ? undefined : (JSON.parse(batch.note) as Point)
  const windowCheck = windows && new WindowCheck(windows, point && earlierWindows(point))
  const totals = new Totals(windowCheck)
  const pace = new Pace(Symbol.asyncIterator in readers.pages(batch))
  if (batch.begunAt > 0)
    for await (const page of readers.pages(batch)) {
      for (const record of page) totals.add(record)
      if (!pace.over) continue
      read(totals.generations)
      await pace.rest()
    }
  const checked = totals.soFar()
  const checkedWindows = windowCheck?.soFar()
  await addYounger(ledger, batch, totals, pace)
  const after = await ledger.spent()
  const windowsAfter = await ledger.windows?.()
  const carried = (await ledger.carried?.()) ?? NONE
  if (windowsAfter) totals.checkWindows(windowsAfter)
  // Retention may have overtaken the first check; of a later one it moves nothing that is not in the sums already.
  if (!point && !same(carriedBefore, carried)) return undefined
  const moved = await movedOf(ledger)
  if (!same(movedBefore, moved)) return undefined
  const base = point ? withMoves(sumsOf(point), point, moved) : carried
  const verdict = totals.close(before, after, base)
  if (!verdict.ok) return undefined
  if (batch.begunAt > 0) {
    const next = {
      ...nextPoint(point, base, checked, new Date(now).toISOString()),
      moved: Object.fromEntries(moved),
      ...(checkedWindows && windowsAfter ? { windows: { at: windowsAfter.at, of: checkedWindows } } : {}),
    }
    await readers.accept(
      batch,
      JSON.stringify(next, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
    )
  }
  return { ...verdict, ...totals.carriedOver(carried), ...(point ? { before: earlierOf(point, batch) } : {}) }
}

async function addYounger(ledger: LedgerReader, { reaching }: ReaderBatch, totals: Totals, pace: Pace): Promise<void> {
  const younger: Iterable<GenerationRecord> | AsyncIterable<GenerationRecord> = ledger.export(Math.floor(reaching / TICKS))
  for await (const record of younger) {
    if (record.hold.seq >= reaching) totals.add(record)
    if (pace.over) await pace.rest()
  }
}

/** A check that has kept none may have read a part of each window that had begun then. */
function earlierWindows({ windows, checked_at: checkedAt }: Point): EarlierWindows {
  return windows ?? { at: Date.parse(checkedAt), of: {} }
}

function sumsOf({ sums }: Point): Sums {
  return new Map(Object.entries(sums).map(([account, sum]) => [account, BigInt(sum)]))
}

/** @param moved what entries have moved by now: the point has what they had moved then. */
function withMoves(base: Sums, { moved: then = {} }: Point, moved: Sums): Sums {
  const all = new Map(base)
  for (const [account, nano] of moved) all.set(account, (all.get(account) ?? 0n) + nano - BigInt(then[account] ?? 0))
  return all
}

function nextPoint(point: Point | undefined, base: Sums, { sums, ...of }: ReturnType<Totals['soFar']>, checkedAt: string): Point {
  const all = new Map(base)
  for (const [account, sum] of sums) all.set(account, (all.get(account) ?? 0n) + sum)
  return {
    generations: (point?.generations ?? 0) + of.generations,
    charged: BigInt(point?.charged ?? 0) + of.charged,
    providers: BigInt(point?.providers ?? 0) + of.providers,
    fees: BigInt(point?.fees ?? 0) + of.fees,
    checked_at: checkedAt,
    sums: Object.fromEntries([...all].map(([account, sum]) => [account, String(sum)])),
  }
}

function earlierOf({ sums: _sums, moved: _moved, windows: _windows, ...point }: Point, { below }: ReaderBatch): Earlier {
  return { ...point, until: new Date(Math.floor(below / TICKS)).toISOString() }
}

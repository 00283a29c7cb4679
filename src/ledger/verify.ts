/** Checks the ledger against itself: what the `ledger verify` command runs. */
import { Fault } from '../core/faults.ts'
import { TICKS } from '../core/ids.ts'
import { sumOfMoves } from '../core/ledger-entries.ts'
import { VERIFY_READER } from '../core/reader-names.ts'
import { Pace } from './pace.ts'
import type { LedgerReader } from './reader.ts'
import type { GenerationRecord, LedgerReaders, ReaderBatch, Sums } from './types.ts'
import { keepPoint, type Point, readPoint } from './verify-point.ts'
import {
  added,
  type Earlier,
  type EarlierWindows,
  NONE,
  paced,
  type SoFar,
  type Steps,
  same,
  Totals,
  type Verdict,
  WindowCheck,
  withEntries,
} from './verify-totals.ts'

export type { Verdict } from './verify-totals.ts'

/** Walks until one was not overtaken by retention. */
const MAX_WALKS = 5

/**
 * Checks a ledger that is being written to, and where rows may be damaged: the order of the sequence kept, every generation once, at most
 * one settlement per hold and of the same sequence, entries that sum to zero, no negative or broken amount. The entries of each key and of
 * those that it issued, together with what was carried over, sum to between its balances before and after the walk; and so do its sums of
 * the current day, week and month.
 * @param options.full true: all generations, whatever an earlier check has covered. Else those that are new, where the ledger knows which
 * these are; where something does not match, all of them after all. @throws Fault `unavailable` where the ledger cannot be read.
 */
export async function verifyLedger(
  ledger: LedgerReader,
  { full = false, now = Date.now(), read = () => {} }: VerifyOptions = {},
): Promise<Verdict> {
  const verdict = await reachVerdict(ledger, { full, now, read })
  return withEntries(verdict, await ledger.entries.sums(), await sumMoves(ledger))
}

/** By account, what entries have moved so far: it is in the balances, and in what was carried over. */
async function sumMoves({ entries }: LedgerReader): Promise<Sums> {
  return sumOfMoves(await entries.moves(0, Number.MAX_SAFE_INTEGER))
}

async function reachVerdict(ledger: LedgerReader, { full, now, read }: Required<VerifyOptions>): Promise<Verdict> {
  const { readers } = ledger
  if (full || !readers) return verifyAll(ledger, read)
  const found = await newOnly(ledger, readers, { now, read })
  if (found) return found
  // Begun anew it reads everything, and leaves its sums: so the next check reads what is new again.
  await readers.reset(VERIFY_READER)
  return (await newOnly(ledger, readers, { now, read })) ?? verifyAll(ledger, read)
}

interface VerifyOptions {
  readonly full?: boolean
  /** Milliseconds since the epoch. */
  readonly now?: number
  /** Is called now and then with how many generations of this walk have been read. */
  readonly read?: (generations: number) => void
}

/** Checks what is new. Returns undefined where a row cannot be read: the check of everything then reports it. */
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
    const carriedBefore = await ledger.carried()
    const before = await ledger.spent()
    const windows = await ledger.windows()
    const totals = new Totals(windows && new WindowCheck(windows))
    let pace = new Pace()
    try {
      const records = ledger.export()
      pace = new Pace(Symbol.asyncIterator in records)
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
    const windowsAfter = await ledger.windows()
    const carried = await ledger.carried()
    if (windowsAfter) await paced(totals.checkWindows(windowsAfter), pace)
    if (walks === MAX_WALKS || (await paced(same(carriedBefore, carried), pace))) return paced(totals.close(before, after, carried), pace)
  }
}

/** Milliseconds: younger generations are checked, and again the next time. */
const AGE = 3_600_000

/**
 * Checks what has come since the last check, which left its sums with the reader that goes through the ledger step by step: each
 * generation is read once, those that are settled late among them, and what is younger than an hour each time. Those that retention has
 * removed unread count with the sums that it has kept of them.
 * @returns undefined where all has to be checked. @throws Fault `unavailable`.
 */
async function verifyNew(
  ledger: LedgerReader,
  readers: LedgerReaders,
  { now, read }: { readonly now: number; readonly read: (generations: number) => void },
): Promise<Verdict | undefined> {
  const carriedBefore = await ledger.carried()
  const movedBefore = await sumMoves(ledger)
  const unreadBefore = await ledger.removedUnread()
  const before = await ledger.spent()
  const windows = await ledger.windows()
  // Two processes may read the same batch: one of them is accepted.
  const most = Number.MAX_SAFE_INTEGER
  const batch = await readers.claim({ reader: VERIFY_READER, holder: VERIFY_READER, holdFor: 0, since: 0, age: AGE, most, now })
  if (!batch) return undefined
  const point = await readPoint(batch, readers)
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
  const checked = await paced(totals.soFar(), pace)
  const checkedWindows = windowCheck && (await paced(windowCheck.soFar(), pace))
  await addYounger(ledger, batch, totals, pace)
  const after = await ledger.spent()
  const windowsAfter = await ledger.windows()
  const unread = await ledger.removedUnread()
  const carried = await ledger.carried()
  if (windowsAfter) await paced(totals.checkWindows(windowsAfter), pace)
  // Retention may have removed what this check has read, or was about to; of what one has read before it moves nothing.
  const isSame = (a: Sums, b: Sums): Promise<boolean> => paced(same(a, b), pace)
  if (!(await isSame(unreadBefore, unread)) || (!point && !(await isSame(carriedBefore, carried)))) return undefined
  const moved = await sumMoves(ledger)
  if (!(await isSame(movedBefore, moved))) return undefined
  const base = await paced(point ? withMoves(point, moved) : added(carried, unread, -1n), pace)
  const verdict = await paced(totals.close(before, after, await paced(added(base, unread), pace)), pace)
  if (!verdict.ok) return undefined
  if (batch.begunAt > 0)
    await keepPoint(
      batch,
      {
        ...(await paced(nextPoint(point, base, checked, new Date(now).toISOString()), pace)),
        moved,
        ...(checkedWindows && windowsAfter ? { windows: { at: windowsAfter.at, of: checkedWindows } } : {}),
      },
      readers,
    )
  return { ...verdict, ...(await paced(totals.carriedOver(carried), pace)), ...(point ? { before: earlierPoint(point, batch) } : {}) }
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

/** @param moved what entries have moved by now: the point has what they had moved then. */
function* withMoves({ sums, moved: then = NONE }: Point, moved: Sums): Steps<Sums> {
  return yield* added(yield* added(sums, then, -1n), moved)
}

function* nextPoint(point: Point | undefined, base: Sums, { sums, ...of }: SoFar, checkedAt: string): Steps<Point> {
  return {
    generations: (point?.generations ?? 0) + of.generations,
    charged: BigInt(point?.charged ?? 0) + of.charged,
    providers: BigInt(point?.providers ?? 0) + of.providers,
    fees: BigInt(point?.fees ?? 0) + of.fees,
    checked_at: checkedAt,
    sums: yield* added(base, sums),
  }
}

function earlierPoint({ sums: _sums, moved: _moved, windows: _windows, ...point }: Point, { below }: ReaderBatch): Earlier {
  return { ...point, until: new Date(Math.floor(below / TICKS)).toISOString() }
}

/**
 * The point up to which the ledger was checked, from which the next check goes on: a note that is kept with the reader, and pages with the
 * sums of each account.
 */
import { WINDOWS } from '../core/windows.ts'
import type { LimitReset } from '../plugin-api/key.ts'
import { Pace } from './pace.ts'
import type { KeptSums, LedgerReaders, ReaderBatch, Sums } from './types.ts'
import { distinctKeys, type Earlier, type EarlierWindows, NONE } from './verify-totals.ts'

/** Sums of all that was checked, with those that retention had removed before. */
export interface Point extends Omit<Earlier, 'until'> {
  readonly sums: Sums
  /** Nano-dollars of `sums` that entries of the ledger had moved, by account. */
  readonly moved?: Sums
  /** Absent where the ledger had no sums of windows. */
  readonly windows?: EarlierWindows
}

/** As it was kept until schema version 18: in the note itself. */
interface OldPoint extends Omit<Earlier, 'until'> {
  readonly sums: Readonly<Record<string, string>>
  readonly windows?: {
    readonly at: number
    readonly of: Readonly<Partial<Record<LimitReset, { start: number; sums: Readonly<Record<string, string>> }>>>
  }
}

interface Note extends Omit<Earlier, 'until'> {
  /** The batch with which the sums were kept. */
  readonly kept: number
  readonly moved?: Readonly<Record<string, string>>
  readonly windows?: { readonly at: number; readonly starts: Readonly<Partial<Record<LimitReset, number>>> }
}

/** Accounts of one page: a millisecond or two. */
const PAGE = 500

/** @returns undefined where no check has left one. */
export async function readPoint({ reader, note }: ReaderBatch, readers: LedgerReaders): Promise<Point | undefined> {
  if (note === '') return undefined
  const found = JSON.parse(note) as Note | OldPoint
  if (!('kept' in found)) return oldPoint(found)
  const { kept, windows, moved = {}, ...point } = found
  const sums = new Map<string, bigint>()
  const of: Partial<Record<LimitReset, { start: number; sums: Map<string, bigint> }>> = {}
  for (const window of WINDOWS) {
    const start = windows?.starts[window]
    if (start !== undefined) of[window] = { start, sums: new Map() }
  }
  const pace = new Pace()
  for (let after = ''; ; ) {
    const page = await readers.kept(reader, kept, after, PAGE)
    for (const { account, sums: text } of page) {
      const [all, ...inWindows] = JSON.parse(text) as (string | null)[]
      if (all != null) sums.set(account, BigInt(all))
      for (const [index, window] of WINDOWS.entries()) {
        const sum = inWindows[index]
        if (sum != null) of[window]?.sums.set(account, BigInt(sum))
      }
    }
    const last = page.at(-1)
    if (!last || page.length < PAGE) break
    after = last.account
    if (pace.over) await pace.rest()
  }
  return { ...point, sums, moved: parseSums(moved), ...(windows ? { windows: { at: windows.at, of } } : {}) }
}

/** Keeps a point as that of the batch, and drops the one before. @returns false where the batch is no longer the open one. */
export async function keepPoint(
  batch: ReaderBatch,
  { sums, windows, moved = new Map(), ...point }: Point,
  readers: LedgerReaders,
): Promise<boolean> {
  const pace = new Pace()
  let page: KeptSums[] = []
  const send = async (): Promise<void> => {
    if (page.length > 0) await readers.keep(batch, page)
    page = []
    if (pace.over) await pace.rest()
  }
  const ofWindows = WINDOWS.map((window) => windows?.of[window]?.sums ?? NONE)
  for (const account of distinctKeys(sums, ...ofWindows)) {
    const inWindows = WINDOWS.map((window) => sumText(windows?.of[window]?.sums.get(account)))
    page.push({ account, sums: JSON.stringify([sumText(sums.get(account)), ...inWindows]) })
    if (page.length === PAGE) await send()
  }
  await send()
  const starts = Object.fromEntries(WINDOWS.flatMap((window) => (windows?.of[window] ? [[window, windows.of[window].start]] : [])))
  const note: Note = { ...point, kept: batch.number, moved: sumTexts(moved), ...(windows ? { windows: { at: windows.at, starts } } : {}) }
  const text = JSON.stringify(note, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
  if (!(await readers.accept(batch, text))) return false
  while ((await readers.dropKept(batch.reader, batch.number, PAGE)) >= PAGE) if (pace.over) await pace.rest()
  return true
}

const sumText = (sum: bigint | undefined): string | null => (sum === undefined ? null : String(sum))

const parseSums = (texts: Readonly<Record<string, string>>): Map<string, bigint> =>
  new Map(Object.entries(texts).map(([account, sum]) => [account, BigInt(sum)]))

const sumTexts = (sums: Sums): Record<string, string> => Object.fromEntries(Array.from(sums, ([account, sum]) => [account, String(sum)]))

function oldPoint({ sums, windows, ...point }: OldPoint): Point {
  const of: Partial<Record<LimitReset, { start: number; sums: Map<string, bigint> }>> = {}
  for (const window of WINDOWS) {
    const found = windows?.of[window]
    if (found) of[window] = { start: found.start, sums: parseSums(found.sums) }
  }
  return { ...point, sums: parseSums(sums), ...(windows ? { windows: { at: windows.at, of } } : {}) }
}

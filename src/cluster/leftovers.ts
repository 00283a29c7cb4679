/** Rows that workers had not forwarded when they ended: the next start reads their journals and takes them into the record. */
import { readdirSync, rmSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Clock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import type { Reconciliation } from '../ledger/types.ts'
import { type JournalReport, openJournal } from '../store/journal.ts'
import type { SettledRows, StoreOfRecord } from '../store/record.ts'
import { type Durability, sqliteCode } from '../store/sqlite.ts'

export interface Leftover {
  readonly slot: number
  /** Path of the journal. */
  readonly path: string
}

export interface TakingIn {
  readonly record: Pick<StoreOfRecord, 'take'>
  readonly durability: Durability
  readonly clock: Clock
  readonly report: (report: JournalReport) => void
}

/** Findings in a journal. */
export interface TakenIn {
  /** Generations that the end of the worker had left open, settled now. */
  readonly recovered: Reconciliation
  /** Generations forwarded. */
  readonly taken: number
}

/** Milliseconds between looks at a journal that is in use, and how many there are. */
const TRY_AGAIN = 100
const MAX_TRIES = 50

/** Generations per step. */
const PAGE = 500

/** Journals of workers that are there, of this run or an earlier one. @param prefix their path without the number. */
export function leftovers(prefix: string): Leftover[] {
  const name = basename(prefix)
  const found: Leftover[] = []
  for (const file of namesIn(dirname(prefix))) {
    const slot = file.startsWith(name) && /^[1-9]\d?$/.test(file.slice(name.length)) ? Number(file.slice(name.length)) : 0
    if (slot > 0) found.push({ slot, path: `${prefix}${slot}` })
  }
  return found.sort((a, b) => a.slot - b.slot)
}

/**
 * Settles what is open in a journal whose process has ended, hands all of it in and deletes it there.
 * @param node name under which the worker had leased credit; any other where it is long gone.
 * @throws Fault `unavailable` naming the file where it cannot be opened, or of the record; what is left stays in the file.
 */
export async function takeIn(path: string, node: string, { record, durability, clock, report }: TakingIn): Promise<TakenIn> {
  const journal = openJournal(path, { durability, clock, report })
  try {
    const recovered = journal.reconcile()
    let taken = 0
    for (;;) {
      const page = firstSettled(journal.export())
      if (page.length === 0) return { recovered, taken }
      await record.take(node, page)
      journal.forget(page.map(({ hold }) => hold.seq))
      taken += page.length
    }
  } finally {
    journal.close()
  }
}

/**
 * Takes in every journal that is there, one after the other, and deletes it: no worker may run.
 * @param prefix path without the number. @param take gives the report on one of them.
 * @throws Fault `unavailable`, also where a journal stays in use; those that are left are taken in the next time.
 */
export async function takeInAll(
  prefix: string,
  options: Omit<TakingIn, 'record'>,
  take: (leftover: Leftover) => Promise<Reconciliation>,
): Promise<Reconciliation[]> {
  const reports: Reconciliation[] = []
  for (const leftover of leftovers(prefix)) {
    await released(leftover.path, options)
    reports.push(await take(leftover))
    removeJournal(leftover.path)
  }
  return reports
}

/** Workers whose owner was killed end by themselves, but a moment later. */
async function released(path: string, { durability, clock, report }: Omit<TakingIn, 'record'>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      openJournal(path, { durability, clock, report }).close()
      return
    } catch (thrown) {
      if (!inUse(thrown) || tries === MAX_TRIES) throw thrown
      await new Promise<void>((resolve) => clock.after(TRY_AGAIN, resolve))
    }
  }
}

/** SQLITE_BUSY: another process owns the file. */
function inUse(thrown: unknown): boolean {
  return thrown instanceof Fault && sqliteCode(thrown.cause) === 5
}

/** Deletes an empty journal of a number that no worker has any more. */
export function removeJournal(path: string): void {
  for (const end of ['', '-wal', '-shm', '.node']) rmSync(`${path}${end}`, { force: true })
}

function firstSettled(records: ReturnType<ReturnType<typeof openJournal>['export']>): SettledRows[] {
  const page: SettledRows[] = []
  for (const { hold, settled } of records) {
    if (settled) page.push({ hold, settled })
    if (page.length === PAGE) break
  }
  return page
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    // Nothing has been kept there yet.
    return []
  }
}

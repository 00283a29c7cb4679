/** What workers had not handed in when they ended: the owner reads their journals and takes it into the record. */
import { readdirSync, rmSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Clock } from '../core/clock.ts'
import type { Reconciliation } from '../ledger/types.ts'
import { type JournalNews, openJournal } from '../store/journal.ts'
import type { SettledRows, StoreOfRecord } from '../store/record.ts'
import type { Durability } from '../store/sqlite.ts'

export interface Leftover {
  readonly slot: number
  /** Path of the journal. */
  readonly path: string
}

export interface TakingIn {
  readonly record: Pick<StoreOfRecord, 'take'>
  readonly durability: Durability
  readonly clock: Clock
  readonly report: (news: JournalNews) => void
}

/** What was found in a journal. */
export interface TakenIn {
  /** Generations that the end of the worker had left open, settled now. */
  readonly recovered: Reconciliation
  /** Generations handed in. */
  readonly taken: number
}

/** Generations per step. */
const PAGE = 500

/** Journals of workers that are there, whoever made them. @param prefix their path without the number. */
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
 * Settles what is open in a journal that nobody owns any more, hands all of it in and deletes it there.
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

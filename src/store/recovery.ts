/** The report on what a crash left open: how much, whose, from when, and which generations. */
import { generationId } from '../core/ids.ts'
import type { HoldRow, Reconciliation } from '../ledger/types.ts'
import { TICKS } from './rows.ts'

type KeyShare = Reconciliation['keys'][number]

const MAX_LISTED = 100

/** @param open holds without a settlement, in any order. */
export function planRecovery(open: Iterable<Pick<HoldRow, 'seq' | 'tag' | 'key' | 'floor'>>): Reconciliation {
  const keys = new Map<string, KeyShare>()
  const generations: string[] = []
  let [count, charged, oldest, newest] = [0, 0, Number.POSITIVE_INFINITY, 0]
  for (const { seq, tag, key, floor } of open) {
    count++
    charged = capped(charged + floor)
    oldest = Math.min(oldest, seq)
    newest = Math.max(newest, seq)
    if (generations.length < MAX_LISTED) generations.push(generationId(seq, tag))
    const sum = keys.get(key) ?? { key, count: 0, charged: 0 }
    keys.set(key, { key, count: sum.count + 1, charged: capped(sum.charged + floor) })
  }
  return {
    count,
    charged,
    oldest: count > 0 ? seqTime(oldest) : null,
    newest: count > 0 ? seqTime(newest) : null,
    keys: listed(keys.values()),
    generations,
  }
}

/** The reports of several processes as one. */
export function joinRecoveries(reports: readonly Reconciliation[]): Reconciliation {
  const keys = new Map<string, KeyShare>()
  for (const entry of reports.flatMap((report) => report.keys)) {
    const sum = keys.get(entry.key) ?? { key: entry.key, count: 0, charged: 0 }
    keys.set(entry.key, { key: entry.key, count: sum.count + entry.count, charged: capped(sum.charged + entry.charged) })
  }
  const some = reports.filter((report) => report.count > 0)
  return {
    count: reports.reduce((sum, report) => sum + report.count, 0),
    charged: reports.reduce((sum, report) => capped(sum + report.charged), 0),
    // ISO 8601 in UTC sorts by time.
    oldest: some.map((report) => report.oldest).sort()[0] ?? null,
    newest:
      some
        .map((report) => report.newest)
        .sort()
        .at(-1) ?? null,
    keys: listed(keys.values()),
    generations: reports.flatMap((report) => report.generations).slice(0, MAX_LISTED),
  }
}

function listed(keys: Iterable<KeyShare>): KeyShare[] {
  return [...keys].sort((a, b) => b.charged - a.charged || b.count - a.count || (a.key < b.key ? -1 : 1)).slice(0, MAX_LISTED)
}

function seqTime(seq: number): string {
  return new Date(Math.floor(seq / TICKS)).toISOString()
}

/** As the journals cut their sums. */
function capped(value: number): number {
  return Math.min(value, Number.MAX_SAFE_INTEGER)
}

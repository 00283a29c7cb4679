/** Settled generations of a range as JSON lines: what an export on demand reads, in the order of admission. */
import { badField } from '../core/faults.ts'
import { generationView } from '../ledger/generation.ts'
import { Pace } from '../ledger/pace.ts'
import type { LedgerReader } from '../ledger/types.ts'
import { timeOf } from './query.ts'

export interface LedgerRange {
  /** Admitted from the one moment on and before the other, milliseconds since the epoch. */
  readonly since: number
  readonly until: number
  /** Only those behind this sequence. */
  readonly after: number
}

/** @throws Fault 400 naming the parameter. */
export function rangeOf(query: URLSearchParams): LedgerRange {
  const since = timeOf(query, 'since') ?? 0
  const until = timeOf(query, 'until') ?? Number.MAX_SAFE_INTEGER
  if (since >= until) throw badField('since', 'expected a time before `until`')
  const text = query.get('after') || '-1'
  const after = /^(-1|\d{1,16})$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(after)) throw badField('after', 'expected the sequence of a generation')
  return { since, until, after }
}

/** Those that are still open are left out. */
export async function* settledIn(ledger: Pick<LedgerReader, 'export'>, { since, until, after }: LedgerRange) {
  const rows = ledger.export(since)
  const pace = new Pace(Symbol.asyncIterator in rows)
  for await (const record of rows) {
    if (record.at >= until) return
    if (record.settled && record.hold.seq > after) yield { seq: record.hold.seq, text: `${JSON.stringify(generationView(record))}\n` }
    if (pace.over) await pace.rest()
  }
}

/** With the sequence before each: `123 {"id": …}`. */
export async function* settledLines(ledger: Pick<LedgerReader, 'export'>, range: LedgerRange): AsyncGenerator<string> {
  for await (const { seq, text } of settledIn(ledger, range)) yield `${seq} ${text}`
}

/** Settled generations of a range as JSON lines: what an export on demand reads, in the order of admission. */
import { badField } from '../core/faults.ts'
import { TICKS } from '../core/ids.ts'
import { generationView } from '../ledger/generation.ts'
import { Pace } from '../ledger/pace.ts'
import type { LedgerReader } from '../ledger/reader.ts'
import type { LedgerPlace } from '../ledger/types.ts'
import { queryTime } from './query.ts'

export interface LedgerRange {
  /** Admitted from the one moment on and before the other, milliseconds since the epoch. */
  readonly since: number
  readonly until: number
  /** Only those behind this place. */
  readonly after: LedgerPlace
}

/** @throws Fault 400 naming the parameter. */
export function wantedRange(query: URLSearchParams): LedgerRange {
  const since = queryTime(query, 'since') ?? 0
  const until = queryTime(query, 'until') ?? Number.MAX_SAFE_INTEGER
  if (since >= until) throw badField('since', 'expected a time before `until`')
  const [, text, tag = ''] = /^(-1|\d{1,16})(?: ([\w-]{12}))?$/.exec(query.get('after') || '-1') ?? []
  const seq = Number(text)
  if (!Number.isSafeInteger(seq)) throw badField('after', 'expected the sequence and the tag of a generation')
  return { since, until, after: { seq, tag } }
}

/** Those that are still open are left out. */
export async function* settledIn(ledger: Pick<LedgerReader, 'export'>, { since, until, after }: LedgerRange) {
  const rows = ledger.export(Math.max(since, Math.floor(after.seq / TICKS)))
  const pace = new Pace(Symbol.asyncIterator in rows)
  for await (const record of rows) {
    if (record.at >= until) return
    const { seq, tag } = record.hold
    if (record.settled && isBehind(record.hold, after)) yield { seq, tag, text: `${JSON.stringify(generationView(record))}\n` }
    if (pace.over) await pace.rest()
  }
}

/** In the order of the ledger: tags of one sequence are compared byte by byte, and are ASCII. */
function isBehind({ seq, tag }: LedgerPlace, after: LedgerPlace): boolean {
  return seq > after.seq || (seq === after.seq && tag > after.tag)
}

/** With sequence and tag before each: `123 abcdefghijkl {"id": …}`. */
export async function* settledLines(ledger: Pick<LedgerReader, 'export'>, range: LedgerRange): AsyncGenerator<string> {
  for await (const { seq, tag, text } of settledIn(ledger, range)) yield `${seq} ${tag} ${text}`
}

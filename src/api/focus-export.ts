/** The ledger as FOCUS rows in CSV: generations in the order of their admission, then the entries that were made in the range. */
import { Pace } from '../ledger/pace.ts'
import type { LedgerReader } from '../ledger/reader.ts'
import { csvText } from './csv.ts'
import { FOCUS_CSV, type FocusSource, focusEntryRow, focusRows } from './focus.ts'
import { allKeys, type KeySource } from './key-entry.ts'
import type { LedgerRange } from './ledger-range.ts'

export interface FocusExportSource extends Pick<KeySource, 'configured' | 'store' | 'brand' | 'levels'> {
  readonly ledger: Pick<LedgerReader, 'export' | 'entries'>
}

/** Entries of one page. */
const PAGE = 500
/** Generations whose rows go out as one piece. */
const PIECE = 100

/** Open generations are left out. @param range without `after`. */
export async function* focusLines(
  source: FocusExportSource,
  { since, until }: Pick<LedgerRange, 'since' | 'until'>,
): AsyncGenerator<string> {
  const keys = new Map((await allKeys(source)).map((key) => [key.identity, key]))
  const of: FocusSource = { brand: source.brand, keys, levels: source.levels?.tree }
  yield csvText(FOCUS_CSV, [], true)
  const generations = source.ledger.export(since)
  const pace = new Pace(Symbol.asyncIterator in generations)
  let [text, count] = ['', 0]
  for await (const record of generations) {
    if (record.at >= until) break
    if (record.settled) text += csvText(FOCUS_CSV, focusRows(record, of), false)
    if (++count % PIECE === 0 && text !== '') {
      yield text
      text = ''
    }
    if (pace.over) await pace.rest()
  }
  yield text
  for (let after = 0; ; ) {
    const entries = await source.ledger.entries.page({ after, limit: PAGE })
    const wanted = entries.filter(({ kind, at }) => kind !== 'unrecovered' && kind !== 'disputed' && at >= since && at < until)
    yield csvText(
      FOCUS_CSV,
      wanted.map((entry) => focusEntryRow(entry, of)),
      false,
    )
    const last = entries.at(-1)
    if (entries.length < PAGE || !last) return
    after = last.number
    await pace.rest()
  }
}

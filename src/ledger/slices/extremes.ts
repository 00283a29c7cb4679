/** The generations of a range with the most of a measure: the dearest, the slowest. */
import { TICKS } from '../../core/ids.ts'
import { Pace } from '../pace.ts'
import type { LedgerReader } from '../reader.ts'
import type { GenerationRecord } from '../types.ts'
import type { RowBlock } from './kept-rows.ts'
import { rowFilter, timeBounds } from './slice-filter.ts'
import { AT, type ColumnNames, WIDTH } from './slice-rows.ts'
import type { ExtremeMeasure, ExtremeQuery } from './slice-types.ts'

const MEASURES: Readonly<Record<ExtremeMeasure, (rows: Uint32Array, row: number) => number>> = {
  usage: (rows, row) => (rows[row + AT.dollars] ?? 0) * 1e9 + (rows[row + AT.nano] ?? 0),
  whole: (rows, row) => rows[row + AT.whole] ?? 0,
  first: (rows, row) => rows[row + AT.first] ?? 0,
  prompt: (rows, row) => rows[row + AT.input] ?? 0,
  completion: (rows, row) => rows[row + AT.output] ?? 0,
}

/** Rows that are found before those with the least are left out. */
const SLACK = 4
/** Generations of one sequence: processes may draw the same one. */
const MAX_ALIKE = 16

interface Found {
  readonly value: number
  readonly sequence: number
}

/** @returns sequences of those with the most, in that order. Generations without the measure are left out. */
export async function extremeRows(blocks: readonly RowBlock[], names: ColumnNames, query: ExtremeQuery): Promise<number[]> {
  const isSought = rowFilter(query.filter, names)
  if (isSought === undefined) return []
  const measure = MEASURES[query.order]
  const pace = Pace.ofList()
  let found: Found[] = []
  let least = 0
  const keepMost = (): void => {
    found = found.sort((a, b) => b.value - a.value || b.sequence - a.sequence).slice(0, query.limit)
    if (found.length === query.limit) least = found.at(-1)?.value ?? 0
  }
  for (const block of blocks) {
    const { rows } = block
    const { first, end } = timeBounds(block, query)
    for (let row = 0; row < rows.length; row += WIDTH) {
      const value = measure(rows, row)
      if (value <= least) continue
      const sequence = rows[row + AT.sequence] ?? 0
      if (sequence < first || sequence >= end || !isSought(rows, row)) continue
      found.push({ value, sequence: block.at * TICKS + sequence })
      if (found.length >= query.limit * SLACK) keepMost()
    }
    if (pace.over) await pace.rest()
  }
  keepMost()
  return found.map(({ sequence }) => sequence)
}

/** Records of sequences, in their order; those that are gone are left out. */
export async function recordsAt(sequences: readonly number[], ledger: Pick<LedgerReader, 'search'>): Promise<GenerationRecord[]> {
  const records: GenerationRecord[] = []
  for (const sequence of sequences) {
    const moment = Math.floor(sequence / TICKS)
    const { rows } = await ledger.search({ from: moment, until: moment + 1, limit: TICKS * MAX_ALIKE }, '')
    records.push(...rows.filter(({ hold, settled }) => hold.seq === sequence && settled))
  }
  return records
}

/** Range of times in which rows about a generation lie, for tables without an index of generation ids. */
import { badField } from '../core/faults.ts'
import { parseGenerationId, TICKS } from '../core/ids.ts'

/** Milliseconds around the admission of a generation in which such rows are sought: clocks differ, and an answer takes its time. */
const BEFORE = 120_000
const AFTER = 3_600_000

/** The time that an id names bounds what is read. @param field at fault. @throws Fault 400. */
export function timesAround(generation: string, field: string): { since: number; after: { at: number; id: string } } {
  const parsed = parseGenerationId(generation)
  if (!parsed) throw badField(field, 'expected the id of a generation')
  const admitted = Math.floor(parsed.seq / TICKS)
  return { since: Math.max(0, admitted - BEFORE), after: { at: admitted + AFTER, id: '' } }
}

/** What SQLite reads of the facts of a settlement, for sums of use. */
import { NANO } from './rows.ts'

/** A fact of the settlement, or the hold's own where none is recorded. Facts that are no JSON count as none. */
export const fact = (name: string, otherwise: string): string =>
  `ifnull(nullif(iif(json_valid(facts) AND json_type(facts, '$.${name}') = 'text', facts ->> '$.${name}', ''), ''), ${otherwise})`

/** Whole nano-dollars, so that their sum is exact. */
export const SAVED = `iif(json_valid(facts) AND json_type(facts, '$.cache_discount') IN ('integer', 'real'), round((facts ->> '$.cache_discount') * ${NANO}), 0)`

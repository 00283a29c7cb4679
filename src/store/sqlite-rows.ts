/** Rows of the embedded store's tables as the ledger has them. */
import type { SQLOutputValue } from 'node:sqlite'
import { COUNT_COLUMNS } from '../core/ledger-counts.ts'
import { rowCountsFrom } from '../core/row-counts.ts'
import type { HoldRow, SettleRow, SettleStatus } from '../ledger/types.ts'
import { integer, text } from './sqlite.ts'

type Row = Readonly<Record<string, SQLOutputValue>> | undefined

/** Columns of a settlement beside those of its hold, whose `seq` has its name. */
export const SETTLED_COLUMNS = `settlement.seq AS settled, status, cost, ${COUNT_COLUMNS.join(', ')}, estimated, facts, at`

/** The columns of `hold`. */
export function holdFrom(row: Row): HoldRow | undefined {
  if (!row) return undefined
  const payer = text(row.payer)
  return {
    seq: integer(row.seq),
    tag: text(row.tag),
    key: text(row.key),
    ...(payer === '' ? {} : { payer }),
    model: text(row.model),
    endpoint: text(row.endpoint),
    hold: integer(row.hold),
    floor: integer(row.floor),
  }
}

const STATUSES: readonly SettleStatus[] = ['completed', 'incomplete', 'failed', 'aborted', 'unknown']

/** The columns of `settlement`. */
export function settlementFrom(row: Row): SettleRow | undefined {
  if (!row) return undefined
  const status = STATUSES.find((known) => known === row.status)
  if (status === undefined) throw new TypeError('expected a settlement status')
  return {
    ...rowCountsFrom(row, integer),
    seq: integer(row.seq),
    status,
    cost: integer(row.cost),
    estimated: row.estimated === 1,
    facts: text(row.facts),
    at: integer(row.at),
  }
}

/** Use of keys that teams have brought, as the embedded store has summed it (`byok-use-triggers.ts`). */
import type { DatabaseSync } from 'node:sqlite'
import { NEAREST_PAYER } from '../core/payers.ts'
import type { ByokUse, ByokUseQuery } from '../ledger/types.ts'
import { DAY_MS } from './rows.ts'
import { text } from './sqlite-values.ts'

const SUMS = `SELECT day, key, payer, model, endpoint, provider, sum(requests) AS requests, CAST(sum(upstream) AS TEXT) AS upstream,
    CAST(sum(counted) AS TEXT) AS counted
  FROM byok_use WHERE day >= ?1 AND day < ?2 AND (?3 IS NULL OR key IN (SELECT value FROM json_each(?3)) OR (payer <> '' AND ${NEAREST_PAYER.sqlite} IN (SELECT value FROM json_each(?3))))
  GROUP BY day, key, payer, model, endpoint, provider`

/** Reads the sums of the embedded store. */
export function sqliteByokUse(db: DatabaseSync, { from, until, keys }: ByokUseQuery): ByokUse[] {
  const rows = db.prepare(SUMS).all(Math.floor(from / DAY_MS), Math.ceil(until / DAY_MS), keys ? JSON.stringify(keys) : null)
  return rows.map((row) => ({
    day: Number(row.day) * DAY_MS,
    key: text(row.key),
    payer: text(row.payer),
    model: text(row.model),
    endpoint: text(row.endpoint),
    provider: text(row.provider),
    requests: Number(row.requests),
    upstream: BigInt(text(row.upstream)),
    counted: BigInt(text(row.counted)),
  }))
}

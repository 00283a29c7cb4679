/** Refused requests in PostgreSQL. */
import { sql } from 'kysely'
import { generationMark, NEWEST_REFUSAL, type RefusalDetail, type RefusalQuery, type RefusalRow, type RefusalStore } from '../refusals.ts'
import type { Connections } from './connections.ts'
import { query, type RefusalTable, storable } from './tables.ts'

/** Rows of one statement: a statement takes 65,535 values. */
const MAX_ROWS = 500

export class PostgresRefusals implements RefusalStore {
  private readonly connection: Connections['readings']

  constructor({ readings }: Pick<Connections, 'readings'>) {
    this.connection = readings
  }

  async put(rows: readonly RefusalRow[]): Promise<void> {
    for (let from = 0; from < rows.length; from += MAX_ROWS) {
      const insert = query.insertInto('refusal').values(rows.slice(from, from + MAX_ROWS).map(refusalTable))
      const detail = sql<string>`excluded.detail`
      await this.connection.run(insert.onConflict((conflict) => conflict.columns(['at', 'id']).doUpdateSet({ detail })).compile())
    }
  }

  async list({ since, key, keys, reason, generation, after = NEWEST_REFUSAL, limit }: RefusalQuery): Promise<RefusalRow[]> {
    const older = sql<boolean>`(at, id) < (${after.at}, ${after.id})`
    let found = query.selectFrom('refusal').selectAll().where('at', '>=', since).where(older)
    if (key !== undefined) found = found.where('key', '=', storable(key))
    if (keys) found = found.where(sql<boolean>`key = any(${keys.map(storable)})`)
    if (reason !== undefined) found = found.where('reason', '=', storable(reason))
    if (generation !== undefined) found = found.where(sql<boolean>`position(${generationMark(generation)} in detail) > 0`)
    return (await this.connection.run(found.orderBy('at', 'desc').orderBy('id', 'desc').limit(limit).compile())).map(rowFrom)
  }

  async prune(before: number, most: number, age = 0): Promise<number> {
    const statement = sql<{ count: number }>`
      with present as materialized (
        select least(${Math.floor(before)}::bigint, headgate_now() - ${Math.ceil(age)}::bigint) as bound
      ), old as (
        select at, id from refusal where at < (select bound from present) order by at, id limit ${most} for update skip locked
      ), gone as (
        delete from refusal r using old where r.at = old.at and r.id = old.id returning 1
      )
      select count(*) as count from gone`
    const [row] = await this.connection.run(statement.compile(query))
    return row?.count ?? 0
  }
}

function refusalTable({ at, id, key, reason, detail }: RefusalRow): RefusalTable {
  return { at, id, key: storable(key), reason, detail: JSON.stringify(detail) }
}

function rowFrom(row: RefusalTable): RefusalRow {
  return { ...row, detail: JSON.parse(row.detail) as RefusalDetail }
}

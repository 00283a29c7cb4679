/** Owners of ids of providers in PostgreSQL. */
import { sql } from 'kysely'
import type { GivenId, GivenIdStore } from '../given-ids.ts'
import type { Connections } from './connections.ts'
import { query, storable } from './tables.ts'

/** Rows of one statement: a statement takes 65,535 values. */
const MAX_ROWS = 500

export class PostgresGivenIds implements GivenIdStore {
  private readonly connection: Connections['readings']

  constructor({ readings }: Pick<Connections, 'readings'>) {
    this.connection = readings
  }

  async give(rows: readonly GivenId[]): Promise<void> {
    for (let from = 0; from < rows.length; from += MAX_ROWS) {
      const values = rows
        .slice(from, from + MAX_ROWS)
        .map(({ id, owner, until }) => ({ id, owner: storable(owner), until: Math.floor(until) }))
      await this.connection.run(
        query
          .insertInto('given_id')
          .values(values)
          .onConflict((conflict) => conflict.column('id').doNothing())
          .compile(),
      )
    }
  }

  async find(ids: readonly string[]): Promise<GivenId[]> {
    const found: GivenId[] = []
    for (let from = 0; from < ids.length; from += MAX_ROWS) {
      const some = ids.slice(from, from + MAX_ROWS)
      found.push(...(await this.connection.run(query.selectFrom('given_id').selectAll().where('id', 'in', some).compile())))
    }
    return found
  }

  async prune(before: number, most: number, age = 0): Promise<number> {
    const statement = sql<{ count: number }>`
      with present as materialized (
        select least(${Math.floor(before)}::bigint, headgate_now() - ${Math.ceil(age)}::bigint) as bound
      ), old as (
        select id from given_id where until < (select bound from present) order by until limit ${most} for update skip locked
      ), gone as (
        delete from given_id g using old where g.id = old.id returning 1
      )
      select count(*) as count from gone`
    const [row] = await this.connection.run(statement.compile(query))
    return row?.count ?? 0
  }
}

/** Brings a PostgreSQL database to this program's version when it is opened; many processes may do so at once. */
import { CompiledQuery, sql } from 'kysely'
import { Fault } from '../../core/faults.ts'
import { migrationsFor, SCHEMA_VERSION } from '../migrations.ts'
import { Connection, type Session, type TimeLimits } from './connection.ts'
import { LOCKS, query } from './tables.ts'

/** Milliseconds that one statement may take: it may rewrite a large table, or wait for another process that does. */
const LONGEST = 600_000

/**
 * In one transaction, over a connection of its own.
 * @throws Fault `bad_request` for a URL that is none, `unavailable` where the database does not answer, or was made by a
 * newer program.
 */
export async function migrate(url: string, limits: TimeLimits): Promise<void> {
  const connection = new Connection(url, () => {}, { ...limits, statement: LONGEST })
  try {
    await bringUp(connection)
  } finally {
    await connection.close()
  }
}

function bringUp(connection: Connection): Promise<void> {
  return connection.transaction(async (session) => {
    await session.run(sql`select pg_advisory_xact_lock(${LOCKS.program}::int, ${LOCKS.migration}::int)`.compile(query))
    const found = await versionOf(session)
    if (found > SCHEMA_VERSION) {
      const message = `The database of store.url has schema version ${found}, this program knows ${SCHEMA_VERSION}: it was made by a newer one`
      throw new Fault('unavailable', { message })
    }
    if (found === SCHEMA_VERSION) return
    for (const statement of migrationsFor('postgres').slice(found).flat()) await session.run(CompiledQuery.raw(statement))
    await session.run(sql`update headgate_schema set version = ${SCHEMA_VERSION}`.compile(query))
  })
}

async function versionOf(session: Session): Promise<number> {
  await session.run(sql`create table if not exists headgate_schema (version integer not null)`.compile(query))
  const [row] = await session.run(sql<{ version: number }>`select version from headgate_schema`.compile(query))
  if (row) return row.version
  await session.run(sql`insert into headgate_schema values (0)`.compile(query))
  return 0
}

/** Brings a PostgreSQL database to this program's version when it is opened; many processes may do so at once. */
import { CompiledQuery, sql } from 'kysely'
import { Fault } from '../../core/faults.ts'
import { migrationsFor, SCHEMA_VERSION } from '../migrations.ts'
import { newerSchema } from '../schema.ts'
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
    if (found > SCHEMA_VERSION) throw new Fault('unavailable', { message: `The database of store.url ${newerSchema(found)}` })
    if (found === SCHEMA_VERSION) return
    await needCreate(session, found)
    if (found === 0) await session.run(sql`create table if not exists headgate_schema (version integer not null)`.compile(query))
    for (const statement of migrationsFor('postgres').slice(found).flat()) await session.run(CompiledQuery.raw(statement))
    await session.run(sql`delete from headgate_schema`.compile(query))
    await session.run(sql`insert into headgate_schema values (${SCHEMA_VERSION})`.compile(query))
  })
}

/** Looked up before anything is created: on a database that is up to date the role needs no right to create. */
async function versionOf(session: Session): Promise<number> {
  const [{ exists }] = await session.run(
    sql<{ exists: boolean }>`select to_regclass('headgate_schema') is not null as exists`.compile(query),
  )
  if (!exists) return 0
  const [row] = await session.run(sql<{ version: number }>`select version from headgate_schema`.compile(query))
  return row?.version ?? 0
}

/** @throws Fault `unavailable` where the role may not change tables that are missing or old. */
async function needCreate(session: Session, found: number): Promise<void> {
  const [{ may }] = await session.run(sql<{ may: boolean }>`select has_schema_privilege(current_schema(), 'CREATE') as may`.compile(query))
  if (may) return
  const state = found === 0 ? 'has no tables yet' : `has schema version ${found}, this program needs ${SCHEMA_VERSION}`
  throw new Fault('unavailable', { message: `The database of store.url ${state}: start once with a role that may create tables there` })
}

/** An index of a table that is in use: it keeps no row from being written, and what a killed program has left of it is made anew. */
import { setTimeout as pause } from 'node:timers/promises'
import { CompiledQuery, sql } from 'kysely'
import { type IndexBeside, indexStatement } from '../schema-script.ts'
import { type Connection, StatementFault } from './connection.ts'
import { query } from './tables.ts'

/** Milliseconds between two looks at what another session of the server makes. */
const PAUSE = 250
/** Tries of one index: another session may end one by a deadlock. */
const MAX_TRIES = 5

/**
 * Called by one program at a time. The session of a killed one goes on at the server until its index is done, so it is waited for.
 * @throws Fault `unavailable`: what is there of the index by then is not used, and the next call replaces it.
 */
export async function buildIndex(connection: Connection, index: IndexBeside): Promise<void> {
  for (let tries = 1; ; ) {
    if (await isBuilding(connection, index.table)) {
      await pause(PAUSE)
      continue
    }
    const found = await validity(connection, index.name)
    if (found === 'valid') return
    try {
      if (found === 'invalid') await connection.run(CompiledQuery.raw(`drop index concurrently if exists ${index.name}`))
      await connection.run(CompiledQuery.raw(indexStatement(index, 'concurrently')))
    } catch (thrown) {
      // Without a state the connection has failed, and the index may be done all the same: the next start looks.
      if (!(thrown instanceof StatementFault) || thrown.state === undefined || ++tries > MAX_TRIES) throw thrown
    }
  }
}

/** True if a session of the server builds an index of the table. Sessions of other roles do not show theirs: they count as doing so. */
async function isBuilding(connection: Connection, table: string): Promise<boolean> {
  const running = sql`select 1 from pg_stat_progress_create_index p, pg_database d
    where d.datname = current_database() and p.datid = d.oid and coalesce(p.relid = to_regclass(${table}), true)`
  return (await connection.run(running.compile(query))).length > 0
}

async function validity(connection: Connection, name: string): Promise<'absent' | 'invalid' | 'valid'> {
  const state = sql<{ valid: boolean }>`select indisvalid as valid from pg_index where indexrelid = to_regclass(${name})`
  const [row] = await connection.run(state.compile(query))
  return row === undefined ? 'absent' : row.valid ? 'valid' : 'invalid'
}

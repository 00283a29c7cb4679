/**
 * Brings a PostgreSQL database to this program's version when it is opened, step by step, while programs of the version before go on
 * working (docs/decisions/0064). Many programs may do so at once. What was begun and not ended is ended by the next start.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { CompiledQuery, sql } from 'kysely'
import { Fault } from '../../core/faults.ts'
import { type CompiledStep, compiledSteps, FIRST_STATED, migrationsFor, SCHEMA_VERSION } from '../migrations.ts'
import { newerSchema } from '../schema.ts'
import { Connection, type Session, StatementFault, type TimeLimits } from './connection.ts'
import { buildIndex } from './index-build.ts'
import { LOCKS } from './locks.ts'
import { query } from './tables.ts'

/** Milliseconds for a statement that may rewrite a large table, and for what is to become free. */
const LONGEST = 600_000
/** Milliseconds for an index of a table of any size. */
const MAX_INDEX_MS = 1_000_000_000
/**
 * Milliseconds for which a step waits for the lock of a table: whatever comes behind it waits as long. Less than the second after which
 * the server looks for deadlocks (`deadlock_timeout`) and ends one of those that wait.
 */
const LOCK_WAIT = 300
const LOCK_NOT_AVAILABLE = '55P03'
/** Milliseconds between two tries; of those that have made others wait, so many that these wait a tenth of the time at most. */
const PAUSE = 100
const LOCK_PAUSE = 9 * LOCK_WAIT
/** Milliseconds; a process that was killed counts as running for 10 s. */
const DEFAULT_WAIT_MS = 20_000

interface SchemaState {
  readonly version: number
  /** The oldest program that works with it. */
  readonly least: number
  /** Its version when its indexes were last complete. */
  readonly indexed: number
}

/** The reason why a try changed nothing. It is tried again after `pause`, until `waitMs` have passed since the first try; milliseconds. */
interface Obstacle {
  readonly reason: string
  readonly pause: number
  readonly waitMs: number
}

/** Progress of a migration for the operator: each is reported once. */
export type MigrationReport = { kind: 'migration-waits'; reason: string } | { kind: 'migrated'; from: number; to: number }

interface MigrationOptions {
  readonly limits: TimeLimits
  readonly report: (report: MigrationReport) => void
  /** Milliseconds for which it waits for the end of programs that would not work with the next version. Default: 20 s. */
  readonly waitMs?: number | undefined
}

/**
 * @throws Fault `bad_request` for a URL that is none; `unavailable` where the database does not answer, was made by a
 * newer program that this one cannot work beside, or cannot be migrated yet.
 */
export async function migrate(url: string, { limits, report, waitMs = DEFAULT_WAIT_MS }: MigrationOptions): Promise<void> {
  const connection = new Connection(url, () => {}, { ...limits, statement: LONGEST })
  const builder = new Connection(url, () => {}, { ...limits, statement: MAX_INDEX_MS })
  try {
    const begun = performance.now()
    const reported = new Set<string>()
    const first = await schemaState(connection)
    let state = first
    while (!isDone(state)) {
      const obstacle = await advance(connection, builder, waitMs)
      if (obstacle) {
        const { reason } = obstacle
        if (!reported.has(reason)) report({ kind: 'migration-waits', reason })
        reported.add(reason)
        if (performance.now() - begun > obstacle.waitMs) throw notNow(reason)
        // Without a connection nothing else keeps the process alive.
        await pause(obstacle.pause)
      }
      state = await schemaState(connection)
    }
    if (first.version > 0 && first.version < state.version) report({ kind: 'migrated', from: first.version, to: state.version })
  } finally {
    await connection.close()
    await builder.close()
  }
}

/** @throws Fault `unavailable` where this program cannot work with the database. */
function isDone({ version, least, indexed }: SchemaState): boolean {
  if (version <= SCHEMA_VERSION) return version === SCHEMA_VERSION && indexed === version
  if (least <= SCHEMA_VERSION) return true
  throw new Fault('unavailable', { message: `The database of store.url ${newerSchema(version)}` })
}

/** Looked up before anything is created: on a database that is up to date the role needs no right to create. */
async function schemaState(session: Session): Promise<SchemaState> {
  const [named] = await session.run(sql<{ exists: boolean }>`select to_regclass('headgate_schema') is not null as exists`.compile(query))
  if (!named?.exists) return { version: 0, least: 0, indexed: 0 }
  // Before version 26 it has its version alone.
  const stated = sql<SchemaState>`select version, coalesce((to_jsonb(s) ->> 'least')::integer, version) as least,
    coalesce((to_jsonb(s) ->> 'indexed')::integer, version) as indexed from headgate_schema s`
  const [row] = await session.run(stated.compile(query))
  return row ?? { version: 0, least: 0, indexed: 0 }
}

/**
 * One step in one transaction, or the indexes of the steps that were done. The lock is tried for, and never waited for: a statement that
 * waits has a snapshot, and an index that is made beside the work waits for all older snapshots (PostgreSQL 15, CREATE INDEX). Nor does
 * the transaction that holds it have a snapshot between two statements. Since a transaction holds it, a pooler may stand between, and it
 * is free as soon as the program has ended.
 */
async function advance(connection: Connection, builder: Connection, waitMs: number): Promise<Obstacle | undefined> {
  try {
    return await connection.transaction(async (session) => {
      const taken = sql<{ got: boolean }>`select pg_try_advisory_xact_lock(${LOCKS.program}::int, ${LOCKS.schema}::int) as got`
      const [lock] = await session.run(taken.compile(query))
      if (!lock?.got) return { reason: 'another program is migrating it', pause: PAUSE, waitMs: LONGEST }
      const state = await schemaState(session)
      if (isDone(state)) return undefined
      await needCreate(session, state)
      if (state.indexed < state.version) return buildIndexes(session, builder, state)
      return state.version === 0 ? createAll(session) : stepUp(session, state, waitMs)
    })
  } catch (thrown) {
    if (!(thrown instanceof StatementFault) || thrown.state !== LOCK_NOT_AVAILABLE) throw thrown
    return { reason: 'a transaction keeps one of its tables locked', pause: LOCK_PAUSE, waitMs: LONGEST }
  }
}

async function createAll(session: Session): Promise<undefined> {
  await session.run(sql`create table if not exists headgate_schema (version integer not null)`.compile(query))
  for (const statement of migrationsFor('postgres').flat()) await session.run(CompiledQuery.raw(statement))
  const last = compiledSteps('postgres').at(-1)
  await state(session, { version: SCHEMA_VERSION, least: last?.least ?? SCHEMA_VERSION, indexed: SCHEMA_VERSION })
}

/** The first steps all at once, since no other program runs; then each alone, so that its locks are held for a moment only. */
async function stepUp(session: Session, { version }: SchemaState, waitMs: number): Promise<Obstacle | undefined> {
  const steps = compiledSteps('postgres')
  const ahead = steps.slice(version)
  const stops = ahead.filter(({ kind }) => kind === 'stop')
  const taken = stops.length > 0 ? stops : ahead.slice(0, 1)
  const last = taken.at(-1)
  if (!last) return undefined
  const running = last.kind === 'expand' ? undefined : await olderPrograms(session, version, last)
  if (running !== undefined)
    return {
      reason: `schema version ${last.version} has no place for what programs that still run use (${running}): end those first`,
      pause: PAUSE,
      waitMs,
    }
  if (last.kind !== 'stop') await session.run(sql`select set_config('lock_timeout', ${String(LOCK_WAIT)}, true)`.compile(query))
  // Programs of versions before 26 lock this one.
  await session.run(sql`select pg_advisory_xact_lock(${LOCKS.program}::int, ${LOCKS.migration}::int)`.compile(query))
  for (const { statements } of taken) for (const statement of statements) await session.run(CompiledQuery.raw(statement))
  const isComplete = taken.every(({ indexes }) => indexes.length === 0)
  await state(session, { version: last.version, least: last.least, indexed: isComplete ? last.version : version })
}

/** @returns one of the programs that run and would not work with the next version, and how many they are; undefined without any. */
async function olderPrograms(session: Session, version: number, { least }: CompiledStep): Promise<string | undefined> {
  const [table] = await session.run(sql<{ exists: boolean }>`select to_regclass('node') is not null as exists`.compile(query))
  if (!table?.exists) return undefined
  const older = version < FIRST_STATED ? sql`true` : sql`schema_version < ${least}::bigint`
  const running = sql<{ label: string | null; count: number }>`select min(label) as label, count(*) as count from node
    where expires_at > (extract(epoch from clock_timestamp()) * 1000)::bigint and ${older}`
  const [row] = await session.run(running.compile(query))
  return row && row.count > 0 ? `${row.label}; ${row.count} in all` : undefined
}

/** Beside the work, over another connection: no transaction can have it. */
async function buildIndexes(session: Session, builder: Connection, { version, least, indexed }: SchemaState): Promise<undefined> {
  await session.run(sql`select set_config('idle_in_transaction_session_timeout', '0', true)`.compile(query))
  const steps = compiledSteps('postgres').slice(indexed, version)
  for (const index of steps.flatMap(({ indexes }) => indexes)) await buildIndex(builder, index)
  await state(session, { version, least, indexed: version })
}

async function state(session: Session, { version, least, indexed }: SchemaState): Promise<void> {
  await session.run(sql`delete from headgate_schema`.compile(query))
  const stated =
    version < FIRST_STATED ? sql`(version) values (${version})` : sql`(version, least, indexed) values (${version}, ${least}, ${indexed})`
  await session.run(sql`insert into headgate_schema ${stated}`.compile(query))
}

/** @throws Fault `unavailable` where the role may not change tables that are missing or old. */
async function needCreate(session: Session, { version, indexed }: SchemaState): Promise<void> {
  const [role] = await session.run(sql<{ may: boolean }>`select has_schema_privilege(current_schema(), 'CREATE') as may`.compile(query))
  if (role?.may) return
  const found =
    indexed < version ? `lacks indexes of schema version ${version}` : `has schema version ${version}, this program needs ${SCHEMA_VERSION}`
  const message = `The database of store.url ${version === 0 ? 'has no tables yet' : found}: start once with a role that may create tables there`
  throw new Fault('unavailable', { message })
}

function notNow(reason: string): Fault {
  return new Fault('unavailable', { message: `The database of store.url cannot be migrated now: ${reason}` })
}

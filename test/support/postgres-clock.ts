/** A record on PostgreSQL whose database has the time of a test's clock: its own clock decides on windows and on leases. */
import pg from 'pg'
import type { StoreOfRecord } from '../../src/store/record.ts'
import type { FakeClock } from './clock.ts'
import type { TestPostgres } from './postgres.ts'

/** Calls that look at the time. */
const TIMED: ReadonlySet<PropertyKey> = new Set([
  'take',
  'lease',
  'giveBack',
  'endLeases',
  'pulse',
  'balances',
  'forgetLost',
  'rebuildWindows',
  'prune',
])

/** PostgreSQL refuses two changes of one function at the same time. */
let last: Promise<unknown> = Promise.resolve()

/** Sets the time of a database. @param now milliseconds since the epoch; undefined: the true time. */
export function setDatabaseTime(server: Pick<TestPostgres, 'query'>, url: string, now: number | undefined): Promise<void> {
  const time = now === undefined ? 'floor(extract(epoch FROM clock_timestamp()) * 1000)' : Math.floor(now)
  return setTime(`SELECT (${time})::bigint`, server, url)
}

async function setTime(body: string, server: Pick<TestPostgres, 'query'>, url: string): Promise<void> {
  const before = last
  const done = Promise.withResolvers<void>()
  last = done.promise
  await before
  try {
    await server.query(url, `CREATE OR REPLACE FUNCTION headgate_now() RETURNS bigint LANGUAGE sql VOLATILE AS '${body}'`)
  } finally {
    done.resolve()
  }
}

/** The record, whose database is set to the clock's time before each call for which that matters. */
export async function clocked<R extends StoreOfRecord>(
  record: R,
  clock: Pick<FakeClock, 'now'>,
  server: Pick<TestPostgres, 'query'>,
  url: string,
): Promise<R> {
  const client = new pg.Client({ connectionString: url })
  // A server that a test ends takes this connection along.
  client.on('error', () => {})
  await client.connect()
  // Two sessions that create it at once both pass the check: the second one then fails on the catalogue's own index.
  await client.query(
    'BEGIN; SELECT pg_advisory_xact_lock(1); CREATE TABLE IF NOT EXISTS test_clock (one boolean PRIMARY KEY, at bigint NOT NULL); COMMIT',
  )
  await setTime('SELECT at FROM test_clock', server, url)
  let [setTo, setting]: [number | undefined, Promise<unknown>] = [undefined, Promise.resolve()]
  const inTime = (): Promise<unknown> => {
    const now = Math.floor(clock.now())
    if (setTo !== now) {
      setTo = now
      const statement = 'INSERT INTO test_clock VALUES (true, $1) ON CONFLICT (one) DO UPDATE SET at = excluded.at'
      setting = setting.then(() => client.query(statement, [now]))
    }
    return setting
  }
  await inTime()
  return new Proxy(record, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (name === 'close') return () => client.end().then(() => target.close())
      if (!TIMED.has(name)) return value.bind(target)
      return async (...args: unknown[]) => {
        await inTime()
        return Reflect.apply(value, target, args)
      }
    },
  })
}

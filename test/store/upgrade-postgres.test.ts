/** PostgreSQL databases that earlier versions have written, with a journal beside them, opened by this one. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { SCHEMA_VERSION } from '../../src/store/schema.ts'
import { FakeClock } from '../support/clock.ts'
import { startGateway } from '../support/gateway.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { setDatabaseTime } from '../support/postgres-clock.ts'
import {
  checkCompacts,
  checkGoesOn,
  compareStates,
  FIXTURE_VERSIONS,
  fixtureConfig,
  fixtureText,
  loadSqlite,
  type Place,
  RECORDED_AT,
  readState,
  wantedState,
} from '../support/stored-state.ts'
import { startUpstream } from '../support/upstream.ts'
import { answerFor } from '../support/wire.ts'

t.setTimeout(280_000)
const server = await startPostgres(t)
if (server) tests(server)
else t.plan(0, 'PostgreSQL is not installed')

/** The database and the journal as a crash has left them. */
async function createPlace(t: Test, server: TestPostgres, version: string): Promise<Place> {
  const url = await server.database()
  await server.query(url, fixtureText(version, 'postgres.sql'))
  const journal = loadSqlite(join(t.testdir(), 'journal.db'), fixtureText(version, 'journal.sql'))
  writeFileSync(`${journal}.node`, fixtureText(version, 'journal.node'))
  return { url, journal }
}

/** Every table, index and function, as the database describes them. */
async function readSchema(server: TestPostgres, url: string): Promise<Record<string, unknown>[][]> {
  const columns = `SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
    WHERE table_schema = 'public' ORDER BY table_name, column_name`
  const indexes = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname"
  const functions = `SELECT proname, pg_get_functiondef(oid) AS text FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace ORDER BY proname, text`
  return Promise.all([columns, indexes, functions].map((text) => server.query(url, text)))
}

function tests(server: TestPostgres): void {
  for (const version of FIXTURE_VERSIONS)
    t.test(`a database of schema version ${version} keeps every key, sum and row`, async (t) => {
      const upstream = await startUpstream((seen) => answerFor(seen, { text: ['ok'] }))
      t.teardown(() => upstream.close())
      const place = await createPlace(t, server, version)
      const gateway = await startGateway(fixtureConfig(place, upstream.url), { clock: new FakeClock(1, RECORDED_AT) })
      t.teardown(() => gateway.close())
      await setDatabaseTime(server, place.url, RECORDED_AT)
      const wanted = wantedState(version, 'postgres.json')
      compareStates(t, await readState(gateway), wanted)
      t.match(
        await server.query(place.url, 'SELECT coalesce(sum(leased), 0)::int AS leased FROM balance'),
        [{ leased: 0 }],
        'no lease is left',
      )
      await gateway.restart()
      t.match((await readState(gateway)).keys, wanted.keys, 'also after another start')
      await checkGoesOn(t, gateway, wanted)
      await checkCompacts(t, gateway)
      const empty = { url: await server.database(), journal: join(t.testdir(), 'journal.db') }
      const fresh = await startGateway(fixtureConfig(empty, upstream.url), { clock: new FakeClock(1, RECORDED_AT) })
      await fresh.close()
      await setDatabaseTime(server, empty.url, RECORDED_AT)
      t.same(
        await readSchema(server, place.url),
        await readSchema(server, empty.url),
        'the same tables, indexes and functions as a new database',
      )
    })

  t.test('a newer database is refused, and the error names both versions', async (t) => {
    const place = await createPlace(t, server, '5')
    await server.query(place.url, 'UPDATE headgate_schema SET version = 99')
    await t.rejects(startGateway(fixtureConfig(place, 'http://127.0.0.1:9')), {
      code: 'unavailable',
      message: `The database of store.url was written by a newer headgate: it has schema version 99, and this program knows versions up to ${SCHEMA_VERSION}`,
    })
    t.match(await server.query(place.url, 'SELECT version::int FROM headgate_schema'), [{ version: 99 }], 'it stays as it is')
  })

  t.test('a newer journal beside the database is refused, and the error names both versions', async (t) => {
    const place = await createPlace(t, server, '5')
    const journal = loadSqlite(join(t.testdir(), 'newer.db'), `${fixtureText('5', 'journal.sql')} PRAGMA user_version = 99;`)
    await t.rejects(startGateway(fixtureConfig({ ...place, journal }, 'http://127.0.0.1:9')), {
      code: 'unavailable',
      message: `store ${journal} was written by a newer headgate: it has schema version 99, and this program knows versions up to ${SCHEMA_VERSION}`,
    })
  })
}

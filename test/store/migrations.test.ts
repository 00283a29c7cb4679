/** One source of both schemas: how an empty or older database becomes one of this version. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { asFault, type Fault } from '../../src/core/faults.ts'
import { migrationsFor, SCHEMA_VERSION } from '../../src/store/migrations.ts'
import { openStore } from '../../src/store/open.ts'
import { openPostgres } from '../../src/store/postgres/record.ts'
import { openDatabase } from '../../src/store/sqlite.ts'
import { SQLITE_MIGRATIONS } from '../../src/store/sqlite-schema.ts'
import { FakeClock } from '../support/clock.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'

async function catchFault(run: Promise<unknown>): Promise<Fault> {
  try {
    await run
  } catch (thrown) {
    return asFault(thrown)
  }
  throw new Error('expected a fault')
}

const server = await startPostgres(t)
const HASH = 'a'.repeat(64)

t.test('the statements that were generated are those of the source', async (t) => {
  t.same(SQLITE_MIGRATIONS, migrationsFor('sqlite'))
  t.equal(SCHEMA_VERSION, SQLITE_MIGRATIONS.length)
})

/** Version 2 as the program created it, before there was one source. */
const VERSION_2 = `
CREATE TABLE hold (seq INTEGER PRIMARY KEY, tag TEXT NOT NULL, key TEXT NOT NULL, model TEXT NOT NULL, endpoint TEXT NOT NULL,
  hold INTEGER NOT NULL, floor INTEGER NOT NULL) STRICT;
CREATE TABLE settlement (seq INTEGER PRIMARY KEY, status TEXT NOT NULL, cost INTEGER NOT NULL, input INTEGER NOT NULL,
  output INTEGER NOT NULL, cached INTEGER NOT NULL, cache_write INTEGER NOT NULL, reasoning INTEGER NOT NULL,
  estimated INTEGER NOT NULL, facts TEXT NOT NULL, at INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE api_key (hash TEXT PRIMARY KEY, name TEXT NOT NULL, label TEXT NOT NULL, credit_limit INTEGER, management INTEGER NOT NULL,
  disabled INTEGER NOT NULL, expires_at INTEGER, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, policy TEXT NOT NULL,
  identity TEXT NOT NULL DEFAULT '', limit_reset TEXT, include_byok INTEGER NOT NULL DEFAULT 0, creator TEXT) STRICT, WITHOUT ROWID;
INSERT INTO hold VALUES (5, 'abcdefghijkl', '${HASH}', 'acme/one', 'acme/one@here', 900, 300);
INSERT INTO settlement VALUES (5, 'completed', 42, 1, 2, 0, 0, 0, 0, '{}', 77);
INSERT INTO api_key VALUES ('${HASH}', 'old', 'sk-o...ld', 7, 0, 1, NULL, 11, 12, '{"limits":{},"passage":false}', 'its own', 'daily', 1, 'me');
PRAGMA application_id = ${0x48474154};
PRAGMA user_version = 2;
`

t.test('SQLite: a new file and one that was brought up have the same tables', async (t) => {
  const folder = t.testdir()
  const old = new DatabaseSync(join(folder, 'old.db'))
  old.exec(VERSION_2)
  old.close()
  const columns = (file: string) => {
    const db = openDatabase(join(folder, file), 'process')
    const tables = db
      .prepare("SELECT name, strict, wr FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite%' ORDER BY name")
      .all()
    const found = tables.map((table) => ({
      ...table,
      // A rowid table's key is NOT NULL whether it says so or not.
      columns: db
        .prepare('SELECT name, lower(type) AS type, "notnull" OR pk AS needed, dflt_value, pk FROM pragma_table_info(?)')
        .all(String(table.name)),
    }))
    t.match(db.prepare('PRAGMA user_version').get(), { user_version: SCHEMA_VERSION })
    db.close()
    return found
  }
  const upgraded = columns('old.db')
  t.equal(upgraded.length, 40)
  t.same(upgraded, columns('new.db'))
  const store = openStore(`sqlite:${join(folder, 'old.db')}`, { clock: new FakeClock() })
  t.teardown(() => store.close())
  t.match(await store.keys.find(HASH), {
    identity: 'its own',
    limit: 7,
    limitReset: 'daily',
    disabled: true,
    includeByokInLimit: true,
    creator: 'me',
  })
  t.match([...store.journal.export()], [{ hold: { seq: 5, key: HASH }, settled: { cost: 42, at: 77 } }])
})

if (server) postgres(server)
else t.pass('PostgreSQL', { skip: 'PostgreSQL is not installed' })

function postgres(server: TestPostgres): void {
  const clock = new FakeClock()
  const version = async (url: string) => (await server.query(url, 'SELECT version::int FROM headgate_schema'))[0]?.version

  t.test('PostgreSQL: many processes may open an empty database at once', async (t) => {
    const url = await server.database()
    const records = await Promise.all(Array.from({ length: 8 }, () => openPostgres(url, { clock })))
    t.equal(await version(url), SCHEMA_VERSION)
    t.equal((await server.query(url, 'SELECT * FROM headgate_schema')).length, 1)
    for (const record of records) t.equal(await record.spentByAll(), 0n)
    await Promise.all(records.map((record) => record.close()))
    const again = await openPostgres(url, { clock })
    t.same(await again.keys.list(), [])
    await again.close()
  })

  t.test('PostgreSQL: an older database is brought up with its rows', async (t) => {
    const url = await server.database()
    await server.query(url, 'CREATE TABLE headgate_schema (version integer NOT NULL)')
    await server.query(url, 'INSERT INTO headgate_schema VALUES (1)')
    for (const statement of migrationsFor('postgres')[0]) await server.query(url, statement)
    await server.query(url, `INSERT INTO api_key VALUES ('${HASH}', 'old', 'sk-o...ld', 7, false, true, NULL, 11, 12, '{"limits":{}}')`)
    const record = await openPostgres(url, { clock })
    t.teardown(() => record.close())
    t.equal(await version(url), SCHEMA_VERSION)
    t.match(await record.keys.find(HASH), { identity: HASH, limit: 7, limitReset: null, disabled: true, creator: null, createdAt: 11 })
  })

  t.test('PostgreSQL: a newer database is refused and left alone', async (t) => {
    const url = await server.database()
    await (await openPostgres(url, { clock })).close()
    await server.query(url, 'UPDATE headgate_schema SET version = 99, least = 98')
    const fault = await catchFault(openPostgres(url, { clock }))
    t.match(fault, {
      code: 'unavailable',
      message: `The database of store.url was written by a newer headgate: it has schema version 99, and this program knows versions up to ${SCHEMA_VERSION}`,
    })
    t.equal(await version(url), 99)
  })

  t.test('PostgreSQL: a migration that fails leaves nothing behind', async (t) => {
    const url = await server.database()
    await server.query(url, 'CREATE TABLE lease (theirs text)')
    t.match(await catchFault(openPostgres(url, { clock })), { code: 'unavailable', message: /42P07/ })
    const tables = await server.query(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    t.same(tables, [{ tablename: 'lease' }])
  })
}

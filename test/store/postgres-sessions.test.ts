/** Sessions with PostgreSQL: pinned settings, and roles that may only read and write rows. */
import { sql } from 'kysely'
import t from 'tap'
import { asFault } from '../../src/core/faults.ts'
import { Connection, TIME_LIMITS } from '../../src/store/postgres/connection.ts'
import { openPostgres } from '../../src/store/postgres/record.ts'
import { query } from '../../src/store/postgres/tables.ts'
import { FakeClock } from '../support/clock.ts'
import { startGateway } from '../support/gateway.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { simulated } from '../support/simulated.ts'

const server = await startPostgres(t)
if (server) suite(server)
else t.plan(0, 'PostgreSQL is not installed')

/** A role of the database that may not create anything. @returns the URL with it. */
async function lesserRole(server: TestPostgres, url: string, name: string): Promise<string> {
  for (const statement of [
    `CREATE ROLE ${name} LOGIN`,
    'REVOKE CREATE ON SCHEMA public FROM public',
    `GRANT USAGE ON SCHEMA public TO ${name}`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${name}`,
    `GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ${name}`,
    `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO ${name}`,
  ])
    await server.query(url, statement)
  return url.replace('//headgate@', `//${name}@`)
}

function suite(server: TestPostgres): void {
  t.test('isolation and the wait for a commit are set per session, whatever the defaults are', async (t) => {
    const url = await server.database()
    const name = url.slice(url.lastIndexOf('/') + 1)
    await server.query(url, `ALTER DATABASE ${name} SET synchronous_commit = off`)
    await server.query(url, `ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`)
    t.same(await server.query(url, 'SHOW synchronous_commit'), [{ synchronous_commit: 'off' }], 'the default of others')
    for (const options of ['?pool=2', '?options=-c%20synchronous_commit%3Doff']) {
      const connection = new Connection(url + options, () => undefined, TIME_LIMITS)
      t.same(await connection.run(sql`show synchronous_commit`.compile(query)), [{ synchronous_commit: 'on' }], options)
      t.same(await connection.run(sql`show transaction_isolation`.compile(query)), [{ transaction_isolation: 'read committed' }], options)
      await connection.transaction(async (session) => {
        const rows = await session.run(sql`show transaction_isolation`.compile(query))
        t.same(rows, [{ transaction_isolation: 'read committed' }], 'in a transaction')
      })
      await connection.close()
    }
  })

  t.test('on migrated tables a role that may only read and write rows can serve', async (t) => {
    const url = await server.database()
    const owner = await openPostgres(url, { clock: new FakeClock() })
    await owner.close()
    const lesser = await lesserRole(server, url, 'headgate_rows')
    await t.rejects(server.query(lesser, 'CREATE TABLE x (a int)'), { code: '42501' })
    const directory = t.testdir()
    const gateway = await startGateway(`
store: { url: "${lesser}", journal: "${directory}/journal.db" }
auth: { keys: [ { name: app, key: "sk-router-v1-0123456789abcdef0123456789abcdef", limit: "1.00" } ] }
${simulated('price: { prompt: "1.00", completion: "2.00" }')}`)
    const reply = await gateway.post('/v1/chat/completions', { model: 'sim/echo', messages: [{ role: 'user', content: 'hello' }] })
    t.equal(reply.status, 200)
    await gateway.close()
    const [{ spent }] = await server.query(url, 'SELECT max(spent)::int AS spent FROM balance')
    t.ok((spent as number) > 0, 'and the charge is in the record')
  })

  t.test('a role that may not create says so where the tables are missing', async (t) => {
    const url = await server.database()
    const lesser = await lesserRole(server, url, 'headgate_none')
    try {
      await openPostgres(lesser, { clock: new FakeClock() })
      t.fail('opened')
    } catch (thrown) {
      t.match(asFault(thrown), { code: 'unavailable', message: /has no tables yet: start once with a role that may create/ })
    }
  })
}

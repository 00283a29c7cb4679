/** Each statement of the store goes on working on its own connections when every table has got a column: what a next schema version may do. */
import t from 'tap'
import { openPostgres } from '../../src/store/postgres/record.ts'
import { FakeClock } from '../support/clock.ts'
import { operations } from '../support/grown/operations.ts'
import { fillPostgres } from '../support/grown/postgres.ts'
import { COLUMN_IN_EACH } from '../support/next-schema.ts'
import { startPostgres } from '../support/postgres.ts'

t.setTimeout(280_000)
const SIZE = { rows: 3_000, keys: 1_200, carriedKeys: 20, days: 60 }
/** One connection of each kind, so that it has prepared what it runs again. */
const LIMITS = { connect: 30_000, statement: 30_000 }

const server = await startPostgres(t)
if (!server) t.plan(0, 'PostgreSQL is not installed')
else
  t.test('each statement, before and after', async (t) => {
    const url = await server.database()
    await (await openPostgres(url, { clock: new FakeClock() })).close()
    await fillPostgres(server, url, SIZE)
    const record = await openPostgres(`${url}?pool=1`, { clock: new FakeClock(), limits: LIMITS })
    t.teardown(() => record.close())
    const all = operations(t, { server, url, record, now: Date.now() })
    const others: [string, () => Promise<unknown>][] = [
      ['key', async () => record.keys.find('a'.repeat(64))],
      ['issued keys', async () => record.keys.issuedBy('k0000007', Date.now())],
      ['guardrails', async () => record.guardrails.all()],
      ['events', async () => record.events.page({ after: 0, types: [], limit: 10, newestFirst: false })],
      ['entries', async () => record.ledger.entries.page({ after: 0, limit: 10, newestFirst: false })],
      ['compaction keys', async () => record.compactionKeys.all(Date.now(), 'first')],
    ]
    for (const [, work] of [...all, ...others, ...others]) await work()
    await server.query(url, COLUMN_IN_EACH)
    for (const [name, work] of [...all, ...others, ...others]) {
      const failed = await work().then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      t.equal(failed, undefined, name)
    }
  })

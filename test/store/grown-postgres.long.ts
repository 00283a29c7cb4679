/** Every statement on PostgreSQL with 10 million generations, 200,000 keys and 400 days of sums for 2,500 of them, each within its limit of time. */
import t from 'tap'
import { openPostgres } from '../../src/store/postgres/record.ts'
import { FakeClock } from '../support/clock.ts'
import { operations } from '../support/grown/operations.ts'
import { fillPostgres } from '../support/grown/postgres.ts'
import { startPostgres } from '../support/postgres.ts'

t.setTimeout(7_000_000)
/** Smaller for a look: HEADGATE_GROWN=0.1 has a tenth. */
const SCALE = Number(process.env.HEADGATE_GROWN ?? 1)
const WHOLE = { rows: 10_000_000 * SCALE, keys: 200_000 * SCALE, carriedKeys: 2_500 * SCALE, days: 400 }

const server = await startPostgres(t)

if (server)
  t.test('no statement meets its limit of 5 s', async (t) => {
    const url = await server.database()
    await (await openPostgres(url, { clock: new FakeClock() })).close()
    await fillPostgres(server, url, WHOLE)
    const record = await openPostgres(url, { clock: new FakeClock() })
    t.teardown(() => record.close())
    for (const [name, work] of operations(t, { server, url, record, now: Date.now() })) {
      const begun = performance.now()
      await work()
      t.pass(`${name}: ${((performance.now() - begun) / 1000).toFixed(1)} s`)
    }
  })

/** Random lives of processes that share one PostgreSQL: no allowance is ever passed (issue 15, section 2). */
import t from 'tap'
import { openPostgres } from '../../src/store/postgres/record.ts'
import { liveMany } from '../support/lives/many.ts'
import { Market, WallClock } from '../support/lives/market.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { clocked } from '../support/postgres-clock.ts'
import { property } from '../support/seed.ts'

const server = await startPostgres(t)
if (server) lives(server)
else t.plan(0, 'PostgreSQL is not installed')

function lives(server: TestPostgres): void {
  t.test('several allowances, several processes, callers that abort, stall, fail over and crash: never over any allowance', async (t) => {
    const open = async () => {
      const clock = new WallClock()
      const url = await server.database()
      const record = await clocked(await openPostgres(url, { clock }), clock, server, url)
      // Each process ends its way to the record; the connections are shared.
      const way = new Proxy(record, { get: (target, name) => (name === 'close' ? async () => {} : Reflect.get(target, name, target)) })
      return {
        market: new Market(record, clock, () => ({ record: way, gone: () => {} })),
        ledger: record.ledger,
        close: () => record.close(),
      }
    }
    await liveMany(t, open, property(200, 100_000))
  })
}

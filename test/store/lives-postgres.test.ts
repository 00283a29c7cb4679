/** Random lives of processes that share one PostgreSQL: no allowance is ever passed. */
import t from 'tap'
import { liveMany } from '../support/lives/many.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { property } from '../support/seed.ts'

const server = await startPostgres(t)
if (server) lives(server)
else t.plan(0, 'PostgreSQL is not installed')

function lives(server: TestPostgres): void {
  t.test('several allowances, several processes, callers that abort, stall, fail over and crash: never over any allowance', async (t) => {
    await liveMany(t, { market: 'postgres-market', given: await server.database(), runs: property(200, 100_000) })
  })
}

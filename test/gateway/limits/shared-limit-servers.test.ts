/** One key's credit over two processes on PostgreSQL, with Redis and without: what fits is served, and nothing more. */
import t, { type Test } from 'tap'
import { place, race } from '../../support/credit-race.ts'
import { startPostgres } from '../../support/postgres.ts'
import { startRedis } from '../../support/redis.ts'

t.test('two processes on PostgreSQL, then with Redis stopped', async (t) => {
  const postgres = await startPostgres(t)
  const redis = await startRedis()
  if (!postgres || !redis) {
    t.comment('skipped: needs PostgreSQL and Redis')
    return
  }
  t.teardown(() => redis.close())
  const running = await place(t, { programs: 2, store: await postgres.database(), shared: redis.url })
  await t.test('Redis runs', (t: Test) => race(t, running))
  const stopped = await place(t, { programs: 2, store: await postgres.database(), shared: redis.url })
  await redis.stop()
  await t.test('Redis has stopped', (t: Test) => race(t, stopped))
  const workers = await place(t, { programs: 2, workers: 2, store: await postgres.database() })
  await t.test('two gateways with two workers each', (t: Test) => race(t, workers))
})

/** Random lives of workers that share one SQLite file by way of their owner: no allowance is ever passed. */
import t from 'tap'
import { liveMany } from '../support/lives/many.ts'
import { property } from '../support/seed.ts'

t.test('several allowances, several workers, callers that abort, stall, fail over and crash: never over any allowance', async (t) => {
  await liveMany(t, { market: 'sqlite-market', given: t.testdir(), runs: property(200, 100_000) })
})

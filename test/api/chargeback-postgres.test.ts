/** `GET /v1/chargeback` over PostgreSQL: sums of the ledger, of one moment. Runs with `npm run test:servers`. */
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import { oneModel } from '../support/gateway.ts'
import { queryIn, startPostgres } from '../support/postgres.ts'
import { startScene } from '../support/scene.ts'
import { answerFor } from '../support/wire.ts'
import { AUTH, compareWithLedger, enter, KEYS, readStatement, say, watchTurns } from './chargeback-scene.ts'

const server = await startPostgres(t)

t.test('a charge-back on PostgreSQL', { timeout: 240_000 }, async (t) => {
  if (!server) return
  const url = await server.database()
  let count = 0
  const scene = await startScene(t, {
    clock: systemClock,
    config: (upstream) =>
      `store: { url: "${url}", journal: "${join(t.testdir(), 'journal.db')}" }\n${AUTH}\n${oneModel(upstream, 'openai-chat')}`,
    answer: (seen) => answerFor(seen, { text: ['fine'], usage: { input: 1000 + 7 * count++, output: 13 } }),
  })
  const first = await say(scene, KEYS.ada, { session_id: 's1' }, { 'x-title': 'Reports' })
  await say(scene, KEYS.bob)
  const forwarded = async (): Promise<number> => Number((await queryIn(url, 'SELECT count(*) AS n FROM generation'))[0]?.n)
  const settle = async (wanted: number): Promise<void> => {
    for (let tries = 0; tries < 100 && (await forwarded()) < wanted; tries++) await new Promise((resolve) => setTimeout(resolve, 100))
  }
  await settle(2)
  await enter(scene, { kind: 'refund', amount: 0.000000123, generation_id: first, reason: 'Cut off' })
  await compareWithLedger(t, scene, -123n)
  t.match((await readStatement(scene, '?group_by=app,session')).data[0], { app_title: null, session_id: null })

  await watchTurns(t, scene, 60)
  await settle(122)
  await compareWithLedger(t, scene, -123n)
})

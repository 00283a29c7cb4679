/** `GET /v1/status` of several processes: every worker shows the figures of all. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { SECRET } from '../../support/crash/configuration.ts'
import { eventually } from '../../support/eventually.ts'
import { startUpstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'
import { askOnce, configured, inTurn, QUESTION, ready, serveWorkers } from '../../support/workers.ts'

const BOSS = 'sk-router-v1-boss0000000000000000'
const MANY = 24

t.test('figures are added up over the workers, whichever of them is asked', { timeout: 120_000 }, async (t) => {
  const upstream = await startUpstream((seen) => answerFor(seen, { text: ['fine'], usage: { input: 10, output: 2 } }))
  t.teardown(() => upstream.close())
  const keys = `- { name: app, key: "${SECRET}" }\n    - { name: boss, key: "${BOSS}", management: true }`
  const { file } = await configured(t, upstream.url, { keys })
  const workerPool = await serveWorkers(t, file, 2)
  await ready(workerPool.admin)
  await inTurn(MANY, () => askOnce(workerPool.url, { key: SECRET, body: QUESTION }))
  const status = async (): Promise<JsonObject> => {
    const { text } = await askOnce(workerPool.url, { key: BOSS, path: '/v1/status' })
    return (JSON.parse(text) as { data: JsonObject }).data
  }
  const found = await eventually('all requests', async () => {
    const data = await status()
    return (data.requests as JsonObject).count === MANY ? data : undefined
  })
  t.match(found, { workers: 2, workers_answering: 2, state: 'ready', requests: { by_status: { 200: MANY }, errors: 0 } })
  t.same(
    (await inTurn(6, status)).map((data) => (data.requests as JsonObject).count),
    Array(6).fill(MANY),
  )
})

/** `GET /v1/slices` and events by time on PostgreSQL. Runs with `npm run test:servers`. */
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { eventually } from '../support/eventually.ts'
import { oneModel } from '../support/gateway.ts'
import { startPostgres } from '../support/postgres.ts'
import { startScene } from '../support/scene.ts'
import { answerFor, upstreamError } from '../support/wire.ts'

const APP = 'sk-router-v1-app00000000000000000000000'
const BOSS = 'sk-router-v1-boss0000000000000000000000'
const KEYS = `auth: { keys: [ { name: app, key: "${APP}" }, { name: boss, key: "${BOSS}", management: true } ] }`

const server = await startPostgres(t)

t.test('slices and events on PostgreSQL', { timeout: 240_000 }, async (t) => {
  if (!server) return
  const url = await server.database()
  const scene = await startScene(t, {
    clock: systemClock,
    config: (upstream) =>
      `store: { url: "${url}", journal: "${join(t.testdir(), 'journal.db')}" }\n${KEYS}\n${oneModel(upstream, 'openai-chat')}`,
    answer: (seen) =>
      seen.body.includes('fault') ? upstreamError(400, 'no') : answerFor(seen, { text: ['fine'], usage: { input: 1000, output: 10 } }),
  })
  const headers = { authorization: `Bearer ${BOSS}` }
  const get = async (path: string): Promise<JsonObject & { data: JsonObject[] }> => {
    const reply = await scene.gateway.get(path, headers)
    if (reply.status !== 200) throw new Error(await reply.text())
    return (await reply.json()) as JsonObject & { data: JsonObject[] }
  }
  for (const words of ['hello', 'hello', 'fault']) {
    const body = { max_tokens: 50, user: 'ann', messages: [{ role: 'user', content: words }] }
    await (await scene.ask(body, 'chat', { authorization: `Bearer ${APP}` })).text()
  }
  await eventually('all are in the store of record', async () => (await get('/v1/slices?group_by=user')).data[0]?.requests === 3)
  t.match(await get('/v1/slices?group_by=user'), {
    is_complete: true,
    groups: 1,
    data: [{ external_user: 'ann', requests: 3, failed_requests: 1, prompt_tokens: 2_000 }],
  })
  t.match((await get('/v1/slices?group_by=model,status&sort=requests')).data, [{ status: 'completed', requests: 2 }, { status: 'failed' }])
  t.equal((await get('/v1/slices/generations?sort=usage')).data.length, 2, 'what cost nothing is left out')

  await scene.gateway.post('/v1/keys', { name: 'made' }, headers)
  const [made] = (await get('/v1/events?type=headgate.key.created')).data
  const at = String(made?.time)
  t.equal((await get(`/v1/events?since=${at}&include_deliveries=true`)).data.length, 1)
  t.same((await get(`/v1/events?until=${at}&type=headgate.key.created`)).data, [])
})

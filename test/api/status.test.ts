/** `GET /v1/status`: live figures, over real sockets. */
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { oneModel } from '../support/gateway.ts'
import { startScene } from '../support/scene.ts'
import { answerFor, upstreamError } from '../support/wire.ts'

const BOSS = 'sk-router-v1-boss0000000000000000000000'
const KEYS = `auth: { keys: [ { name: app, key: "sk-router-v1-app00000000000000000000000" }, { name: boss, key: "${BOSS}", management: true } ] }`
const boss = { authorization: `Bearer ${BOSS}` }

t.test('requests of the last minute, their errors, times and cost, and the providers with their health', async (t) => {
  let broken = false
  const scene = await startScene(t, {
    config: (url) => `${KEYS}\n${oneModel(url, 'openai-chat')}`,
    answer: (seen) => (broken ? upstreamError(500, 'no') : answerFor(seen, { text: ['fine'], usage: { input: 100, output: 10 } })),
  })
  const { clock, gateway } = scene
  const status = async (): Promise<JsonObject> => {
    const reply = await gateway.get('/v1/status', boss)
    t.equal(reply.status, 200)
    return ((await reply.json()) as JsonObject).data as JsonObject
  }
  t.match(await status(), {
    workers: 1,
    workers_answering: 1,
    state: 'ready',
    requests: { count: 0, errors: 0, error_rate: 0 },
    latency_ms: { p50: null },
    providers: [{ slug: 'first', health: 'ok', count: 0 }],
  })
  for (let i = 0; i < 3; i++) await (await scene.ask()).text()
  t.match(await status(), { requests: { count: 0 } }, 'kept for a second')
  await clock.advance(1_000)
  const first = await status()
  t.match(first, {
    requests: { count: 3, errors: 0, by_status: { 200: 3 } },
    spend: { last_minute: 0.00036, this_hour: 0.00036 },
    providers: [{ slug: 'first', count: 3, errors: 0, health: 'ok' }],
  })
  t.match(first.history, [{ requests: 3, errors: 0, cost: 0.00036 }])
  broken = true
  for (let i = 0; i < 6; i++) await (await scene.ask()).text()
  await clock.advance(1_000)
  const ejected = await status()
  t.match(ejected, { requests: { count: 9, by_status: { 200: 3 } } })
  t.ok(Number((ejected.requests as JsonObject).errors) >= 1, 'errors are counted')
  t.match(ejected.providers, [
    { slug: 'first', health: 'degraded', count: 9, errors: 6, endpoints: [{ model: 'acme/one', health: 'outage' }] },
  ])
  await clock.advance(70_000)
  t.match(await status(), { requests: { count: 0, per_second: 0, by_status: {} }, spend: { last_minute: 0, this_hour: 0.00036 } })
})

t.test('only management keys read it', async (t) => {
  const { gateway } = await startScene(t, { config: (url) => `${KEYS}\n${oneModel(url, 'openai-chat')}` })
  t.equal((await gateway.get('/v1/status')).status, 403)
  t.equal((await fetch(`${gateway.url}/v1/status`)).status, 401)
  t.equal((await gateway.get('/v1/status', { authorization: `Bearer ${BOSS}x` })).status, 401)
  t.equal((await gateway.post('/v1/status', {}, boss)).status, 405)
})

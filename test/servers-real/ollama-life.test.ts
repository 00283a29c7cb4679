/** Ollama behind the gateway under load: callers that leave, more requests than it serves at once, the end of its queue, its end and return. */
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { eventually } from '../support/eventually.ts'
import { object } from '../support/fold.ts'
import { startGateway } from '../support/gateway.ts'
import { OLLAMA_MODELS, startOllama, tinyChat } from './ollama-server.ts'
import { missing, program } from './programs.ts'
import { type Life, testLeaving, testRestart, testSaturation } from './server-life.ts'

t.setTimeout(1_800_000)

/** Width at which the model writes some dozens of tokens a second. */
const SLOW = 80_000
const path = program('ollama')
if (path === undefined) t.test('Ollama', { skip: missing('ollama') }, () => {})
else {
  // One model in memory: while its answer lasts, requests for the other one wait in the queue.
  const env = { OLLAMA_NUM_PARALLEL: '3', OLLAMA_MAX_LOADED_MODELS: '1', OLLAMA_MAX_QUEUE: '3' }
  const server = await startOllama(t, path, [tinyChat('tiny-chat', SLOW), tinyChat('other-chat')], env)
  const { url } = server
  const gateway = await startGateway(`
providers:
  chat: { preset: ollama, base_url: "${url}/v1" }
  responses: { dialect: openai-responses, base_url: "${url}/v1", discover: true, timeouts: { first_byte: 600s }, quirks: { unsigned_reasoning: true } }
  messages: { dialect: anthropic, base_url: "${url}", discover: true, timeouts: { first_byte: 600s }, quirks: { unsigned_reasoning: true } }
`)
  t.teardown(() => gateway.close())
  for (const model of Object.values(OLLAMA_MODELS))
    await eventually(model, async () => (await gateway.get(`/v1/models/${model}`)).status === 200)
  const life: Life = { server, gateway, served: 'tiny-chat', models: OLLAMA_MODELS }
  await testLeaving(t, life)
  await testSaturation(t, life, 9)

  await t.test('at the end of the queue', async (t) => {
    const leaving = new AbortController()
    const busy = { model: 'tiny-chat', messages: [{ role: 'user', content: 'forever' }], max_tokens: 4000, stream: true }
    const running = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(busy), signal: leaving.signal })
    t.equal(running.status, 200)
    const ask = () =>
      gateway.post('/v1/chat/completions', {
        model: 'chat/other-chat:latest',
        messages: [{ role: 'user', content: 'hello' }],
        max_tokens: 8,
      })
    const answers = Array.from({ length: 6 }, ask)
    const refused = await eventually('one is refused', () => Promise.race(answers))
    t.equal(refused.status, 529, 'the queue is full')
    const error = object(((await refused.json()) as JsonObject).error)
    t.equal(object(error.metadata).error_type ?? error.code, 'provider_overloaded', 'which says whose doing it is')
    leaving.abort()
    const all = await Promise.all(answers)
    t.ok(all.filter(({ status }) => status === 200).length >= 2, `those in the queue are served: ${all.map(({ status }) => status)}`)
    t.equal((await ask()).status, 200, 'and the next one')
  })

  await testRestart(t, life)
}

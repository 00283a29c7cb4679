/**
 * llama.cpp's server behind the gateway beyond single replies: two turns with a tool, callers that leave, more requests than slots,
 * a server that is killed and comes back, and what the gateway finds of its models.
 */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { eventually } from '../support/eventually.ts'
import { list } from '../support/fold.ts'
import { startGateway } from '../support/gateway.ts'
import { NOT_INSTALLED, startLlama } from './llama-server.ts'
import { writeChatModel } from './model/chat-model.ts'
import { MODELS } from './same-reply.ts'
import { type Life, testLeaving, testReplays, testRestart, testSaturation, testToolTurns } from './server-life.ts'

const configuration = (url: string): string => `
providers:
  chat: { preset: llama-cpp, base_url: "${url}/v1" }
  responses: { dialect: openai-responses, base_url: "${url}/v1", discover: true, quirks: { unsigned_reasoning: true } }
  messages: { dialect: anthropic, base_url: "${url}", discover: true, quirks: { unsigned_reasoning: true } }
`

t.setTimeout(600_000)

/** Width at which the model writes some dozens of tokens a second, so that no answer without end is over by itself while a test waits. */
const SLOW = 160_000

async function startLife(t: Test, slowness?: number): Promise<Life> {
  const settings = ['n_parallel=3', 'n_ctx=24576', 'model_alias=tiny-chat']
  const server = await startLlama(t, (path) => writeChatModel(path, slowness), settings)
  const gateway = await startGateway(configuration(server.url))
  t.teardown(() => gateway.close())
  for (const model of Object.values(MODELS)) await eventually(model, async () => (await gateway.get(`/v1/models/${model}`)).status === 200)
  return { server, gateway, served: 'tiny-chat', models: MODELS }
}

if (NOT_INSTALLED !== undefined) t.test('llama.cpp', { skip: NOT_INSTALLED }, () => {})
else {
  await t.test('turns', async (t) => {
    const life = await startLife(t)
    await testToolTurns(t, life)
    await testReplays(t, life)
  })

  await t.test('what is found of the models', async (t) => {
    const server = await startLlama(t, writeChatModel, ['n_parallel=2', 'n_ctx=8192'])
    const gateway = await startGateway(configuration(server.url))
    t.teardown(() => gateway.close())
    const models = await eventually('three lists', async () => {
      const all = list(((await (await gateway.get('/v1/models')).json()) as JsonObject).data)
      return all.length === 3 ? all : undefined
    })
    for (const { id, context_length } of models) {
      t.match(id, /^(chat|responses|messages)\/tmp\/headgate-llama-[^/]+\/model\.gguf$/, 'a model without an alias is called by its path')
      t.equal(context_length, 4096, 'the context of one slot')
    }
    const model = String(models[0].id)
    const answer = await gateway.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'hello' }], max_tokens: 32_000 })
    t.equal(answer.status, 200, 'with the cap of an agent')
  })

  await t.test('under load', async (t) => {
    const life = await startLife(t, SLOW)
    await testLeaving(t, life)
    await testSaturation(t, life, 9)
    await testRestart(t, life)
  })
}

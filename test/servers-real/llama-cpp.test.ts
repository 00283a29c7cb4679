/**
 * llama.cpp's server behind the gateway: each conversation in each client format, whole and streamed, over each wire that the server
 * speaks, equal to the server's own reply to the token.
 */
import t from 'tap'
import { startGateway } from '../support/gateway.ts'
import { testConversations } from './conversation-suite.ts'
import { testCounts, testLeft, testNearEnd } from './counted-prompts.ts'
import { LLAMA_VERSION, NOT_INSTALLED, startLlama } from './llama-server.ts'
import { writeChatModel } from './model/chat-model.ts'
import { testNextTurns } from './next-turns.ts'
import { MODELS, WIRES } from './same-reply.ts'

t.setTimeout(280_000)

const configuration = (url: string): string => `
providers:
  chat: { preset: llama-cpp, base_url: "${url}/v1" }
  responses: { dialect: openai-responses, base_url: "${url}/v1", discover: true }
  messages: { dialect: anthropic, base_url: "${url}", discover: true }
`

if (NOT_INSTALLED !== undefined) t.test('llama.cpp', { skip: NOT_INSTALLED }, () => {})
else {
  const { url } = await startLlama(t, writeChatModel, ['n_parallel=2', 'n_ctx=8192', 'model_alias=tiny-chat'])
  const gateway = await startGateway(configuration(url))
  t.teardown(() => gateway.close())
  await testCounts(t, { gateway, url, wires: WIRES })
  await testLeft(t, { gateway, url })
  await testNextTurns(t, gateway, MODELS)
  await t.test('a server that was started without embeddings', async (t) => {
    for (const words of [/./, /as its server answered/]) {
      const vectors = await gateway.post('/v1/embeddings', { model: MODELS['openai-chat'], input: 'hello' })
      t.equal(vectors.status, 404)
      t.match(await vectors.text(), words)
    }
  })
  await testConversations(t, { name: 'llama.cpp', version: LLAMA_VERSION, url, gateway, served: 'tiny-chat', models: MODELS })
  await t.test('a longer context, beyond that in which conversations are compressed', async (t) => {
    const { url } = await startLlama(t, writeChatModel, ['n_parallel=1', 'n_ctx=10240', 'model_alias=tiny-chat'])
    const gateway = await startGateway(configuration(url))
    t.teardown(() => gateway.close())
    await testNearEnd(t, { gateway, context: 10_240 })
  })
}

/**
 * llama.cpp's server behind the gateway: each conversation in each client format, whole and streamed, over each wire that the server
 * speaks, equal to the server's own reply to the token.
 */
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { startGateway } from '../support/gateway.ts'
import { CLIENTS } from '../support/matrix/clients.ts'
import { testConversations } from './conversation-suite.ts'
import { CONVERSATIONS } from './conversations.ts'
import { LLAMA_VERSION, NOT_INSTALLED, startLlama } from './llama-server.ts'
import { writeChatModel } from './model/chat-model.ts'
import { directReply, expectedOf, MODELS, WIRES } from './same-reply.ts'

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
  await t.test('the tokens of a prompt are counted by the server', async (t) => {
    for (const { name, asked } of CONVERSATIONS.filter(({ asked }) => asked.effort === undefined && asked.choice === undefined))
      for (const wire of WIRES) {
        const input = expectedOf('openai-chat', await directReply(url, 'openai-chat', asked)).usage?.input
        const body = CLIENTS.find(({ id }) => id === 'messages')?.write(asked)
        const response = await gateway.post('/v1/messages/count_tokens', { ...body, model: MODELS[wire] })
        t.equal(((await response.json()) as JsonObject).input_tokens, input, `${name}, ${wire}`)
      }
  })
  await testConversations(t, { name: 'llama.cpp', version: LLAMA_VERSION, url, gateway, served: 'tiny-chat', models: MODELS })
}

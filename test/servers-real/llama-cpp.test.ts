/**
 * llama.cpp's server behind the gateway: each conversation in each client format, whole and streamed, over each wire that the server
 * speaks, equal to the server's own reply to the token.
 */
import t from 'tap'
import { startGateway } from '../support/gateway.ts'
import { CLIENTS } from '../support/matrix/clients.ts'
import { CONVERSATIONS } from './conversations.ts'
import { NOT_INSTALLED, startLlama } from './llama-server.ts'
import { writeChatModel } from './model/chat-model.ts'
import { directReply, expectedOf, found, MODELS, WIRES } from './same-reply.ts'

function configuration(url: string): string {
  return `
providers:
  chat: { preset: llama-cpp, base_url: "${url}/v1" }
  responses: { dialect: openai-responses, base_url: "${url}/v1", discover: true }
  messages: { dialect: anthropic, base_url: "${url}", discover: true }
`
}

if (NOT_INSTALLED !== undefined) t.test('llama.cpp', { skip: NOT_INSTALLED }, () => {})
else {
  const server = await startLlama(t, writeChatModel, ['n_parallel=2', 'n_ctx=8192', 'model_alias=tiny-chat'])
  const gateway = await startGateway(configuration(server.url))
  t.teardown(() => gateway.close())
  for (const wire of WIRES)
    await t.test(`conversations over ${wire}`, async (t) => {
      for (const { name, asked } of CONVERSATIONS) {
        const expected = expectedOf(wire, await directReply(server.url, wire, asked))
        // The format of Responses has no stop texts: the gateway ends such a reply itself.
        const clients = asked.stop ? CLIENTS.filter(({ id }) => id !== 'responses' && wire !== 'openai-responses') : CLIENTS
        for (const client of clients)
          for (const stream of [false, true]) {
            const body = client.write(asked)
            const differs = await found(gateway, { client, wire, model: MODELS[wire], stream, body }, expected)
            t.same(differs, [], `${name}, ${client.id}, ${stream ? 'streamed' : 'whole'}`)
          }
      }
    })
}

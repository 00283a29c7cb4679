/**
 * transformers serve behind the gateway beyond single replies, with a tokenizer that states how thoughts and calls are read out of a reply.
 */
import t from 'tap'
import { startGateway } from '../support/gateway.ts'
import { startTransformers } from './large-servers.ts'
import { missing, program } from './programs.ts'
import { type Life, testLeaving, testReplays, testRestart, testSaturation, testToolTurns } from './server-life.ts'

t.setTimeout(1_800_000)

const path = program('transformers')
if (path === undefined) t.test('transformers serve', { skip: missing('transformers') }, () => {})
else {
  const { server, model } = await startTransformers(t, path, { statesReplies: true })
  const gateway = await startGateway(`
providers:
  chat: { dialect: openai-chat, base_url: "${server.url}/v1", quirks: { one_system_message: true } }
  responses: { dialect: openai-responses, base_url: "${server.url}/v1", quirks: { developer: system } }
models:
  tiny/chat: { endpoints: [ { provider: chat, model: "${model}", price: free } ] }
  tiny/responses: { endpoints: [ { provider: responses, model: "${model}", price: free } ] }
`)
  t.teardown(() => gateway.close())
  const life: Life = {
    server,
    gateway,
    served: model,
    models: { 'openai-chat': 'tiny/chat', 'openai-responses': 'tiny/responses' },
    // Streams keep the line ends around a thought, whole replies do not.
    streamed: /^(text: expected ".+", got "\\n\\n|reasoning: expected ".+", got "\\n.+\\n"$)/,
    finishesWhole: true,
  }
  await testToolTurns(t, life)
  await testReplays(t, life)
  await testLeaving(t, life)
  await testSaturation(t, life, 8)
  await testRestart(t, life)
}

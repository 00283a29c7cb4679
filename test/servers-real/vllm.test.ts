/** vLLM on the CPU behind the gateway, over the three formats that it speaks: conversations, what it counts, and what comes beyond single replies. */
import t from 'tap'
import { startGateway } from '../support/gateway.ts'
import { testConversations } from './conversation-suite.ts'
import { testCounts } from './counted-prompts.ts'
import { startVllm } from './large-servers.ts'
import { missing, program, VERSIONS } from './programs.ts'
import { MODELS } from './same-reply.ts'
import { type Life, testLeaving, testReplays, testRestart, testSaturation, testToolTurns } from './server-life.ts'

t.setTimeout(1_800_000)

const path = program('vllm')
if (path === undefined) t.test('vLLM', { skip: missing('vllm') }, () => {})
else {
  const { server, model } = await startVllm(t, path)
  const { url } = server
  const gateway = await startGateway(`
providers:
  chat: { preset: vllm, base_url: "${url}/v1" }
  responses: { dialect: openai-responses, base_url: "${url}/v1", discover: true, quirks: { unsigned_reasoning: true } }
  messages: { dialect: anthropic, base_url: "${url}", discover: true, quirks: { unsigned_reasoning: true } }
`)
  t.teardown(() => gateway.close())
  await testCounts(t, { gateway, url, wires: ['openai-chat'], largestCap: 4000 })
  await testConversations(t, {
    name: 'vLLM',
    version: VERSIONS.vllm,
    url,
    gateway,
    served: model,
    models: MODELS,
    // Its signatures are random and never looked at.
    drawn: ['secrets'],
    largestCap: 4000,
    known: [
      // The stop text stands beside an end that has no word for it.
      {
        wires: ['openai-chat'],
        conversations: /^a stop text$/,
        clients: ['messages'],
        differs: /^end: expected "end_turn", got "stop_sequence"$/,
      },
      // Streams have two line ends between thought and call, whole replies do not.
      {
        wires: ['openai-chat', 'openai-responses', 'anthropic'],
        conversations: /\bcalls?\b/,
        differs: /^text: expected "", got "\\n\\n"$/,
      },
      // Of a thought without an end it counts fewer tokens where it is streamed, the fewer the larger its pieces are.
      {
        wires: ['openai-chat', 'openai-responses'],
        conversations: /^a text that it does not know$/,
        differs: /^usage\.reasoning: expected 3, got [012]$/,
      },
    ],
  })
  // Streams have two line ends between thought and call, and in front of an answer; whole replies do not.
  const life: Life = { server, gateway, served: model, models: MODELS, drawn: ['secrets'], streamed: /^text: expected ".*", got "\\n\\n/ }
  await testToolTurns(t, life)
  await testReplays(t, life)
  await testLeaving(t, life)
  await testSaturation(t, life, 12)
  await testRestart(t, life)
}

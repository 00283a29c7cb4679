/** vLLM on the CPU behind the gateway, over the three formats that it speaks: conversations, and what it counts. */
import t from 'tap'
import { startGateway } from '../support/gateway.ts'
import { testConversations } from './conversation-suite.ts'
import { startVllm } from './large-servers.ts'
import { missing, program, VERSIONS } from './programs.ts'
import { MODELS } from './same-reply.ts'

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
  await testConversations(t, { name: 'vLLM', version: VERSIONS.vllm, url, gateway, served: model, models: MODELS })
}

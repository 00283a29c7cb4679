/**
 * transformers serve behind the gateway. It speaks the formats of Chat Completions and of Responses; thoughts and calls stay text there.
 */
import t from 'tap'
import { startGateway } from '../support/gateway.ts'
import { testConversations } from './conversation-suite.ts'
import { startTransformers } from './large-servers.ts'
import { missing, program, VERSIONS } from './programs.ts'

t.setTimeout(1_800_000)

const path = program('transformers')
if (path === undefined) t.test('transformers serve', { skip: missing('transformers') }, () => {})
else {
  const { server, model } = await startTransformers(t, path)
  const gateway = await startGateway(`
providers:
  chat: { dialect: openai-chat, base_url: "${server.url}/v1", quirks: { one_system_message: true } }
  responses: { dialect: openai-responses, base_url: "${server.url}/v1", quirks: { developer: system } }
models:
  tiny/chat: { endpoints: [ { provider: chat, model: "${model}", price: free } ] }
  tiny/responses: { endpoints: [ { provider: responses, model: "${model}", price: free } ] }
`)
  t.teardown(() => gateway.close())
  await testConversations(t, {
    name: 'transformers serve',
    version: VERSIONS.transformers,
    url: server.url,
    gateway,
    served: model,
    models: { 'openai-chat': 'tiny/chat', 'openai-responses': 'tiny/responses' },
  })
}

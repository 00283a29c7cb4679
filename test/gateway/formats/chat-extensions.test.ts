/** Members beside OpenAI's own reach only chat providers that are known to take them: marks of caches, `reasoning`, `reasoning_details`. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { startGateway } from '../../support/gateway.ts'
import { startUpstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

const MARK = { cache_control: { type: 'ephemeral' } }
const DETAIL = { type: 'reasoning.text', text: 'I look.', signature: 'c2lnbmVk', format: 'unknown', index: 0 }
const PARAMETERS = { type: 'object', properties: {} }

/** The same in the format of each caller: a marked system prompt, a marked tool, a budget of thinking, and an earlier thought. */
const ASKED: Readonly<Record<string, JsonObject>> = {
  '/v1/chat/completions': {
    reasoning: { max_tokens: 2000 },
    max_tokens: 4000,
    tools: [{ type: 'function', function: { name: 'f', parameters: PARAMETERS }, ...MARK }],
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'Be brief.', ...MARK }] },
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi.', reasoning: 'I look.', reasoning_details: [DETAIL] },
      { role: 'user', content: [{ type: 'text', text: 'And now?', ...MARK }] },
    ],
  },
  '/v1/messages': {
    thinking: { type: 'enabled', budget_tokens: 2000 },
    max_tokens: 4000,
    system: [{ type: 'text', text: 'Be brief.', ...MARK }],
    tools: [{ name: 'f', input_schema: PARAMETERS, ...MARK }],
    messages: [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: [{ type: 'text', text: 'Hi.' }] },
      { role: 'user', content: [{ type: 'text', text: 'And now?', ...MARK }] },
    ],
  },
  '/v1/responses': { reasoning: { max_tokens: 2000 }, max_output_tokens: 4000, input: 'Hello', ...MARK },
}

const upstream = await startUpstream((seen) => answerFor(seen, { text: ['fine'] }))
const provider = (quirks: string) => `{ dialect: openai-chat, base_url: "${upstream.url}/v1", key: sk-up, quirks: ${quirks} }`
const gateway = await startGateway(`
providers:
  plain: ${provider('{}')}
  gateway: ${provider('{ cache_control: true, reasoning: object }')}
models:
  acme/plain: { endpoints: [ { provider: plain, model: m, price: free } ] }
  acme/gateway: { endpoints: [ { provider: gateway, model: m, price: free } ] }
`)
t.teardown(async () => {
  await gateway.close()
  await upstream.close()
})

async function sentFor(path: string, model: string, stream: boolean): Promise<{ sent: JsonObject; text: string; dropped: string[] }> {
  const response = await gateway.post(path, { ...ASKED[path], model, stream })
  await response.text()
  if (response.status !== 200) throw new Error(`${path}: ${response.status}`)
  const found = await gateway.get(`/v1/generation?id=${response.headers.get('x-generation-id')}`)
  const { data } = (await found.json()) as { data: { provider_responses: { dropped?: string[] }[] } }
  const seen = upstream.requests.at(-1)
  return { sent: seen?.json ?? {}, text: seen?.body ?? '', dropped: data.provider_responses[0]?.dropped ?? [] }
}

await every(t, 'a provider that is not known to take them gets none, and the loss is recorded', async (t) => {
  for (const path of Object.keys(ASKED))
    for (const stream of [false, true]) {
      const { sent, text, dropped } = await sentFor(path, 'acme/plain', stream)
      t.notMatch(text, /"(cache_control|reasoning|reasoning_details|thinking)":/, path)
      t.match(sent, { reasoning_effort: 'medium' }, `${path}: the budget as an effort`)
      t.ok(dropped.includes('reasoning.max_tokens') && dropped.includes('cache_control'), `${path}: ${dropped.join()}`)
    }
})

await every(t, 'one that is known to take them gets them', async (t) => {
  for (const stream of [false, true]) {
    const chat = await sentFor('/v1/chat/completions', 'acme/gateway', stream)
    t.match(chat.sent, { reasoning: { max_tokens: 2000 }, messages: [{}, {}, { reasoning_details: [DETAIL] }] })
    t.equal(chat.text.match(/"cache_control":/g)?.length, 3, 'all marks')
    const messages = await sentFor('/v1/messages', 'acme/gateway', stream)
    t.match(messages.sent, { reasoning: { max_tokens: 2000 } })
    t.equal(messages.text.match(/"cache_control":/g)?.length, 3, 'all marks')
  }
})

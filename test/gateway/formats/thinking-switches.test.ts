/** Words of single servers by which chat callers switch thinking off, at providers that have a word of their own, and at those of unknown ways. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { startGateway } from '../../support/gateway.ts'
import { startUpstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

const upstream = await startUpstream((seen) => answerFor(seen, { text: ['fine'] }))
const QUIRKS: Readonly<Record<string, string>> = {
  unknown: '{}',
  effort: '{ thinking_off: effort }',
  listed: '{ efforts: [none, low, high] }',
  switched: '{ thinking_off: enable_thinking }',
  template: '{ thinking_off: chat_template_kwargs }',
  object: '{ reasoning: object }',
}
const DIALECTS = ['openai-responses', 'anthropic', 'gemini']
const provider = (dialect: string, quirks = '{}') =>
  `{ dialect: ${dialect}, base_url: "${upstream.url}/v1", key: sk-up, quirks: ${quirks} }`
const lines = [
  ...Object.entries(QUIRKS).map(([name, quirks]) => [name, provider('openai-chat', quirks)]),
  ...DIALECTS.map((dialect) => [dialect, provider(dialect)]),
]
const gateway = await startGateway(`
providers:
${lines.map(([name, text]) => `  ${name}: ${text}`).join('\n')}
models:
${lines.map(([name]) => `  acme/${name}: { endpoints: [ { provider: ${name}, model: m, price: free, max_output: 64000 } ] }`).join('\n')}
`)
t.teardown(async () => {
  await gateway.close()
  await upstream.close()
})

/** Fields of the provider's request beside those of every request. */
async function sentTo(model: string, body: JsonObject): Promise<JsonObject> {
  const messages = [{ role: 'user', content: 'Hello' }]
  const response = await gateway.post('/v1/chat/completions', { model: `acme/${model}`, messages, ...body })
  await response.text()
  const { model: _model, messages: _messages, stream: _stream, ...rest } = upstream.requests.at(-1)?.json ?? {}
  return rest
}

const WORDS: readonly JsonObject[] = [
  { chat_template_kwargs: { enable_thinking: false } },
  { chat_template_kwargs: { thinking: false } },
  { enable_thinking: false },
  { thinking: { type: 'disabled' } },
]

t.test('a provider whose way is known gets its own word', async (t) => {
  for (const word of WORDS) {
    t.same(await sentTo('effort', word), { reasoning_effort: 'none' })
    t.same(await sentTo('listed', word), { reasoning_effort: 'none' })
    t.same(await sentTo('switched', word), { enable_thinking: false })
    t.same(await sentTo('object', word), { reasoning: { enabled: false } })
    t.match(await sentTo('template', word), { chat_template_kwargs: { enable_thinking: false } })
  }
})

t.test('a provider of an unknown way gets what the caller wrote', async (t) => {
  for (const word of WORDS) t.same(await sentTo('unknown', word), word)
})

t.test('other settings of a template stay, and so does a word that comes beside an effort', async (t) => {
  t.same(await sentTo('effort', { chat_template_kwargs: { enable_thinking: false, tools_in_user: true } }), {
    chat_template_kwargs: { tools_in_user: true },
    reasoning_effort: 'none',
  })
  t.same(await sentTo('effort', { enable_thinking: false, reasoning_effort: 'low' }), { reasoning_effort: 'low' })
  t.same(await sentTo('unknown', { enable_thinking: false, reasoning_effort: 'low' }), { enable_thinking: false, reasoning_effort: 'low' })
})

t.test('a word for thinking is left out where the provider has another', async (t) => {
  t.same(await sentTo('effort', { enable_thinking: true }), {})
  t.same(await sentTo('unknown', { enable_thinking: true }), { enable_thinking: true })
})

t.test('providers of other formats are kept from thinking', async (t) => {
  for (const word of WORDS) {
    t.match(await sentTo('openai-responses', word), { reasoning: { effort: 'none' } })
    t.match(await sentTo('anthropic', word), { thinking: { type: 'disabled' } })
    t.match(await sentTo('gemini', word), { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } })
  }
})

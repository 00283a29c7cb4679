/**
 * A budget of thinking above the output cap: with interleaved thinking it is that of a whole turn of tool calls, and Anthropic takes it
 * (platform.claude.com, Extended thinking, "Budget rules and tuning"). Qwen Code 0.15.10 sends 32,000 with a cap of 8,000.
 */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { object } from '../../support/fold.ts'
import { startGateway } from '../../support/gateway.ts'
import { startUpstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

const BETA = { 'anthropic-beta': 'effort-2025-11-24, interleaved-thinking-2025-05-14' }
const THINKING = { type: 'enabled', budget_tokens: 32_000 }
const ASKED = {
  max_tokens: 8000,
  thinking: THINKING,
  messages: [{ role: 'user', content: 'Hello' }],
  tools: [{ name: 'f', input_schema: { type: 'object', properties: {} } }],
}

const upstream = await startUpstream((seen) => answerFor(seen, { text: ['fine'] }))
const provider = (dialect: string, quirks = '{}') =>
  `{ dialect: ${dialect}, base_url: "${upstream.url}/v1", key: sk-up, quirks: ${quirks} }`
const gateway = await startGateway(`
providers:
  claude: ${provider('anthropic')}
  adaptive: ${provider('anthropic', '{ thinking: adaptive }')}
  gemini: ${provider('gemini')}
  chat: ${provider('openai-chat', '{ reasoning: object }')}
  responses: ${provider('openai-responses')}
  bedrock: ${provider('bedrock-converse', '{ thinking: budget }')}
models:
${['claude', 'adaptive', 'gemini', 'chat', 'responses', 'bedrock'].map((name) => `  acme/${name}: { endpoints: [ { provider: ${name}, model: m, price: free, max_output: 64000 } ] }`).join('\n')}
`)
t.teardown(async () => {
  await gateway.close()
  await upstream.close()
})

async function send(model: string, body: JsonObject = {}, headers: Record<string, string> = BETA) {
  const response = await gateway.post('/v1/messages', { ...ASKED, model: `acme/${model}`, ...body }, headers)
  const reply = (await response.json()) as JsonObject
  const found = await gateway.get(`/v1/generation?id=${response.headers.get('x-generation-id')}`)
  const { data } = (await found.json()) as { data?: { provider_responses?: { dropped?: string[] }[] } }
  return { status: response.status, reply, sent: upstream.requests.at(-1)?.json ?? {}, dropped: data?.provider_responses?.[0]?.dropped }
}

t.test('Anthropic gets it as it came', async (t) => {
  const { status, sent, dropped } = await send('claude')
  t.equal(status, 200)
  t.match(sent, { max_tokens: 8000, thinking: THINKING })
  t.same(dropped ?? [], [])
  t.equal((await send('claude', { betas: ['interleaved-thinking-2025-05-14'] }, {})).status, 200, 'the body may list the beta')
})

t.test('a model that decides itself gets the effort that Anthropic has by default', async (t) => {
  const { status, sent, dropped } = await send('adaptive')
  t.equal(status, 200)
  t.match(sent, { max_tokens: 8000, thinking: { type: 'adaptive' }, output_config: { effort: 'high' } })
  t.same(dropped ?? [], [])
})

t.test('without the beta it is refused, as by Anthropic', async (t) => {
  for (const headers of [{}, { 'anthropic-beta': 'effort-2025-11-24' }] as Record<string, string>[]) {
    const { status, reply } = await send('claude', {}, headers)
    t.equal(status, 400)
    t.match(object(reply.error).message, /^thinking\.budget_tokens: must be less than max_tokens \(8000\)/)
  }
})

t.test('other wires know a budget for one reply alone: it leaves room for an answer, and the loss is recorded', async (t) => {
  const found: [string, (sent: JsonObject) => unknown][] = [
    ['gemini', (sent) => object(object(sent.generationConfig).thinkingConfig).thinkingBudget],
    ['chat', (sent) => object(sent.reasoning).max_tokens],
    ['bedrock', (sent) => object(object(sent.additionalModelRequestFields).thinking).budget_tokens],
  ]
  for (const [model, budgetIn] of found) {
    const { status, sent, dropped } = await send(model)
    t.equal(status, 200)
    t.equal(budgetIn(sent), 6400, model)
    t.ok(dropped?.includes('thinking.budget_tokens'), model)
  }
  const { status, sent } = await send('responses')
  t.equal(status, 200)
  t.match(sent.reasoning, { effort: 'high' }, 'and an effort is the one of Anthropic, no more')
})

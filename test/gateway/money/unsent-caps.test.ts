/** An output cap that a provider is not sent bounds neither what is held nor what is charged. Runs with `npm run test:servers`. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { heardLeave, READ_ON } from '../../support/leaving.ts'
import { startScene } from '../../support/scene.ts'
import { sseAnswer } from '../../support/upstream.ts'
import { framesFor } from '../../support/wire.ts'

const KEY = 'sk-router-v1-0123456789abcdef'
const CAP = 16
/** Tokens that the text which came is at least worth. */
const CAME = 5_000
const UTTERANCES = { text: ['word '.repeat(CAME), 'found ', 'it'], usage: { input: 10, output: 6_000 } }

/** Caps that callers of each format send, and where. */
const CLIENTS = {
  chat: { path: '/v1/chat/completions', fields: ['max_tokens', 'max_completion_tokens'], turns: 'messages' },
  responses: { path: '/v1/responses', fields: ['max_output_tokens'], turns: 'input' },
  messages: { path: '/v1/messages', fields: ['max_tokens'], turns: 'messages' },
} as const
type Client = keyof typeof CLIENTS

/** Name of the cap in `quirks.drop`, and the callers whose bodies pass or are translated. */
const PROVIDERS = {
  'openai-chat': { drop: 'max_tokens', clients: ['chat', 'responses'] },
  'openai-responses': { drop: 'max_output_tokens', clients: ['responses', 'chat'] },
  anthropic: { drop: 'max_tokens', clients: ['messages', 'chat'] },
  gemini: { drop: 'max_tokens', clients: ['chat', 'messages'] },
} as const satisfies Record<string, { drop: string; clients: readonly Client[] }>
type Provider = keyof typeof PROVIDERS

interface Setting {
  provider?: Provider
  /** YAML of the provider, of the endpoint, of the key, and of the configuration. */
  providerData?: string
  endpoint?: string
  key?: string
  configuration?: string
}

async function unreportedUsage(
  t: Test,
  { provider = 'openai-chat', providerData = '', endpoint = '', key = '', configuration = '' }: Setting,
) {
  const clock = new FakeClock()
  const { gateway, upstream } = await startScene(t, {
    answer: (seen) => {
      const frames = framesFor(seen.path, UTTERANCES).map(unreported)
      return sseAnswer(frames.slice(0, frames.findIndex((frame) => frame.includes('found ')) + 1), { after: 'stall' })
    },
    config: (url) => `
${configuration}
auth: { keys: [ { name: a, key: "${KEY}"${key} } ] }
providers:
  up: { dialect: ${provider}, base_url: "${url}/v1", key: sk-up${providerData} }
models:
  acme/one: { context: 1000000, endpoints: [ { provider: up, model: m, price: { prompt: "1.00", completion: "2.00" }${endpoint} } ] }
`,
    clock,
  })
  const post = (client: Client, fields: JsonObject, signal?: AbortSignal): Promise<Response> =>
    fetch(gateway.url + CLIENTS[client].path, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'acme/one', stream: true, [CLIENTS[client].turns]: [{ role: 'user', content: 'Hello' }], ...fields }),
      ...(signal ? { signal } : {}),
    })
  /** Reads 25 KB of a reply and leaves. */
  const leaves = async (client: Client, fields: JsonObject) => {
    const number = upstream.requests.length
    const aborter = new AbortController()
    const response = await post(client, fields, aborter.signal)
    if (response.status !== 200) throw new Error(await response.text())
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    for (let text = ''; !text.includes('found '); ) text += Buffer.from((await reader.read()).value ?? []).toString()
    aborter.abort()
    await heardLeave(clock)
    await clock.advance(READ_ON)
    return eventually('the settlement', () => {
      const { hold, settled } = [...gateway.running.store.journal.export()][number] ?? {}
      return settled && { output: settled.output, cost: settled.cost, hold: hold.hold, sent: upstream.requests[number].json }
    })
  }
  return { gateway, post, leaves }
}

/** Gemini reports its usage with every frame; here only the end would have it. */
function unreported(frame: string): string {
  if (!frame.includes('"usageMetadata"')) return frame
  const { usageMetadata: _, ...rest } = JSON.parse(frame.slice('data: '.length)) as JsonObject
  return `data: ${JSON.stringify(rest)}\n\n`
}

const sentCap = (body: JsonObject): unknown =>
  body.max_tokens ??
  body.max_completion_tokens ??
  body.max_output_tokens ??
  (body.generationConfig as JsonObject | undefined)?.maxOutputTokens

for (const [provider, { drop, clients }] of Object.entries(PROVIDERS) as [Provider, (typeof PROVIDERS)[Provider]][]) {
  const unlisted = { endpoint: ', supported_parameters: [temperature]' }
  const dropped = { providerData: `, quirks: { body: { drop: [${drop}] } }` }
  const cases: [name: string, setting: Setting][] = [
    ['dropped', dropped],
    ['dropped, under a limit', { ...dropped, key: ', limit: "10.00"' }],
  ]
  // Its format demands a cap.
  if (provider !== 'anthropic') cases.push(['not listed', unlisted])
  t.test(`${provider}: a cap that is not sent`, async (t) => {
    for (const [name, setting] of cases) {
      const { leaves } = await unreportedUsage(t, { provider, ...setting })
      for (const client of clients)
        for (const field of CLIENTS[client].fields) {
          const { output, cost, hold, sent } = await leaves(client, { max_tokens: CAP, [field]: CAP })
          t.equal(sentCap(client === 'responses' ? { ...sent, max_tokens: undefined } : sent), undefined, `${name}: ${client}, ${field}`)
          t.ok(output >= CAME, `${output} tokens are charged`)
          t.ok(hold > cost, 'and were held')
        }
    }
  })
  t.test(`${provider}: a cap that is sent`, async (t) => {
    for (const setting of [{}, { ...unlisted, key: ', limit: "10.00"' }]) {
      const { leaves } = await unreportedUsage(t, { provider, ...setting })
      for (const client of clients) {
        const { output, sent } = await leaves(client, { [CLIENTS[client].fields[0]]: CAP })
        t.equal(sentCap(sent), CAP, `${client}, ${JSON.stringify(setting)}`)
        t.ok(output <= CAP, `${output} tokens are charged`)
      }
    }
  })
}

t.test('the newer name, where the endpoint takes that one', async (t) => {
  const { leaves } = await unreportedUsage(t, {
    providerData: ', quirks: { max_tokens_field: max_completion_tokens, body: { drop: [max_completion_tokens] } }',
  })
  const { output, sent } = await leaves('chat', { max_completion_tokens: CAP })
  t.equal(sentCap(sent), undefined)
  t.ok(output >= CAME)
})

t.test('a default_max_output that no limit applies to is not sent, and bounds nothing', async (t) => {
  const { leaves } = await unreportedUsage(t, { configuration: 'default_max_output: 500' })
  const { output, sent } = await leaves('chat', {})
  t.equal(sentCap(sent), undefined)
  t.ok(output >= CAME, `${output} tokens are charged`)
})

t.test('under a limit an endpoint that takes no cap has to be paid for all that it may write', async (t) => {
  const dropped = { providerData: ', quirks: { body: { drop: [max_tokens] } }', key: ', limit: "0.05"' }
  const poor = await unreportedUsage(t, dropped)
  const refused = await poor.post('chat', { max_tokens: CAP })
  t.equal(refused.status, 402, '32,768 tokens cost $0.065')
  if (refused.status !== 402) return
  t.match(await refused.json(), { error: { metadata: { left: '0.05', affordable_output_tokens: 0 } } }, 'no cap would help')
  const { leaves, gateway } = await unreportedUsage(t, { ...dropped, endpoint: ', max_output: 10000' })
  const plan = (await (await gateway.post('/v1/plan', { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] })).json()) as {
    candidates: JsonObject[]
  }
  t.equal(plan.candidates[0].output_cap, undefined, 'the plan shows none')
  const { output, hold, sent } = await leaves('chat', { max_tokens: CAP })
  t.equal(sentCap(sent), undefined)
  t.ok(hold >= 20_000_000, `${hold} nano-dollars are held`)
  t.ok(output >= CAME)
})

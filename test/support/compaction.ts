/** A gateway with a model on each wire, whose providers remember one word, and requests that compact and go on. */
import type { Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { list, object, parseStream } from './fold.ts'
import { type Gateway, type GatewayOptions, startGateway } from './gateway.ts'
import { type Script, type Seen, startUpstream } from './upstream.ts'
import { answerFor, type Utterance, type WireName } from './wire.ts'

export const COMPACTING: readonly WireName[] = ['openai-responses', 'openai-chat', 'anthropic', 'gemini']

/** Summary that models write when they are asked for a summary; in no request before it was. */
export const SUMMARY = 'The user wants the bridge painted in mauve-4711. "Two" coats\nare done.'
/** Its beginning, which no JSON writes differently. */
export const WORD = 'mauve-4711'

export const OWNER = 'sk-router-v1-owner0123456789abcdef'
export const OTHER = 'sk-router-v1-other0123456789abcdef'
export const POOR = 'sk-router-v1-poor00123456789abcdef'
export const WATCHED = 'sk-router-v1-watched3456789abcdef'
export const BOSS = 'sk-router-v1-boss00123456789abcdef'

export const TOOL: JsonObject = { type: 'function', name: 'paint', description: 'Paints', parameters: { type: 'object', properties: {} } }

/** A conversation with a call, as an agent sends it. */
export const HISTORY: readonly JsonObject[] = [
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Paint the bridge.' }] },
  { type: 'function_call', call_id: 'call_1', name: 'paint', arguments: '{}' },
  { type: 'function_call_output', call_id: 'call_1', output: 'one coat done' },
  { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'One more.' }] },
  { type: 'message', role: 'user', content: 'Go on.' },
]
export const TRIGGER: JsonObject = { type: 'compaction_trigger' }

export interface CompactionScene {
  readonly gateway: Gateway
  /** All requests to providers. */
  readonly seen: readonly Seen[]
  /** Replies of providers from now on. */
  says(utterance: Utterance | Script): void
}

export interface CompactionOptions extends GatewayOptions {
  /** YAML beside providers, models and keys. */
  more?: string
  /** Members of every provider's entry. */
  provider?: string
  store?: string
}

export async function compactionScene(
  t: Test,
  { more = '', provider = '', store, ...options }: CompactionOptions = {},
): Promise<CompactionScene> {
  const seen: Seen[] = []
  let script: Utterance | Script = { text: ['The user wants ', 'the bridge painted in mauve-4711. "Two" coats\nare done.'] }
  const upstream = await startUpstream((request, index) => {
    seen.push(request)
    return typeof script === 'function' ? script(request, index) : answerFor(request, script)
  })
  const entry = (wire: WireName) =>
    `  ${wire}: { dialect: ${wire}, base_url: "${upstream.url}${wire === 'anthropic' ? '' : '/v1'}", key: sk-up-${wire}${provider} }`
  const model = (wire: WireName) =>
    `  acme/${wire}: { context: 128000, max_output: 4096, endpoints: [ { provider: ${wire}, model: up, price: { prompt: "1.00", completion: "2.00" } } ] }`
  const gateway = await startGateway(
    `${store === undefined ? '' : `store: { url: "${store}" }`}
auth:
  keys:
    - { name: owner, key: "${OWNER}" }
    - { name: other, key: "${OTHER}" }
    - { name: watched, key: "${WATCHED}" }
    - { name: poor, key: "${POOR}", limit: "0.000100" }
    - { name: boss, key: "${BOSS}", management: true }
${more}
providers:
${COMPACTING.map(entry).join('\n')}
models:
${COMPACTING.map(model).join('\n')}
`,
    options,
  )
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  return { gateway, seen, says: (utterance) => (script = utterance) }
}

/** One request; with `stream` its events. */
export async function send(gateway: Gateway, body: JsonObject, { key = OWNER, path = '/v1/responses' } = {}) {
  const response = await gateway.post(path, body, { authorization: `Bearer ${key}` })
  const text = await response.text()
  const events = body.stream === true && response.ok ? parseStream(text) : []
  return {
    status: response.status,
    text,
    id: response.headers.get('x-generation-id') ?? '',
    events,
    reply: events.length > 0 ? {} : object(JSON.parse(text)),
  }
}

/** Request of an agent that has a conversation compacted. */
export const compacting = (model: string, more: JsonObject = {}): JsonObject => ({
  model: `acme/${model}`,
  instructions: 'You paint bridges.',
  input: [...HISTORY, TRIGGER],
  tools: [TOOL],
  ...more,
})

/** The one compaction item among output items. @throws Error where there is none, or another item. */
export function compactionItem(output: readonly JsonObject[]): JsonObject {
  const [item, ...others] = output
  if (item?.type !== 'compaction' || others.length > 0) throw new Error(`expected one compaction item: ${JSON.stringify(output)}`)
  return item
}

/** A compacted conversation, made on the first model. */
export async function madeItem(gateway: Gateway, model: string = 'openai-chat', key: string = OWNER): Promise<JsonObject> {
  const { reply } = await send(gateway, compacting(model), { key })
  return compactionItem(list(reply.output))
}

/** Request that goes on from an item. */
export const goingOn = (model: string, item: JsonObject, more: JsonObject = {}): JsonObject => ({
  model: `acme/${model}`,
  input: [{ role: 'user', content: 'Paint the bridge.' }, item, { role: 'user', content: 'What colour?' }],
  ...more,
})

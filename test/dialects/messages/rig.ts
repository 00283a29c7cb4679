/** Drives the client half of the Messages wire from outside: bodies in, canonical requests out; events in, replies out. */
import fc from 'fast-check'
import { isObject, type Json, type JsonObject } from '../../../src/core/json.ts'
import type { StreamEvent } from '../../../src/dialects/canon/events.ts'
import { COMMON } from '../../../src/dialects/canon/events.ts'
import { noUsage } from '../../../src/dialects/canon/usage.ts'
import { messagesClient } from '../../../src/dialects/messages/client.ts'
import type { Final, ReplyContext } from '../../../src/dialects/types.ts'
import { EventReader } from '../../../src/machines/sse/reader.ts'
import { EventOrder } from '../../support/event-order.ts'
import { fold } from '../../support/fold-events.ts'

export const BODY: JsonObject = { model: 'acme/mobius', max_tokens: 4000, messages: [{ role: 'user', content: 'hi' }] }

export function body(more: JsonObject): JsonObject {
  return { ...BODY, ...more }
}

export function context(more: JsonObject = {}): ReplyContext {
  return {
    id: 'gen-1abc-AAAAbbbbCCCC',
    created: 1_763_712_000,
    model: 'acme/mobius',
    provider: 'Acme',
    body: body(more),
    brand: 'router',
    sequence: 0,
    opened: true,
  }
}

export function buildFinal(more: Partial<Final> = {}): Final {
  const usage = { ...noUsage(), input: 100, output: 20, cached: 30, cacheWrite: 25, cacheWriteLong: 5, reasoning: 7 }
  return { usage, cost: 1500, inputCost: 500, outputCost: 1000, end: { reason: 'stop' }, completedAt: 1_763_712_003, ...more }
}

export interface Frame extends JsonObject {
  type: string
}

/** Parsed events; each one's name must be its type. */
export function frames(text: string): Frame[] {
  const found: Frame[] = []
  const reader = new EventReader(({ data, event }) => {
    const frame = JSON.parse(data) as Frame
    if (event !== frame.type) throw new Error(`event ${event} holds type ${frame.type}`)
    found.push(frame)
  })
  reader.push(Buffer.from(text))
  return found
}

/** Bytes for a caller of a stream: `cut` sets how many events come in each push. */
export function streamed(events: readonly StreamEvent[], final: Final, ctx = context(), cut = 1): Frame[] {
  let text = messagesClient.open?.(ctx) ?? ''
  const encoder = messagesClient.streamEncoder(ctx)
  for (let i = 0; i < events.length; i += cut) text += encoder.push(events.slice(i, i + cut))
  return frames(text + encoder.finish(final))
}

export function whole(events: readonly StreamEvent[], final: Final, ctx = context()): JsonObject {
  return JSON.parse(messagesClient.encodeResult(fold(events), ctx, final)) as JsonObject
}

const DELTA_OF: Readonly<Record<string, readonly string[]>> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
  server_tool_use: ['input_json_delta'],
  mcp_tool_use: ['input_json_delta'],
}

/** @throws Error naming the rule of the wire's event order that a stream breaks. */
export function checkLegal(stream: readonly Frame[]): void {
  const fail = (why: string): never => {
    throw new Error(`${why}: ${stream.map(({ type }) => type).join(' ')}`)
  }
  if (stream[0]?.type !== 'message_start' || stream[1]?.type !== 'ping') fail('does not begin with message_start and ping')
  const tail = stream.at(-1)?.type === 'error' ? 1 : 2
  if (tail === 2 && (stream.at(-2)?.type !== 'message_delta' || stream.at(-1)?.type !== 'message_stop')) fail('does not end')
  let next = 0
  let open: string | undefined
  for (const frame of stream.slice(2, -tail)) {
    if (frame.type === 'content_block_start') {
      if (open !== undefined || frame.index !== next) fail(`block ${String(frame.index)} may not start`)
      open = String((frame.content_block as JsonObject).type)
    } else if (frame.type === 'content_block_delta') {
      if (open === undefined || frame.index !== next) fail(`no block for a delta of ${String(frame.index)}`)
      else if (!DELTA_OF[open]?.includes(String((frame.delta as JsonObject).type))) fail(`${open} takes no such delta`)
    } else if (frame.type === 'content_block_stop') {
      if (open === undefined || frame.index !== next++) fail(`block ${String(frame.index)} may not stop`)
      open = undefined
    } else fail(`${frame.type} in the middle`)
  }
  if (open !== undefined && tail === 2) fail('a block stays open')
}

function applyDelta(block: JsonObject, delta: JsonObject, json: { text: string }): void {
  if (delta.type === 'text_delta') block.text = `${String(block.text)}${String(delta.text)}`
  else if (delta.type === 'thinking_delta') block.thinking = `${String(block.thinking)}${String(delta.thinking)}`
  else if (delta.type === 'signature_delta') block.signature = delta.signature
  else if (delta.type === 'citations_delta') block.citations = [...(block.citations as Json[]), delta.citation as Json]
  else json.text += String(delta.partial_json)
}

/** Arguments as a caller reads them; ones that are no object come as text under one name. */
function parsed(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch {
    return { INVALID_JSON: text }
  }
  return { INVALID_JSON: text }
}

/** The message that a client library puts together from a stream. */
export function gathered(stream: readonly Frame[]): JsonObject {
  const message = structuredClone((stream[0] as Frame).message) as JsonObject
  const content: JsonObject[] = []
  const json = { text: '' }
  for (const frame of stream.slice(1)) {
    const block = content.at(-1)
    if (frame.type === 'content_block_start') {
      content.push(structuredClone(frame.content_block) as JsonObject)
      json.text = ''
    } else if (frame.type === 'content_block_delta') applyDelta(block as JsonObject, frame.delta as JsonObject, json)
    else if (frame.type === 'content_block_stop' && json.text !== '') (block as JsonObject).input = parsed(json.text)
    else if (frame.type === 'message_delta') {
      const { type: _, delta, ...rest } = frame
      Object.assign(message, delta, rest)
    } else if (frame.type === 'message_stop' && frame.router_metadata) message.router_metadata = frame.router_metadata
  }
  return { ...message, content }
}

interface Plan {
  start: Omit<Extract<StreamEvent, { type: 'block-start' }>, 'type' | 'block'>
  inside: ({ text: string } | { note: Extract<StreamEvent, { type: 'block-note' }>['note']; data: JsonObject })[]
}

const words = fc.string({ unit: 'binary', maxLength: 6 })
const text = words.map((text) => ({ text }))
const FORMATS = ['anthropic-claude-v1', 'openai-responses-v1', 'google-gemini-v1']
const format = fc.constantFrom(...FORMATS)

const cited = fc.constantFrom<JsonObject>(
  { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 1, content: 'quoted' },
  { type: 'file_path', file_id: 'file-1', index: 0 },
  {
    type: 'url_citation',
    url: 'https://b.example',
    title: 'B',
    start_index: 0,
    end_index: 1,
    native: { dialect: 'messages', data: { type: 'search_result_location', source: 'https://b.example', cited_text: 'b' } },
  },
)

const thoughtNote = fc.oneof(
  format.map((format) => ({ note: 'format' as const, data: { format } })),
  fc.record({ signature: words, format }).map((data) => ({ note: 'signature' as const, data })),
  fc
    .record({ data: words, id: fc.option(words, { nil: undefined }), format: fc.option(format, { nil: undefined }) })
    .map((data) => ({ note: 'encrypted' as const, data: JSON.parse(JSON.stringify(data)) as JsonObject })),
)

const plan: fc.Arbitrary<Plan> = fc.oneof(
  fc.record({
    start: fc.constant({ kind: 'text' as const }),
    inside: fc.array(
      fc.oneof({ weight: 3, arbitrary: text }, { weight: 1, arbitrary: cited.map((data) => ({ note: 'annotation' as const, data })) }),
      {
        maxLength: 5,
      },
    ),
  }),
  fc.record({ start: fc.constant({ kind: 'refusal' as const }), inside: fc.array(text, { maxLength: 2 }) }),
  fc.record({
    start: fc.record({ kind: fc.constantFrom('reasoning' as const, 'summary' as const), item: fc.option(words, { nil: undefined }) }),
    inside: fc.array(fc.oneof({ weight: 2, arbitrary: text }, { weight: 1, arbitrary: thoughtNote }), { maxLength: 5 }),
  }),
  fc.record({
    start: fc.record({ kind: fc.constant('call' as const), call: fc.record({ id: words, name: words }) }),
    inside: fc.constantFrom<Plan['inside'][]>(
      [],
      [{ text: '{"a":' }, { text: '1}' }],
      [{ text: '{"cut' }],
      [{ text: '[1]' }],
      [{ text: '{}' }],
    ),
  }),
  fc.constantFrom<Plan>(
    { start: { kind: 'media', of: { dialect: COMMON, type: 'image', data: { url: 'data:image/png;base64,aGk=' } } }, inside: [] },
    { start: { kind: 'opaque', of: { dialect: 'responses', type: 'web_search_call', data: { id: 'ws' } } }, inside: [] },
    {
      start: {
        kind: 'opaque',
        of: {
          dialect: 'messages',
          type: 'server_tool_use',
          data: { type: 'server_tool_use', id: 'srv', name: 'web_search', input: { query: 'q' } },
        },
      },
      inside: [],
    },
    {
      start: {
        kind: 'opaque',
        of: {
          dialect: 'messages',
          type: 'web_search_tool_result',
          data: { type: 'web_search_tool_result', tool_use_id: 'srv', content: [] },
        },
      },
      inside: [],
    },
    {
      start: {
        kind: 'server',
        of: {
          dialect: 'gateway',
          type: 'router:datetime',
          data: { status: 'completed', datetime: 'now', call: { tool_call_id: 'call-1', arguments: '{"zone":"UTC"}', result: 'now' } },
        },
      },
      inside: [],
    },
  ),
)

/** Events of any legal order: blocks start one after another, what is in them mixes at will, and some never end. */
export const eventsArb: fc.Arbitrary<StreamEvent[]> = fc
  .tuple(fc.array(plan, { maxLength: 6 }), fc.infiniteStream(fc.nat({ max: 7 })), fc.boolean())
  .map(([plans, choices, endAll]) => {
    const events: StreamEvent[] = [{ type: 'start', model: 'm' }]
    const open: { block: number; left: Plan['inside'] }[] = []
    let next = 0
    const choose = (count: number): number => (choices.next().value ?? 0) % count
    while (next < plans.length || open.length > 0) {
      const at = choose(open.length + (next < plans.length ? 1 : 0))
      const each = open[at]
      if (each === undefined) {
        const { start, inside } = plans[next] as Plan
        events.push({ type: 'block-start', block: next, ...start })
        open.push({ block: next++, left: [...inside] })
        continue
      }
      const step = each.left.shift()
      if (step === undefined) {
        open.splice(at, 1)
        if (endAll || choose(3) > 0) events.push({ type: 'block-end', block: each.block })
      } else if ('text' in step) events.push({ type: 'block-delta', block: each.block, text: step.text })
      else events.push({ type: 'block-note', block: each.block, note: step.note, data: step.data })
    }
    const order = new EventOrder()
    for (const event of events) order.check(event)
    return events
  })

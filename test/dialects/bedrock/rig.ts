/** Drives the Converse dialect from outside: canonical requests in, bodies out; bytes of a provider in, folded events out. */
import type { JsonObject } from '../../../src/core/json.ts'
import { bedrockConverse } from '../../../src/dialects/bedrock/index.ts'
import type { StreamEvent } from '../../../src/dialects/canon/events.ts'
import type { Folded } from '../../../src/dialects/canon/fold.ts'
import type { CanonicalRequest, Item } from '../../../src/dialects/canon/request.ts'
import type { Quirks } from '../../../src/dialects/quirks.ts'
import type { Encoded, Target } from '../../../src/dialects/types.ts'
import { EventOrder } from '../../support/event-order.ts'
import { fold } from '../../support/fold-events.ts'

export function target(fields: Partial<Target> = {}): Target {
  return { model: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0', stream: false, quirks: {}, user: 'pass', ...fields }
}

export const user = (text: string): Item => ({ kind: 'message', role: 'user', parts: [{ kind: 'text', text }] })
export const assistant = (text: string): Item => ({ kind: 'message', role: 'assistant', parts: [{ kind: 'text', text }] })
export const system = (text: string): Item => ({ kind: 'message', role: 'system', parts: [{ kind: 'text', text }] })
export const call = (callId: string, name = 'weather', args = '{}'): Item => ({ kind: 'call', callId, name, args })
export const result = (callId: string, text: string, more: { error?: boolean } = {}): Item => ({
  kind: 'result',
  callId,
  parts: [{ kind: 'text', text }],
  ...more,
})

export function encode(fields: Partial<CanonicalRequest>, to: Partial<Target> = {}): Encoded {
  const request: CanonicalRequest = { items: [user('Hello')], tools: [], sampling: {}, stream: false, used: new Set(), ...fields }
  return bedrockConverse.encodeRequest(request, target(to))
}

export function messages(items: Item[], to: Partial<Target> = {}): { messages: unknown; system: unknown; dropped: string[] } {
  const { body, dropped } = encode({ items }, to)
  return { messages: body.messages, system: body.system, dropped }
}

function checked(events: StreamEvent[]): Folded {
  const order = new EventOrder()
  for (const event of events) order.check(event)
  return fold(events)
}

/** A provider's bytes as a folded reply. Bytes that cannot be read end it, as they do in the relay. */
export function decode(chunks: readonly Buffer[], quirks: Quirks = {}): Folded & { broken?: string } {
  const decoder = bedrockConverse.streamDecoder(quirks)
  const events: StreamEvent[] = []
  const reader = bedrockConverse.framing?.reader(({ data, event }) => decoder.feed(data, event, events))
  try {
    for (const chunk of chunks) reader?.push(chunk)
  } catch (error) {
    return { ...checked(events), broken: String(error) }
  }
  reader?.close()
  decoder.end(events)
  return checked(events)
}

export function decodeWhole(body: JsonObject, quirks: Quirks = {}): Folded {
  const events: StreamEvent[] = []
  bedrockConverse.decodeResult(body, events, quirks)
  return checked(events)
}

/** Content of blocks, without how they were numbered. */
export const utterance = ({ blocks }: Folded): JsonObject[] =>
  blocks.map(({ kind, call: called, of, text, notes }) => ({
    kind,
    ...(called ? { call: { id: called.id, name: called.name } } : {}),
    ...(of ? { of: { ...of } } : {}),
    ...(text === '' ? {} : { text }),
    ...(notes.length > 0 ? { notes: notes.map(({ note, data }) => ({ note, data })) } : {}),
  }))

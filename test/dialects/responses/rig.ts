/** Drives the Responses dialect from outside: bytes of a provider in, parsed events of the caller out. */
import { readdirSync, readFileSync } from 'node:fs'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import type { StreamEvent } from '../../../src/dialects/canon/events.ts'
import type { Folded } from '../../../src/dialects/canon/fold.ts'
import { noUsage } from '../../../src/dialects/canon/usage.ts'
import { openaiResponses, responsesClient } from '../../../src/dialects/responses/index.ts'
import type { Final, PassStream, PassWire, ReplyContext, Target } from '../../../src/dialects/types.ts'
import { utf8 } from '../../../src/machines/sse/frames.ts'
import { EventReader } from '../../../src/machines/sse/reader.ts'
import { EventOrder } from '../../support/event-order.ts'
import { fold } from '../../support/fold-events.ts'

const FOLDER = new URL('../../fixtures/responses/', import.meta.url)

export function fixture(name: string): Buffer {
  return readFileSync(new URL(name, FOLDER))
}

export function jsonFixture(name: string): JsonObject {
  return JSON.parse(fixture(name).toString('utf8')) as JsonObject
}

/** Streams that end well and have the whole reply beside them. */
export const COMPLETE = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.json') && name !== 'request.json')
  .map((name) => name.slice(0, -5))

export const BROKEN = ['failed', 'error-event', 'cut']

export const passWire = openaiResponses.pass as PassWire

export function context(body: JsonObject = {}): ReplyContext {
  return {
    id: 'gen-1abc-AAAAbbbbCCCC',
    created: 1_763_712_000,
    model: 'openai/gpt-5-mini',
    provider: 'OpenAI',
    body: { model: 'openai/gpt-5-mini', input: 'hi', include: ['reasoning.encrypted_content'], ...body },
    brand: 'router',
    sequence: 0,
    opened: false,
  }
}

export function target(fields: Partial<Target> = {}): Target {
  return { model: 'gpt-5-mini', stream: true, quirks: {}, user: 'pass', ...fields }
}

export function buildFinal(fields: Partial<Final> = {}): Final {
  const usage = { ...noUsage(), input: 10, output: 5, cached: 4, reasoning: 2 }
  return { usage, cost: 2500, inputCost: 1500, outputCost: 1000, end: { reason: 'stop' }, completedAt: 1_763_712_005, ...fields }
}

/** A provider's bytes as canonical events, in a legal order. */
export function decode(bytes: Buffer, cut: (bytes: Buffer) => Buffer[] = (all) => [all]): StreamEvent[] {
  const decoder = openaiResponses.streamDecoder()
  const events: StreamEvent[] = []
  const reader = new EventReader(({ data, event }) => decoder.feed(data, event, events))
  for (const chunk of cut(bytes)) reader.push(chunk)
  reader.close()
  decoder.end(events)
  const order = new EventOrder()
  for (const event of events) order.check(event)
  return events
}

export function decodeWhole(body: JsonObject): StreamEvent[] {
  const events: StreamEvent[] = []
  openaiResponses.decodeResult(body, events)
  const order = new EventOrder()
  for (const event of events) order.check(event)
  return events
}

/** End of a decoded stream, as the pipeline would settle it. */
function closing(folded: Folded): Partial<Final> {
  return {
    end: folded.end ?? { reason: 'error' },
    ...(folded.fault ? { fault: folded.fault } : {}),
    ...(folded.usage ? { usage: folded.usage } : {}),
  }
}

/** Canonical events as the caller's stream. `batch` events go in at a time. */
export function encode(
  events: readonly StreamEvent[],
  options: { ctx?: ReplyContext; final?: Partial<Final>; batch?: number } = {},
): string {
  const ctx = options.ctx ?? context()
  let text = utf8(responsesClient.open?.(ctx) ?? '')
  ctx.opened = true
  const encoder = responsesClient.streamEncoder(ctx)
  const size = options.batch ?? events.length
  for (let i = 0; i < events.length; i += Math.max(size, 1)) text += encoder.push(events.slice(i, i + size))
  return text + encoder.finish(buildFinal({ ...closing(fold(events)), ...options.final }))
}

export interface Passed {
  text: string
  stream: PassStream
}

/** A provider's bytes through the pass lane. */
export function pass(
  bytes: Buffer,
  options: { ctx?: ReplyContext; cut?: (bytes: Buffer) => Buffer[]; final?: Partial<Final> } = {},
): Passed {
  const ctx = options.ctx ?? context()
  const head = responsesClient.open?.(ctx) ?? ''
  ctx.opened = true
  const stream = passWire.stream(ctx)
  let binary = ''
  for (const chunk of (options.cut ?? ((all) => [all]))(bytes)) binary += stream.feed(chunk)
  binary += stream.close()
  const facts: Partial<Final> = { end: stream.end ?? { reason: 'error' } }
  if (stream.fault) facts.fault = stream.fault
  if (stream.usage) facts.usage = stream.usage
  const text = utf8(head + binary + stream.finish(buildFinal({ ...facts, ...options.final })))
  return { text, stream }
}

export interface WireEvent extends JsonObject {
  type: string
  sequence_number: number
}

/** The caller's stream as parsed events; checks the frame form, the sentinel and the numbering on the way. */
export function events(text: string): WireEvent[] {
  const frames = text.split('\n\n')
  if (frames.pop() !== '') throw new Error('the stream does not end with a blank line')
  if (frames.pop() !== 'data: [DONE]') throw new Error('the stream does not end with [DONE]')
  return frames.map((frame, index) => {
    const line = frame.slice(frame.indexOf('data: '))
    const event = JSON.parse(line.slice(6)) as WireEvent
    if (event.sequence_number !== index) throw new Error(`sequence_number ${event.sequence_number} at ${index} (${event.type})`)
    return event
  })
}

export function types(text: string): string[] {
  return events(text).map((event) => event.type)
}

export function response(text: string): JsonObject {
  return events(text).at(-1)?.response as JsonObject
}

/** The caller's stream read again, without what may differ between lanes: item ids, and how log probabilities were cut. */
export function reread(text: string): unknown {
  return plain(fold(decode(Buffer.from(text))))
}

export function plain(folded: Folded): unknown {
  return {
    end: folded.end?.reason,
    fault: folded.fault?.code,
    blocks: folded.blocks.map((block) => ({
      kind: block.kind,
      text: block.text,
      call: block.call,
      of: block.of && { type: block.of.type, data: { ...block.of.data, id: undefined } },
      logprobs: block.notes.filter(({ note }) => note === 'logprobs').flatMap(({ data }) => data.content as Json[]),
      notes: block.notes.filter(({ note }) => note !== 'logprobs').map(({ note, data }) => ({ note, data: { ...data, id: undefined } })),
    })),
  }
}

/** Cuts bytes in two at `at`. */
export function cutAt(at: number): (bytes: Buffer) => Buffer[] {
  return (bytes) => [bytes.subarray(0, at), bytes.subarray(at)]
}

export function singly(bytes: Buffer): Buffer[] {
  return Array.from({ length: bytes.length }, (_, i) => bytes.subarray(i, i + 1))
}

/** The same stream with other line ends. */
export function lineEnds(bytes: Buffer, end: '\r' | '\n' | '\r\n'): Buffer {
  return Buffer.from(bytes.toString('latin1').replaceAll('\n', end), 'latin1')
}

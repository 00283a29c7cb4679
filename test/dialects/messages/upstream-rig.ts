/** Drives the upstream half of the Messages wire from outside: bytes of a provider in, canonical events out. */
import { readdirSync, readFileSync } from 'node:fs'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import type { End, StreamEvent } from '../../../src/dialects/canon/events.ts'
import type { Folded } from '../../../src/dialects/canon/fold.ts'
import type { CanonicalRequest } from '../../../src/dialects/canon/request.ts'
import { anthropicUpstream } from '../../../src/dialects/messages/upstream.ts'
import type { Target } from '../../../src/dialects/types.ts'
import { EventReader } from '../../../src/machines/sse/reader.ts'
import { EventOrder } from '../../support/event-order.ts'

const FOLDER = new URL('../../fixtures/messages/', import.meta.url)

export function fixture(name: string): Buffer {
  return readFileSync(new URL(name, FOLDER))
}

export function jsonFixture(name: string): JsonObject {
  return JSON.parse(fixture(name).toString('utf8')) as JsonObject
}

/** Streams that end well and have the whole reply beside them. */
export const COMPLETE = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.json'))
  .map((name) => name.slice(0, -5))

export const BROKEN = ['error-event', 'error-first', 'cut']

export type Cut = (bytes: Buffer) => Buffer[]

export const whole: Cut = (bytes) => [bytes]
export const singly: Cut = (bytes) => Array.from(bytes, (byte) => Buffer.from([byte]))

/** Cuts at every given share of the length. */
export function cutAt(shares: readonly number[]): Cut {
  return (bytes) => {
    const places = [0, ...shares.map((share) => Math.floor(share * bytes.length)).sort((a, b) => a - b), bytes.length]
    return places.slice(1).map((end, i) => bytes.subarray(places[i], end))
  }
}

/** A provider's bytes as canonical events, in a legal order. */
export function decode(bytes: Buffer, cut: Cut = whole): StreamEvent[] {
  const decoder = anthropicUpstream.streamDecoder()
  const events: StreamEvent[] = []
  const reader = new EventReader(({ data, event }) => decoder.feed(data, event, events))
  for (const chunk of cut(bytes)) reader.push(chunk)
  reader.close()
  decoder.end(events)
  return checked(events)
}

export function decodeWhole(body: JsonObject): StreamEvent[] {
  const events: StreamEvent[] = []
  anthropicUpstream.decodeResult(body, events)
  return checked(events)
}

function checked(events: StreamEvent[]): StreamEvent[] {
  const order = new EventOrder()
  for (const event of events) order.check(event)
  return events
}

/** An end without what a whole reply has not: events and pieces of blocks. */
export function ofWhole({ unknownWords, ...end }: End): End {
  const words = unknownWords?.filter(({ kind }) => kind === 'item')
  return words && words.length > 0 ? { ...end, unknownWords: words } : end
}

/** A folded reply without what two ways of telling it may tell differently: white space between arguments. */
export function plain(folded: Folded): unknown {
  const { end } = folded
  const blocks = folded.blocks.map((block) => (block.kind === 'call' ? { ...block, text: JSON.parse(block.text) as Json } : block))
  return JSON.parse(JSON.stringify({ ...folded, blocks, fault: folded.fault?.code, ...(end ? { end: ofWhole(end) } : {}) }))
}

export function request(fields: Partial<CanonicalRequest> = {}): CanonicalRequest {
  return {
    items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }],
    tools: [],
    sampling: {},
    stream: false,
    used: new Set(),
    ...fields,
  }
}

export function target(fields: Partial<Target> = {}): Target {
  return { model: 'claude-sonnet-4-5', stream: false, quirks: {}, user: 'pass', ...fields }
}

/** An encoded request: its body, and what was left out in a stable order. */
export function encoded(fields: Partial<CanonicalRequest>, at: Partial<Target> = {}): { body: JsonObject; dropped: string[] } {
  const { body, dropped } = anthropicUpstream.encodeRequest(request(fields), target(at))
  return { body: JSON.parse(JSON.stringify(body)) as JsonObject, dropped: [...dropped].sort() }
}

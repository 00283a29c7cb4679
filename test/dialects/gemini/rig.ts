/** Drives the Gemini dialect from outside: canonical requests in, bodies out; bytes of a provider in, folded events out. */
import { readdirSync, readFileSync } from 'node:fs'
import type { Fault } from '../../../src/core/faults.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import type { End, StreamEvent } from '../../../src/dialects/canon/events.ts'
import type { Block } from '../../../src/dialects/canon/fold.ts'
import type { CanonicalRequest, Item } from '../../../src/dialects/canon/request.ts'
import type { Usage } from '../../../src/dialects/canon/usage.ts'
import { geminiUpstream } from '../../../src/dialects/gemini/index.ts'
import type { Encoded, Target } from '../../../src/dialects/types.ts'
import { EventReader } from '../../../src/machines/sse/reader.ts'
import { EventOrder } from '../../support/event-order.ts'
import { fold } from '../../support/fold-events.ts'

const FOLDER = new URL('../../fixtures/gemini/', import.meta.url)

/** Streams that have the whole reply beside them. */
export const COMPLETE = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.json'))
  .map((name) => name.slice(0, -5))

export const STREAMS = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.sse'))
  .map((name) => name.slice(0, -4))

export function recorded(name: string): Buffer {
  return readFileSync(new URL(`${name}.sse`, FOLDER))
}

export function recordedReply(name: string): JsonObject {
  return JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), 'utf8')) as JsonObject
}

export function target(fields: Partial<Target> = {}): Target {
  return { model: 'gemini-3.8-flash', stream: false, quirks: {}, user: 'pass', ...fields }
}

export function request(fields: Partial<CanonicalRequest> = {}): CanonicalRequest {
  return { items: [user('Hello')], tools: [], sampling: {}, stream: false, used: new Set(), ...fields }
}

export function user(text: string): Item {
  return { kind: 'message', role: 'user', parts: [{ kind: 'text', text }] }
}

export function encode(fields: Partial<CanonicalRequest>, to: Partial<Target> = {}): Encoded {
  return geminiUpstream.encodeRequest(request(fields), target(to))
}

/** The contents of a request that consists of these items. */
export function contents(items: Item[], to: Partial<Target> = {}): { contents: unknown; dropped: string[]; system: unknown } {
  const { body, dropped } = encode({ items }, to)
  return { contents: body.contents, dropped, system: body.systemInstruction }
}

function checked(events: StreamEvent[]): StreamEvent[] {
  const order = new EventOrder()
  for (const event of events) order.check(event)
  return events
}

/** A provider's bytes as canonical events, in a legal order. */
export function decode(chunks: readonly Buffer[]): StreamEvent[] {
  const decoder = geminiUpstream.streamDecoder()
  const events: StreamEvent[] = []
  const reader = new EventReader(({ data, event }) => decoder.feed(data, event, events))
  for (const chunk of chunks) reader.push(chunk)
  reader.close()
  decoder.end(events)
  return checked(events)
}

export function decodeFrames(frames: readonly unknown[]): StreamEvent[] {
  const text = frames.map((frame) => `data: ${typeof frame === 'string' ? frame : JSON.stringify(frame)}\n\n`).join('')
  return decode([Buffer.from(text)])
}

export function decodeWhole(body: JsonObject): StreamEvent[] {
  const events: StreamEvent[] = []
  geminiUpstream.decodeResult(body, events)
  return checked(events)
}

export interface Told {
  model?: string | undefined
  blocks: JsonObject[]
  usage?: Usage | undefined
  end?: End | undefined
  fault?: Fault | undefined
}

const asObjectList = (value: unknown): JsonObject[] => (Array.isArray(value) ? value : [])

/** Log probabilities come in as many notes as frames; together they say the same. */
function blockNotes({ notes }: Block): JsonObject[] {
  const logprobs = notes.filter(({ note }) => note === 'logprobs').flatMap(({ data }) => asObjectList(data.content))
  const others = notes.filter(({ note }) => note !== 'logprobs').map(({ note, data }) => ({ note, data }))
  return logprobs.length > 0 ? [{ note: 'logprobs', data: logprobs }, ...others] : others
}

/** Content of events, without the pieces in which they said it. */
export function told(events: readonly StreamEvent[]): Told {
  const { model, blocks, usage, end, fault } = fold(events)
  return {
    model,
    blocks: blocks.map((block) => {
      const { kind, item, call, of, text } = block
      const notes = blockNotes(block)
      return {
        kind,
        ...(item === undefined ? {} : { item }),
        ...(call ? { call } : {}),
        ...(of ? { of: { ...of } } : {}),
        ...(text === '' ? {} : { text }),
        ...(notes.length > 0 ? { notes } : {}),
      }
    }),
    usage,
    end,
    fault,
  }
}

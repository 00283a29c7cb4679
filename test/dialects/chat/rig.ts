/** Runs recorded chat streams through the dialect's lanes and reads what a client would see. */
import { readdirSync, readFileSync } from 'node:fs'
import type { JsonObject } from '../../../src/core/json.ts'
import { CallWatch } from '../../../src/dialects/canon/call-watch.ts'
import { MEMBERS, type StreamEvent } from '../../../src/dialects/canon/events.ts'
import type { Folded } from '../../../src/dialects/canon/fold.ts'
import { noUsage } from '../../../src/dialects/canon/usage.ts'
import { chatClient, openaiChat } from '../../../src/dialects/chat/index.ts'
import type { Final, PassFacts, PassWire, ReplyContext } from '../../../src/dialects/types.ts'
import { EventReader } from '../../../src/machines/sse/reader.ts'
import { EventOrder } from '../../support/event-order.ts'
import { fold } from '../../support/fold-events.ts'

const FOLDER = new URL('../../fixtures/chat/', import.meta.url)

export const STREAMS = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.sse'))
  .map((name) => name.slice(0, -4))
export const WHOLE = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.json'))
  .map((name) => name.slice(0, -5))

export function recorded(name: string): Buffer {
  return readFileSync(new URL(`${name}.sse`, FOLDER))
}

export function recordedReply(name: string): JsonObject {
  return JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), 'utf8')) as JsonObject
}

export function pass(): PassWire {
  if (!openaiChat.pass) throw new Error('no pass wire')
  return openaiChat.pass
}

export function context(body: JsonObject = {}): ReplyContext {
  return {
    id: 'gen-abc-tag',
    created: 1_763_999_999,
    model: 'acme/möbius',
    provider: 'Acme',
    body,
    brand: 'router',
    sequence: 0,
    opened: true,
  }
}

export function buildFinal(facts: PassFacts, more: Partial<Final> = {}): Final {
  const final: Final = {
    usage: facts.usage ?? noUsage(),
    cost: 1500,
    inputCost: 500,
    outputCost: 1000,
    end: facts.end ?? { reason: 'error' },
    completedAt: 1_764_000_000,
    ...more,
  }
  if (facts.fault) final.fault = facts.fault
  return final
}

/** The same stream with other line ends. */
export function withLineEnds(bytes: Buffer, lineEnd: string): Buffer {
  return Buffer.from(bytes.toString('latin1').replaceAll('\n', lineEnd), 'latin1')
}

export function pieces(bytes: Buffer, size: number): Buffer[] {
  const out: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size) out.push(bytes.subarray(at, at + size))
  return out
}

/** Decodes an upstream's bytes and asserts the legal order of events on the way. */
export function decode(chunks: readonly Buffer[]): StreamEvent[] {
  const events: StreamEvent[] = []
  const decoder = openaiChat.streamDecoder()
  const reader = new EventReader(({ data, event }) => decoder.feed(data, event, events))
  for (const chunk of chunks) reader.push(chunk)
  reader.close()
  decoder.end(events)
  new CallWatch(undefined).read(events)
  const order = new EventOrder()
  for (const event of events) order.check(event)
  return events
}

export function decodeWhole(body: JsonObject): Folded {
  const events: StreamEvent[] = []
  openaiChat.decodeResult(body, events)
  new CallWatch(undefined).read(events)
  const order = new EventOrder()
  for (const event of events) order.check(event)
  return fold(events)
}

export interface Relayed {
  bytes: Buffer
  facts: PassFacts & { committed: boolean; relayed: number }
}

export function throughPass(chunks: readonly Buffer[], ctx: ReplyContext = context()): Relayed {
  const stream = pass().stream(ctx)
  let out = ''
  for (const chunk of chunks) out += stream.feed(chunk)
  out += stream.close()
  const { usage, end, fault, committed, relayed } = stream
  const facts = { usage, end, fault, committed, relayed }
  const bytes = Buffer.concat([Buffer.from(out, 'latin1'), Buffer.from(stream.finish(buildFinal(facts)), 'utf8')])
  return { bytes, facts }
}

export function throughTranslate(chunks: readonly Buffer[], ctx: ReplyContext = context()): Relayed {
  const events = decode(chunks)
  const folded = fold(events)
  const encoder = chatClient.streamEncoder(ctx)
  let out = ''
  for (const event of events) out += encoder.push([event])
  const facts = { usage: folded.usage, end: folded.end, fault: folded.fault, committed: true, relayed: out.length }
  return { bytes: Buffer.from(out + encoder.finish(buildFinal(facts)), 'utf8'), facts }
}

/** Chunks of a reply to the client, without the `[DONE]` that must be there, unless it has failed. */
export function byteChunks(bytes: Buffer): JsonObject[] {
  const frames = bytes.toString('utf8').split('\n\n')
  const hasFailed = frames.at(-2)?.startsWith('data: {"error":') === true
  if (frames.pop() !== '' || (!hasFailed && frames.pop() !== 'data: [DONE]')) throw new Error('the stream does not end with [DONE]')
  return frames.map((frame) => {
    if (!frame.startsWith('data: ') || frame.includes('\n')) throw new Error(`not a plain frame: ${frame}`)
    return JSON.parse(frame.slice(6)) as JsonObject
  })
}

/** Content of the reply, without what every lane writes anew: model, native reason, how log probabilities were cut. */
export function utterance(folded: Folded): unknown {
  const blocks = folded.blocks.map(({ kind, call, of, text, notes }) => ({
    kind,
    call,
    of: of?.data,
    text,
    notes: notes.filter(({ note }) => note !== 'logprobs'),
    logprobs: notes.filter(({ note }) => note === 'logprobs').flatMap(({ data }) => data.content ?? data.refusal),
  }))
  // An error ends a stream without the chunk that members of the reply stand in.
  const opaque = folded.fault ? folded.opaque.filter(({ type }) => type !== MEMBERS) : folded.opaque
  return { blocks, usage: folded.usage, reason: folded.end?.reason, fault: folded.fault?.status, opaque }
}

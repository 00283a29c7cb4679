/** Rich replies of each provider's wire, each number of which can be put right out of place: missing, text, beyond what a double holds. */
import { isObject, type Json, type JsonObject } from '../../../src/core/json.ts'
import { message } from '../event-stream.ts'
import { type Answer, JSON_TYPE } from '../upstream.ts'
import { ALL_WIRES, type AnyWireName, streamAnswer, type Utterance } from '../wire.ts'

/** JSON texts in the place of a number; undefined: the member is missing. */
export const ODD_NUMBERS: readonly (string | undefined)[] = [
  undefined,
  'null',
  '"0"',
  '"x"',
  '1.5',
  '-1',
  '1e308',
  '1e400',
  '9007199254740993',
  'true',
  '[]',
  '{}',
]

const UTTERANCE: Utterance = {
  reasoning: ['Hm, ', 'so.'],
  signature: 'c2VhbA==',
  text: ['It ', 'is ', 'so.'],
  calls: [
    { id: 'call_1', name: 'clock', args: ['{"ci', 'ty":"Oslo"}'] },
    { id: 'call_2', name: 'clock', args: ['{"city":', '"Rome"', '}'] },
  ],
  citations: [{ url: 'https://example.com/a', title: 'A' }],
  usage: { input: 50, output: 30, cached: 3, written: 2, writtenLong: 1, reasoning: 4 },
}

const token = (): JsonObject => ({ token: 'It', logprob: -0.1, bytes: [73, 116] })
const openaiTokens = (): JsonObject[] => [{ ...token(), top_logprobs: [token()] }]
const geminiToken = (): JsonObject => ({ token: 'It', tokenId: 7, logProbability: -0.1 })

/** Adds the numbers that an `Utterance` does not speak of. */
const ENRICHED: Readonly<Record<string, (event: JsonObject) => void>> = {
  'openai-chat': (event) => {
    for (const choice of objects(event.choices)) {
      const { content } = isObject(choice.delta) ? choice.delta : isObject(choice.message) ? choice.message : {}
      if (typeof content === 'string' && content !== '') choice.logprobs = { content: openaiTokens(), refusal: null }
    }
    if (isObject(event.usage))
      event.usage.completion_tokens_details = { reasoning_tokens: 4, audio_tokens: 1, accepted_prediction_tokens: 2 }
  },
  'openai-responses': (event) => {
    if (String(event.type).startsWith('response.output_text.') && 'logprobs' in event) event.logprobs = openaiTokens()
    const parts = [event.part, ...objects(event.output).flatMap(({ content }) => objects(content))].filter(isObject)
    for (const part of parts) if (part.type === 'output_text') part.logprobs = openaiTokens()
  },
  anthropic: (event) => {
    const message = isObject(event.message) ? event.message : event
    if (isObject(message.usage))
      Object.assign(message.usage, {
        server_tool_use: { web_search_requests: 1, web_fetch_requests: 1 },
        iterations: [{ type: 'message', input_tokens: 45, output_tokens: 30, cache_read_input_tokens: 3, cache_creation_input_tokens: 2 }],
      })
    const place = {
      type: 'char_location',
      document_index: 0,
      document_title: 'A',
      start_char_index: 0,
      end_char_index: 2,
      cited_text: 'It',
    }
    if (isObject(event.delta) && isObject(event.delta.citation)) event.delta.citation = place
    for (const block of objects(event.content)) if (Array.isArray(block.citations)) block.citations = [place]
  },
  gemini: (event) => {
    for (const candidate of objects(event.candidates)) {
      candidate.avgLogprobs = -0.1
      candidate.tokenCount = 9
      candidate.logprobsResult = { topCandidates: [{ candidates: [geminiToken()] }], chosenCandidates: [geminiToken()] }
    }
  },
  'bedrock-converse': (event) => {
    const place = { title: 'A', sourceContent: [{ text: 'cited' }], location: { documentChar: { documentIndex: 0, start: 0, end: 2 } } }
    if (isObject(event.delta) && isObject(event.delta.citation)) event.delta.citation = place
  },
}

function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

interface Frame {
  /** Text before the JSON and after it; of a binary frame `head` is its type. */
  readonly head: string
  /** null where the frame has none. */
  readonly data: JsonObject | null
  readonly tail: string
}

function sseFrame(text: string): Frame {
  const at = text.indexOf('data: ') + 6
  const end = text.indexOf('\n', at)
  if (text[at] !== '{') return { head: text, data: null, tail: '' }
  return { head: text.slice(0, at), data: JSON.parse(text.slice(at, end)) as JsonObject, tail: text.slice(end) }
}

/** `event()` of `event-stream.ts`, read back: a type is behind the kind and the length of its header. */
function binaryFrame(text: string): Frame {
  const [, head = ''] = /:event-type.{3}(\w+)/s.exec(text) ?? []
  return { head, data: JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)) as JsonObject, tail: '' }
}

export type Path = readonly (string | number)[]

/** A number of a reply: the frame that has it, and its place there. */
export interface NumberPlace {
  readonly frame: number
  readonly path: Path
}

/** Places of all numbers of a value. */
export function* numberPaths(value: Json | undefined, path: Path = []): Generator<Path> {
  if (typeof value === 'number') yield path
  else if (typeof value === 'object' && value !== null)
    for (const [key, each] of Object.entries(value)) yield* numberPaths(each as Json, [...path, Array.isArray(value) ? Number(key) : key])
}

const MARK = '@odd@'

/** JSON of a value with another text at the place of one of its numbers. */
export function withOdd(value: JsonObject, path: Path, odd: string | undefined): string {
  const copy = structuredClone(value)
  const key = path.at(-1) ?? ''
  const holder = path.slice(0, -1).reduce<Json>((each, step) => (each as JsonObject)[step] ?? null, copy) as JsonObject & Json[]
  if (odd !== undefined) holder[key as never] = MARK as never
  else if (Array.isArray(holder)) holder.splice(Number(key), 1)
  else delete holder[key]
  return JSON.stringify(copy).replace(`"${MARK}"`, odd ?? '')
}

/** A reply of one wire as a list of frames; a whole reply has one. */
export class NumberedReply {
  readonly wire: AnyWireName
  readonly stream: boolean
  private readonly frames: readonly Frame[]

  constructor(wire: AnyWireName, stream: boolean) {
    const { frames, reply } = ALL_WIRES[wire]
    const isBinary = 'binary' in ALL_WIRES[wire]
    this.wire = wire
    this.stream = stream
    this.frames = stream ? frames(UTTERANCE).map(isBinary ? binaryFrame : sseFrame) : [{ head: '', data: reply(UTTERANCE), tail: '' }]
    for (const { data } of this.frames) {
      if (data) ENRICHED[wire]?.(data)
      if (isObject(data?.response)) ENRICHED[wire]?.(data.response)
    }
  }

  get places(): NumberPlace[] {
    return this.frames.flatMap(({ data }, frame) => [...numberPaths(data)].map((path) => ({ frame, path })))
  }

  /** Answer of the provider, with something odd in the place of one number. */
  answer(place: NumberPlace, odd: string | undefined): Answer {
    const jsons = this.frames.map(({ data }, at) => (data && at === place.frame ? withOdd(data, place.path, odd) : JSON.stringify(data)))
    if (!this.stream) return { headers: JSON_TYPE, body: jsons }
    if ('binary' in ALL_WIRES[this.wire]) {
      const body = jsons.map((json, at) => {
        const headers = { ':event-type': this.frames[at].head, ':content-type': 'application/json', ':message-type': 'event' }
        return message(headers, Buffer.from(json)).toString('latin1')
      })
      return streamAnswer(ALL_WIRES[this.wire], body)
    }
    return streamAnswer(
      ALL_WIRES[this.wire],
      jsons.map((json, at) => this.frames[at].head + (this.frames[at].data ? json + this.frames[at].tail : '')),
    )
  }

  /** The place in words. */
  name({ frame, path }: NumberPlace): string {
    return `${this.wire} ${this.stream ? `frame ${frame}` : 'whole'} ${this.kind({ frame, path })} ${path.join('.')}`
  }

  /** One name for places that are alike: the type of the frame, and the members on the way there. */
  kind({ frame, path }: NumberPlace): string {
    return `${this.frames[frame].head.replace(/\s+data: $/, '')} ${path.filter((step) => typeof step === 'string').join('.')}`
  }
}

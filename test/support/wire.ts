/** Scripted reply of a model, free of any dialect, and the four ways in which providers put it on the wire. */
import type { JsonObject } from '../../src/core/json.ts'
import { EVENT_STREAM_TYPE } from './event-stream.ts'
import { type Answer, jsonAnswer, type Script, type Seen, sseAnswer } from './upstream.ts'
import { anthropicError, anthropicErrorFrame, anthropicFrames, anthropicReply } from './wire-anthropic.ts'
import { bedrockBroken, bedrockError, bedrockFrames, bedrockReply } from './wire-bedrock.ts'
import { bedrockClaudeFrames } from './wire-bedrock-claude.ts'
import { chatFrames, chatReply } from './wire-chat.ts'
import { geminiError, geminiFrames, geminiReply } from './wire-gemini.ts'
import { responsesFrames, responsesReply } from './wire-responses.ts'

export interface UtteranceCall {
  id: string
  name: string
  /** Argument text in the pieces in which it streams. */
  args: readonly string[]
  /** Of a tool within a namespace, which the Responses API alone has. */
  namespace?: string | undefined
  /** True for a tool that takes free text, at the Responses API: `args` is the text itself. */
  custom?: boolean | undefined
}

export interface UtteranceUsage {
  input: number
  output: number
  cached?: number
  /** Tokens written to the provider's cache, and how many of them for an hour. */
  written?: number
  writtenLong?: number
  reasoning?: number
}

/** A source of the whole text. */
export interface UtteranceCitation {
  url: string
  title: string
}

/** Pieces are deltas of the stream; a whole reply joins them. */
export interface Utterance {
  reasoning?: readonly string[] | undefined
  /** Of the item of reasoning, where a wire has one. */
  reasoningId?: string | undefined
  /** Encrypts or signs the reasoning, in the form of each wire. */
  signature?: string | undefined
  text?: readonly string[] | undefined
  refusal?: readonly string[] | undefined
  calls?: readonly UtteranceCall[] | undefined
  citations?: readonly UtteranceCitation[] | undefined
  /** Queries of searches of the web that the provider itself ran; the chat wire does not tell them. */
  searches?: readonly string[] | undefined
  end?: 'stop' | 'length' | 'tool_calls' | 'content_filter' | undefined
  /** The stop sequence that was met. */
  sequence?: string | undefined
  usage?: UtteranceUsage | undefined
  /** The provider's own name of the model. */
  model?: string | undefined
}

export const USAGE: UtteranceUsage = { input: 11, output: 7, cached: 3, reasoning: 2 }

export function utteranceUsage(utterance: Utterance): Required<UtteranceUsage> {
  const { input, output, cached = 0, written = 0, writtenLong = 0, reasoning = 0 } = utterance.usage ?? USAGE
  return { input, output, cached, written, writtenLong, reasoning }
}

export function utteranceEnd(utterance: Utterance): NonNullable<Utterance['end']> {
  return utterance.end ?? (utterance.calls?.length ? 'tool_calls' : 'stop')
}

/** Reply of a provider of one wire. */
export interface Wire {
  frames(utterance: Utterance): string[]
  reply(utterance: Utterance): JsonObject
  /** The body of an error status. */
  error(status: number, message: string): JsonObject
  /** An event that tells of an error within a stream. */
  brokenFrame(message: string): string
  /** True where the request asks for a stream. */
  streams(request: Seen): boolean
  /** Media type of streams whose frames are binary, one character for each byte; absent for server-sent events. */
  binary?: string
}

const openaiError = (_status: number, message: string): JsonObject => ({
  error: { message, type: 'some_error', code: 'some_code', param: null },
})
const byBody = (request: Seen): boolean => request.json.stream === true

const data = (event: JsonObject): string => `data: ${JSON.stringify(event)}\n\n`

export const WIRES = {
  'openai-chat': {
    frames: chatFrames,
    reply: chatReply,
    error: openaiError,
    brokenFrame: (message) => data(openaiError(500, message)),
    streams: byBody,
  },
  'openai-responses': {
    frames: responsesFrames,
    reply: responsesReply,
    error: openaiError,
    brokenFrame: (message) => `event: error\n${data({ type: 'error', sequence_number: 99, code: 'server_error', message, param: null })}`,
    streams: byBody,
  },
  anthropic: {
    frames: anthropicFrames,
    reply: anthropicReply,
    error: (_status, message) => anthropicError('some_error', message),
    brokenFrame: (message) => anthropicErrorFrame('api_error', message),
    streams: byBody,
  },
  gemini: {
    frames: geminiFrames,
    reply: geminiReply,
    error: (status, message) => geminiError(status, 'SOME_ERROR', message),
    brokenFrame: (message) => data(geminiError(500, 'INTERNAL', message)),
    streams: (request) => request.path.includes(':streamGenerateContent'),
  },
} as const satisfies Record<string, Wire>

export type WireName = keyof typeof WIRES

/** Wires of stand-ins and recordings: those of the matrices, and the ones that are tested by themselves. */
export const ALL_WIRES = {
  ...WIRES,
  'bedrock-converse': {
    frames: bedrockFrames,
    reply: bedrockReply,
    error: (_status, message) => bedrockError(message),
    brokenFrame: bedrockBroken,
    streams: (request) => request.path.endsWith('/converse-stream'),
    binary: EVENT_STREAM_TYPE,
  },
  'bedrock-anthropic': {
    frames: bedrockClaudeFrames,
    reply: anthropicReply,
    error: (_status, message) => bedrockError(message),
    brokenFrame: bedrockBroken,
    streams: (request) => request.path.endsWith('/invoke-with-response-stream'),
    binary: EVENT_STREAM_TYPE,
  },
} as const satisfies Record<string, Wire>

export type AnyWireName = keyof typeof ALL_WIRES

/** The wire that the path of a request to a provider names. */
export function pathWire(path: string): WireName {
  const plain = path.replace(/\?.*$/s, '')
  if (plain.endsWith('/responses')) return 'openai-responses'
  if (plain.endsWith('/v1/messages')) return 'anthropic'
  return /:(?:streamG|g)enerateContent$/.test(plain) ? 'gemini' : 'openai-chat'
}

/** As `pathWire`, of all wires. */
export function pathAnyWire(path: string): Wire {
  if (/\/converse(-stream)?$/.test(path)) return ALL_WIRES['bedrock-converse']
  return ALL_WIRES[/\/invoke(-with-response-stream)?$/.test(path) ? 'bedrock-anthropic' : pathWire(path)]
}

/** The frames of a stream in the dialect that the request's path names. */
export function framesFor(path: string, utterance: Utterance): string[] {
  return pathAnyWire(path).frames(utterance)
}

export function replyFor(path: string, utterance: Utterance): JsonObject {
  return pathAnyWire(path).reply(utterance)
}

/** A whole /responses object with more output items in front. */
export function responsesReplyWith(utterance: Utterance, items: readonly JsonObject[]): JsonObject {
  const reply = responsesReply(utterance)
  return { ...reply, output: [...items, ...(reply.output as JsonObject[])] }
}

/** Answers a request as a sound provider would, streaming if asked. */
export function answerFor(request: Seen, utterance: Utterance): Answer {
  const wire = pathAnyWire(request.path)
  return wire.streams(request) ? streamAnswer(wire, wire.frames(utterance)) : jsonAnswer(wire.reply(utterance))
}

/** Frames of a wire as a stream of its kind. */
export function streamAnswer({ binary }: Wire, frames: readonly string[]): Answer {
  if (binary === undefined) return sseAnswer(frames)
  return { headers: { 'content-type': binary }, body: frames.map((frame) => Buffer.from(frame, 'latin1')) }
}

/** A sound provider that always says the same. */
export function says(utterance: Utterance): Script {
  return (request) => answerFor(request, utterance)
}

/** Output caps of the wires, by the names that their requests give them. */
const CAPS = ['max_completion_tokens', 'max_tokens', 'max_output_tokens'] as const

/** A provider that ignores the output cap: it reports so many times the tokens that the request allows. */
export function overReporting({ input, times }: { input: number; times: number }): Script {
  return (request) => {
    const body = JSON.parse(request.body) as JsonObject
    const cap = CAPS.map((name) => Number(body[name])).find((tokens) => tokens > 0) ?? 4096
    return answerFor(request, { text: ['ok'], usage: { input, output: times * cap } })
  }
}

/** An error as providers report it. */
export function upstreamError(status: number, message = 'the provider says no', headers: Record<string, string> = {}): Answer {
  return jsonAnswer({ error: { message, type: 'some_error', code: 'some_code', param: null } }, status, headers)
}

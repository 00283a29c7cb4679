/** What a model says, free of any dialect, and the two ways in which providers put it on the wire. */
import type { JsonObject } from '../../src/core/json.ts'
import { type Answer, jsonAnswer, type Script, type Seen, sseAnswer } from './upstream.ts'
import { chatFrames, chatReply } from './wire-chat.ts'
import { responsesFrames, responsesReply } from './wire-responses.ts'

export interface SaidCall {
  id: string
  name: string
  /** Argument text in the pieces in which it streams. */
  args: readonly string[]
}

export interface SaidUsage {
  input: number
  output: number
  cached?: number
  reasoning?: number
}

/** Pieces are deltas of the stream; a whole reply joins them. */
export interface Said {
  reasoning?: readonly string[]
  text?: readonly string[]
  refusal?: readonly string[]
  calls?: readonly SaidCall[]
  end?: 'stop' | 'length' | 'tool_calls' | 'content_filter'
  usage?: SaidUsage
  /** The provider's own name of the model. */
  model?: string
}

export const USAGE: SaidUsage = { input: 11, output: 7, cached: 3, reasoning: 2 }

export function usageOf(said: Said): Required<SaidUsage> {
  const { input, output, cached = 0, reasoning = 0 } = said.usage ?? USAGE
  return { input, output, cached, reasoning }
}

export function endOf(said: Said): NonNullable<Said['end']> {
  return said.end ?? (said.calls?.length ? 'tool_calls' : 'stop')
}

/** The frames of a stream in the dialect that the request's path names. */
export function framesFor(path: string, said: Said): string[] {
  return path.endsWith('/responses') ? responsesFrames(said) : chatFrames(said)
}

export function replyFor(path: string, said: Said): JsonObject {
  return path.endsWith('/responses') ? responsesReply(said) : chatReply(said)
}

/** A whole /responses object with more output items in front. */
export function responsesReplyWith(said: Said, items: readonly JsonObject[]): JsonObject {
  const reply = responsesReply(said)
  return { ...reply, output: [...items, ...(reply.output as JsonObject[])] }
}

/** Answers a request as a sound provider would, streaming if asked. */
export function answerFor(request: Seen, said: Said): Answer {
  if (request.json.stream === true) return sseAnswer(framesFor(request.path, said))
  return jsonAnswer(replyFor(request.path, said))
}

/** A sound provider that always says the same. */
export function says(said: Said): Script {
  return (request) => answerFor(request, said)
}

/** An error as providers report it. */
export function upstreamError(status: number, message = 'the provider says no', headers: Record<string, string> = {}): Answer {
  return jsonAnswer({ error: { message, type: 'some_error', code: 'some_code', param: null } }, status, headers)
}

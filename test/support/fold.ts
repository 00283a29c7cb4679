/** Folds what a client receives, stream or not, in any dialect, to one value that lanes can be compared by. */
import { isObject, type Json, type JsonObject } from '../../src/core/json.ts'

export interface FoldedCall {
  name: string
  callId: string
  args: string
}

export interface FoldedReply {
  model: string
  text: string
  reasoning: string
  /** Signatures of reasoning, and reasoning that only its provider can read. */
  encrypted: string[]
  refusal: string
  calls: FoldedCall[]
  annotations: Json[]
  end: string
  /** The stop sequence that was met, where the dialect tells it. */
  sequence?: string
  /** `written` only where there was any. */
  usage: { input: number; output: number; cached: number; written?: number; reasoning: number; cost: number } | undefined
  error: { code: Json | undefined; type: Json | undefined } | undefined
}

export function emptyReply(): FoldedReply {
  return {
    model: '',
    text: '',
    reasoning: '',
    encrypted: [],
    refusal: '',
    calls: [],
    annotations: [],
    end: '',
    usage: undefined,
    error: undefined,
  }
}

export const object = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})
export const list = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : [])
const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
const number = (value: Json | undefined): number => (typeof value === 'number' ? value : Number.NaN)

const texts = (...values: (Json | undefined)[]): string[] => values.filter((value) => typeof value === 'string' && value !== '') as string[]
const written = (value: Json | undefined): { written?: number } => (typeof value === 'number' && value > 0 ? { written: value } : {})

export interface SseFrame {
  event: string | undefined
  data: string
}

/** The data frames of a whole stream, in order. Comments are left out. @throws where a line is none of SSE. */
export function parseFrames(stream: string): SseFrame[] {
  const frames: SseFrame[] = []
  for (const block of stream.split('\n\n')) {
    let event: string | undefined
    const data: string[] = []
    for (const line of block.split('\n')) {
      if (line === '' || line.startsWith(':')) continue
      if (line.startsWith('data: ')) data.push(line.slice(6))
      else if (line.startsWith('event: ')) event = line.slice(7)
      else throw new Error(`not a line of an event stream: ${JSON.stringify(line)}`)
    }
    if (data.length > 0) frames.push({ event, data: data.join('\n') })
  }
  return frames
}

/** An event. @throws where it has a type, and its event line another one or none (Open Responses specification, Anthropic's streams). */
function parseEvent({ event, data }: SseFrame): JsonObject {
  const parsed = JSON.parse(data) as JsonObject
  if (parsed.type !== undefined && parsed.type !== event) throw new Error(`${event} is the event line of ${parsed.type}`)
  return parsed
}

/** The JSON events of a stream; the end mark is left out, and must be the last frame, but of a chat stream that has failed. */
export function parseStream(stream: string): JsonObject[] {
  const frames = parseFrames(stream)
  const mark = frames.findIndex((frame) => frame.data === '[DONE]')
  if (mark === -1 && frames.at(-1)?.event === undefined && frames.at(-1)?.data.startsWith('{"error":')) return frames.map(parseEvent)
  if (mark !== frames.length - 1 || mark === -1) throw new Error('the stream does not end with [DONE]')
  return frames.slice(0, mark).map(parseEvent)
}

/** A whole /responses object. */
export function foldResponse(response: JsonObject): FoldedReply {
  const reply = emptyReply()
  reply.model = text(response.model)
  for (const item of list(response.output)) {
    if (item.type === 'message')
      for (const part of list(item.content)) {
        reply.text += text(part.text)
        reply.refusal += text(part.refusal)
        reply.annotations.push(...list(part.annotations))
      }
    else if (item.type === 'reasoning') {
      reply.reasoning += [...list(item.content), ...list(item.summary)].map((part) => text(part.text)).join('')
      reply.encrypted.push(...texts(item.signature, item.encrypted_content))
    } else if (item.type === 'function_call')
      reply.calls.push({ name: text(item.name), callId: text(item.call_id), args: text(item.arguments) })
  }
  const reason = object(response.incomplete_details).reason
  reply.end = reason === undefined ? text(response.status) : `${text(response.status)}: ${text(reason)}`
  if (isObject(response.usage)) {
    const { usage } = response
    reply.usage = {
      input: number(usage.input_tokens),
      output: number(usage.output_tokens),
      cached: number(object(usage.input_tokens_details).cached_tokens),
      ...written(object(usage.input_tokens_details).cache_write_tokens),
      reasoning: number(object(usage.output_tokens_details).reasoning_tokens),
      cost: number(usage.cost),
    }
  }
  if (isObject(response.error)) reply.error = { code: response.error.code, type: response.error_type }
  return reply
}

/** The terminal event of a /responses stream holds the whole reply; deltas must add up to the same. */
export function foldResponseStream(stream: string): FoldedReply {
  return foldResponseEvents(parseStream(stream))
}

export function foldResponseEvents(events: readonly JsonObject[]): FoldedReply {
  const last = events.at(-1)
  if (!last || !/^response\.(completed|incomplete|failed)$/.test(text(last.type))) throw new Error(`no terminal event: ${last?.type}`)
  const reply = foldResponse(object(last.response))
  const joined = (type: string): string =>
    events
      .filter((event) => event.type === type)
      .map((event) => text(event.delta))
      .join('')
  const deltas = joined('response.output_text.delta')
  if (deltas !== reply.text) throw new Error(`deltas ${JSON.stringify(deltas)} are not the final text ${JSON.stringify(reply.text)}`)
  const args = joined('response.function_call_arguments.delta')
  if (args !== reply.calls.map((call) => call.args).join('')) throw new Error('argument deltas are not the final arguments')
  return reply
}

function chatUsage(usage: JsonObject): FoldedReply['usage'] {
  return {
    input: number(usage.prompt_tokens),
    output: number(usage.completion_tokens),
    cached: number(object(usage.prompt_tokens_details).cached_tokens),
    ...written(object(usage.prompt_tokens_details).cache_write_tokens),
    reasoning: number(object(usage.completion_tokens_details).reasoning_tokens),
    cost: number(usage.cost),
  }
}

/** A whole chat completion. */
export function foldChat(completion: JsonObject): FoldedReply {
  const reply = emptyReply()
  reply.model = text(completion.model)
  const [choice = {}] = list(completion.choices)
  const message = object(choice.message)
  reply.text = text(message.content)
  reply.refusal = text(message.refusal)
  reply.reasoning = text(message.reasoning)
  for (const detail of list(message.reasoning_details)) reply.encrypted.push(...texts(detail.signature, detail.data))
  reply.annotations = list(message.annotations)
  for (const call of list(message.tool_calls))
    reply.calls.push({ name: text(object(call.function).name), callId: text(call.id), args: text(object(call.function).arguments) })
  reply.end = text(choice.finish_reason)
  if (isObject(completion.usage)) reply.usage = chatUsage(completion.usage)
  const error = object(choice.error ?? completion.error)
  if (error.code !== undefined) reply.error = { code: error.code, type: object(error.metadata).error_type }
  return reply
}

export function foldChatStream(stream: string): FoldedReply {
  return foldChatChunks(parseStream(stream))
}

export function foldChatChunks(chunks: readonly JsonObject[]): FoldedReply {
  const reply = emptyReply()
  for (const chunk of chunks) {
    reply.model = text(chunk.model) || reply.model
    if (isObject(chunk.usage)) reply.usage = chatUsage(chunk.usage)
    if (isObject(chunk.error)) reply.error = { code: chunk.error.code, type: object(chunk.error.metadata).error_type }
    for (const choice of list(chunk.choices)) {
      const delta = object(choice.delta)
      reply.text += text(delta.content)
      reply.reasoning += text(delta.reasoning)
      reply.refusal += text(delta.refusal)
      for (const detail of list(delta.reasoning_details)) reply.encrypted.push(...texts(detail.signature, detail.data))
      reply.annotations.push(...list(delta.annotations))
      for (const call of list(delta.tool_calls)) {
        const index = number(call.index)
        reply.calls[index] ??= { name: '', callId: '', args: '' }
        reply.calls[index].name += text(object(call.function).name)
        reply.calls[index].callId += text(call.id)
        reply.calls[index].args += text(object(call.function).arguments)
      }
      reply.end = text(choice.finish_reason) || reply.end
    }
  }
  return reply
}

/** Folds what a caller of /v1/messages receives. */
import { isObject, type JsonObject } from '../../src/core/json.ts'
import { emptyReply, type FoldedReply, list, object, parseFrames } from './fold.ts'

const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const count = (value: unknown): number => (typeof value === 'number' ? value : 0)

function foldUsage(usage: JsonObject): FoldedReply['usage'] {
  const [cached, written] = [count(usage.cache_read_input_tokens), count(usage.cache_creation_input_tokens)]
  return {
    input: Number(usage.input_tokens) + cached + written,
    output: Number(usage.output_tokens),
    cached,
    ...(written > 0 ? { written } : {}),
    reasoning: count(object(usage.output_tokens_details).thinking_tokens),
    cost: Number(usage.cost),
  }
}

function foldBlock(reply: FoldedReply, block: JsonObject): void {
  if (block.type === 'text') {
    reply.text += text(block.text)
    reply.annotations.push(...list(block.citations))
  } else if (block.type === 'thinking') {
    reply.reasoning += text(block.thinking)
    if (text(block.signature) !== '') reply.encrypted.push(text(block.signature))
  } else if (block.type === 'redacted_thinking') reply.encrypted.push(text(block.data))
  else if (block.type === 'tool_use')
    reply.calls.push({ name: text(block.name), callId: text(block.id), args: JSON.stringify(block.input ?? null) })
}

/** A whole message, or an error body. */
export function foldMessage(message: JsonObject): FoldedReply {
  const reply = emptyReply()
  reply.model = text(message.model)
  for (const block of list(message.content)) foldBlock(reply, block)
  reply.refusal = text(object(message.stop_details).explanation)
  reply.end = text(message.stop_reason)
  if (typeof message.stop_sequence === 'string') reply.sequence = message.stop_sequence
  if (isObject(message.usage)) reply.usage = foldUsage(message.usage)
  if (isObject(message.error)) reply.error = { code: message.error.type, type: message.error.error_type }
  return reply
}

/** The events of a stream; each is named as its type. There is no end mark but the last event. */
export function messageEvents(stream: string): JsonObject[] {
  return parseFrames(stream).map(({ event, data }) => {
    const parsed = JSON.parse(data) as JsonObject
    if (event !== parsed.type) throw new Error(`the event ${event} holds ${data}`)
    return parsed
  })
}

/** Adds one delta to its block, as an official client does. */
function addDelta(block: JsonObject, delta: JsonObject): void {
  if (delta.type === 'text_delta') block.text = text(block.text) + text(delta.text)
  else if (delta.type === 'thinking_delta') block.thinking = text(block.thinking) + text(delta.thinking)
  else if (delta.type === 'signature_delta') block.signature = text(block.signature) + text(delta.signature)
  else if (delta.type === 'input_json_delta') block.json = text(block.json) + text(delta.partial_json)
  else if (delta.type === 'citations_delta') block.citations = [...list(block.citations), object(delta.citation)]
  else throw new Error(`a delta of unknown type: ${JSON.stringify(delta)}`)
}

/**
 * The message that the events of a stream add up to.
 * @throws Error where they come in an order that the wire forbids.
 */
export function foldToMessage(events: readonly JsonObject[]): JsonObject {
  let message: JsonObject | undefined
  const content: JsonObject[] = []
  let open: JsonObject | undefined
  for (const [at, event] of events.entries()) {
    if (event.type === 'ping') continue
    if (event.type === 'message_start') {
      if (at !== 0) throw new Error('message_start is not the first event')
      message = { ...object(event.message), content }
      continue
    }
    if (event.type === 'error') return { ...message, content, error: event.error }
    if (!message) throw new Error(`${event.type} before message_start`)
    if (event.type === 'content_block_start') {
      if (open || event.index !== content.length)
        throw new Error(`block ${event.index} starts after ${content.length}, one is ${open ? 'open' : 'due'}`)
      open = { ...object(event.content_block) }
      content.push(open)
    } else if (event.type === 'content_block_delta' || event.type === 'content_block_stop') {
      if (!open || event.index !== content.length - 1) throw new Error(`${event.type} of a block that is not open`)
      if (event.type === 'content_block_delta') addDelta(open, object(event.delta))
      else {
        if (typeof open.json === 'string') {
          open.input = JSON.parse(open.json === '' ? '{}' : open.json)
          delete open.json
        }
        open = undefined
      }
    } else if (event.type === 'message_delta') {
      Object.assign(message, object(event.delta), { usage: { ...object(message.usage), ...object(event.usage) } })
    } else if (event.type === 'message_stop') {
      if (open || at !== events.length - 1) throw new Error('message_stop is not the last event')
      return message
    } else throw new Error(`an event of unknown type: ${JSON.stringify(event)}`)
  }
  throw new Error('the stream ends without message_stop')
}

export function foldMessageStream(stream: string): FoldedReply {
  return foldMessage(foldToMessage(messageEvents(stream)))
}

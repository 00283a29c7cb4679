/** What a recorded reply of Anthropic's `/v1/messages` holds. */
import type { JsonObject } from '../../src/core/json.ts'
import { argsOf, type Expected, type ExpectedEnd, type ExpectedUsage, eventsIn, list, nothing, number, object, text } from './expected.ts'

const ENDS: Readonly<Record<string, ExpectedEnd>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  // docs/dialects.md does not name it: the turn is to be continued, so it is not complete.
  pause_turn: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

function addBlock(said: Expected, block: JsonObject): void {
  if (block.type === 'text') {
    said.text += text(block.text)
    for (const each of list(block.citations))
      said.citations.push({ url: text(each.url) || text(each.source), title: text(each.title) || text(each.document_title) })
  } else if (block.type === 'thinking') {
    said.reasoning += text(block.thinking)
    if (text(block.signature) !== '') said.secrets.push([text(block.signature)])
  } else if (block.type === 'redacted_thinking') said.secrets.push([text(block.data)])
  else if (block.type === 'tool_use') said.calls.push({ id: text(block.id), name: text(block.name), args: argsOf(block.input) })
}

/**
 * The top-level counts hold every round of the model itself. Rounds of an advisor and of a compaction stand in `iterations` alone: they
 * are billed, and are no part of what callers are shown (platform docs: advisor tool, "usage and billing"; compaction, "usage").
 */
function usageOf(usage: JsonObject): ExpectedUsage {
  const [cached, written] = [number(usage.cache_read_input_tokens), number(usage.cache_creation_input_tokens)]
  return {
    input: number(usage.input_tokens) + cached + written,
    output: number(usage.output_tokens),
    cached,
    written,
    reasoning: number(object(usage.output_tokens_details).thinking_tokens),
  }
}

/** A whole message. */
export function readMessage(message: JsonObject): Expected {
  const said = nothing()
  for (const block of list(message.content)) addBlock(said, block)
  said.word = text(message.stop_reason)
  said.end = ENDS[said.word] ?? 'stop'
  said.refusal = text(object(message.stop_details).explanation)
  said.usage = usageOf(object(message.usage))
  return said
}

function addDelta(block: JsonObject, delta: JsonObject): void {
  if (delta.type === 'text_delta') block.text = text(block.text) + text(delta.text)
  else if (delta.type === 'thinking_delta') block.thinking = text(block.thinking) + text(delta.thinking)
  else if (delta.type === 'signature_delta') block.signature = text(delta.signature)
  else if (delta.type === 'input_json_delta') block.input = (typeof block.input === 'string' ? block.input : '') + text(delta.partial_json)
  else if (delta.type === 'citations_delta') block.citations = [...list(block.citations), object(delta.citation)]
}

/** The message that the events add up to; counts of `message_delta` are cumulative. */
export function messageIn(stream: string): JsonObject {
  let message: JsonObject = {}
  const content: JsonObject[] = []
  for (const event of eventsIn(stream))
    if (event.type === 'message_start') {
      message = object(event.message)
      content.push(...list(message.content))
    } else if (event.type === 'content_block_start') content[number(event.index)] = { ...object(event.content_block) }
    else if (event.type === 'content_block_delta') addDelta(content[number(event.index)] ?? {}, object(event.delta))
    else if (event.type === 'message_delta')
      message = { ...message, ...object(event.delta), usage: { ...object(message.usage), ...object(event.usage) } }
  for (const block of content) if (typeof block.input === 'string') block.input = argsOf(block.input)
  return { ...message, content }
}

export const readMessageStream = (stream: string): Expected => readMessage(messageIn(stream))

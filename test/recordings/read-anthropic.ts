/** Content of a recorded reply of Anthropic's `/v1/messages`. */
import type { JsonObject } from '../../src/core/json.ts'
import {
  type Expected,
  type ExpectedEnd,
  type ExpectedUsage,
  eventsIn,
  list,
  nothing,
  number,
  object,
  parseArgs,
  text,
} from './expected.ts'

const ENDS: Readonly<Record<string, ExpectedEnd>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  // docs/dialects.md does not name it: the turn is to be continued, so it is not complete.
  pause_turn: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

function addBlock(utterance: Expected, block: JsonObject): void {
  if (block.type === 'text') {
    utterance.text += text(block.text)
    for (const each of list(block.citations))
      utterance.citations.push({ url: text(each.url) || text(each.source), title: text(each.title) || text(each.document_title) })
  } else if (block.type === 'thinking') {
    utterance.reasoning += text(block.thinking)
    if (text(block.signature) !== '') utterance.secrets.push([text(block.signature)])
  } else if (block.type === 'redacted_thinking') utterance.secrets.push([text(block.data)])
  else if (block.type === 'tool_use') utterance.calls.push({ id: text(block.id), name: text(block.name), args: parseArgs(block.input) })
}

/**
 * The top-level counts hold every round of the model itself. Rounds of an advisor and of a compaction stand in `iterations` alone: they
 * are billed, and are no part of what callers are shown (platform docs: advisor tool, "usage and billing"; compaction, "usage").
 */
function readUsage(usage: JsonObject): ExpectedUsage {
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
  const utterance = nothing()
  for (const block of list(message.content)) addBlock(utterance, block)
  utterance.word = text(message.stop_reason)
  utterance.end = ENDS[utterance.word] ?? 'stop'
  utterance.refusal = text(object(message.stop_details).explanation)
  utterance.usage = readUsage(object(message.usage))
  return utterance
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
  for (const block of content) if (typeof block.input === 'string') block.input = parseArgs(block.input)
  return { ...message, content }
}

export const readMessageStream = (stream: string): Expected => readMessage(messageIn(stream))

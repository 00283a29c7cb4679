/** A whole reply from the events of a stream, as the clients of each format put it together to send it back in the next turn. */
import type { Json, JsonObject } from '../../src/core/json.ts'
import { list, object, parseStream } from '../support/fold.ts'
import { messageEvents } from '../support/fold-messages.ts'
import type { Client } from '../support/matrix/clients.ts'

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

/**
 * Strings of a delta are appended, members of lists are joined by their `index`; everything else is replaced. So the accumulator of
 * the SDK openai 7.55.0 (`lib/ChatCompletionStream`) does it, and the clients that send `reasoning_details` back.
 */
function append(whole: JsonObject, delta: JsonObject): void {
  for (const [name, value] of Object.entries(delta)) {
    if (value === null || value === undefined) continue
    const before = whole[name]
    if (['index', 'type', 'id', 'role', 'format'].includes(name)) whole[name] = value
    else if (typeof value === 'string' && typeof before === 'string') whole[name] = before + value
    else if (Array.isArray(value)) whole[name] = joined(Array.isArray(before) ? before : [], value)
    else if (typeof value === 'object') {
      const next = { ...object(before) }
      append(next, object(value))
      whole[name] = next
    } else whole[name] = value
  }
}

function joined(before: Json[], members: Json[]): Json[] {
  const all = [...before]
  for (const member of members) {
    const { index, type } = object(member)
    const fits = (each: JsonObject): boolean => each.index === index && (type === undefined || each.type === type)
    const at = index === undefined ? -1 : all.findIndex((each) => fits(object(each)))
    const known = at === -1 ? undefined : object(all[at])
    if (known) append(known, object(member))
    else all.push(structuredClone(member))
  }
  return all
}

function chatMessage(events: readonly JsonObject[]): JsonObject {
  const message: JsonObject = { role: 'assistant', content: null }
  for (const event of events) for (const choice of list(event.choices)) append(message, object(choice.delta))
  if (Array.isArray(message.tool_calls))
    message.tool_calls = list(message.tool_calls).map(({ index: _index, ...call }) => ({ ...call, type: 'function' }))
  return { choices: [{ index: 0, message }] }
}

function messagesReply(events: readonly JsonObject[]): JsonObject {
  const content: JsonObject[] = []
  for (const event of events) {
    const index = Number(event.index)
    if (event.type === 'content_block_start') content[index] = structuredClone(object(event.content_block))
    if (event.type === 'content_block_delta') addDelta(object(content[index]), object(event.delta))
  }
  for (const block of content) {
    if (block.json === undefined) continue
    block.input = JSON.parse(text(block.json) || '{}') as Json
    delete block.json
  }
  return { content }
}

function addDelta(block: JsonObject, delta: JsonObject): void {
  if (delta.type === 'text_delta') block.text = text(block.text) + text(delta.text)
  else if (delta.type === 'thinking_delta') block.thinking = text(block.thinking) + text(delta.thinking)
  else if (delta.type === 'signature_delta') block.signature = text(block.signature) + text(delta.signature)
  else if (delta.type === 'input_json_delta') block.json = text(block.json) + text(delta.partial_json)
}

/** @param stream the body of a streamed reply. @returns the reply in the form of one that is not streamed, as far as `replayed` reads it. */
export function collected(client: Client['id'], stream: string): JsonObject {
  if (client === 'messages') return messagesReply(messageEvents(stream))
  const events = parseStream(stream)
  if (client === 'chat') return chatMessage(events)
  return object(events.findLast(({ type }) => /^response\.(completed|incomplete)$/.test(text(type)))?.response)
}

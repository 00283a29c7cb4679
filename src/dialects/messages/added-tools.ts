/** Tools that a conversation adds in its middle, by their definition (types of @anthropic-ai/sdk 1.12.0, `BetaRequestToolAdditionBlock`). */
import { isObject, type JsonObject } from '../../core/json.ts'
import type { Opaque } from '../canon/request.ts'
import { WIRE } from './wire.ts'

/** Tools of the provider with a fee, or a model, of their own; what the others add is found by the table of outside input. */
const PRICED = /^(?:web_search|advisor)_/

/** Each with the path of what names it. */
export function* addedDefinitions({ messages }: JsonObject): Generator<{ path: string; definition: JsonObject }> {
  if (!Array.isArray(messages)) return
  for (const [at, message] of messages.entries()) {
    if (!isObject(message) || !Array.isArray(message.content)) continue
    for (const [index, block] of message.content.entries()) {
      if (!isObject(block) || block.type !== 'tool_addition' || !isObject(block.tool)) continue
      for (const [name, definition] of Object.entries(block.tool))
        if (isObject(definition)) yield { path: `messages[${at}].content[${index}].tool.${name}`, definition }
    }
  }
}

/** Those that a request is priced by. */
export function addedNativeTools(body: JsonObject): { path: string; of: Opaque }[] {
  const found: { path: string; of: Opaque }[] = []
  for (const { path, definition: data } of addedDefinitions(body)) {
    const type = String(data.type)
    if (PRICED.test(type)) found.push({ path: `${path}.type`, of: { dialect: WIRE, type, data } })
  }
  return found
}

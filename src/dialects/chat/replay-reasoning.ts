/** How reasoning of earlier turns goes back to a provider; they differ in the field that they take. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

const FIELDS = ['reasoning', 'reasoning_content', 'reasoning_details'] as const

function replayed(message: JsonObject, field: string): JsonObject {
  const { reasoning, reasoning_content, reasoning_details: _details, ...rest } = message
  const plain = reasoning ?? reasoning_content
  if (field !== 'none' && typeof plain === 'string' && plain !== '') rest[field] = plain
  return rest
}

/**
 * @param field the quirk `reasoning_replay`: `details` (as it came, the default), `none`, or the name of a plain text field.
 * @returns the same messages where nothing changes; the caller's own are never touched.
 */
export function replayReasoning(messages: Json | undefined, field: Json | undefined): Json | undefined {
  if (typeof field !== 'string' || field === 'details' || !Array.isArray(messages)) return messages
  return messages.map((message) => {
    const thinks = isObject(message) && message.role === 'assistant' && FIELDS.some((name) => message[name] !== undefined)
    return thinks ? replayed(message, field) : message
  })
}

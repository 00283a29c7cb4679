/** Rules of messages that depend on the role or on the type of a part. */
import { badField } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

/** For each known part type: the object that it holds, and the string fields of which one must be there. */
const PARTS: ReadonlyMap<string, { field: string; needs: readonly string[] }> = new Map([
  ['image_url', { field: 'image_url', needs: ['url'] }],
  ['video_url', { field: 'video_url', needs: ['url'] }],
  ['input_video', { field: 'video_url', needs: ['url'] }],
  ['input_audio', { field: 'input_audio', needs: ['data'] }],
  ['file', { field: 'file', needs: ['file_data', 'file_id'] }],
])

function checkPart(part: JsonObject, at: string): void {
  const type = part.type as string
  if (type === 'text') {
    if (typeof part.text !== 'string') throw badField(`${at}.text`, 'expected a string')
    return
  }
  const rule = PARTS.get(type)
  if (!rule) return
  const held = part[rule.field]
  if (!isObject(held)) throw badField(`${at}.${rule.field}`, 'expected an object')
  const found = rule.needs.some((name) => typeof held[name] === 'string' && held[name] !== '')
  if (!found) throw badField(`${at}.${rule.field}.${rule.needs[0]}`, 'expected a string that is not empty')
}

function checkCalls(calls: Json, at: string): void {
  if (!Array.isArray(calls)) return
  for (const [index, call] of (calls as JsonObject[]).entries()) {
    if (call.type !== undefined && call.type !== 'function' && !isObject(call.function)) continue
    const where = `${at}.tool_calls[${index}].function`
    if (!isObject(call.function)) throw badField(where, 'expected an object')
    if (typeof call.function.name !== 'string' || call.function.name === '') throw badField(`${where}.name`, 'expected a name')
    if (call.function.arguments !== undefined && typeof call.function.arguments !== 'string')
      throw badField(`${where}.arguments`, 'expected a string of JSON')
  }
}

/** @throws Fault 400 naming the field, such as `messages[2].content[0].image_url.url`. */
export function checkMessages(messages: JsonObject[]): void {
  for (let i = 0; i < messages.length; i++) {
    const message = messages[i]
    const { role, content } = message
    if (content === undefined || content === null) {
      if (role !== 'assistant') throw badField(`messages[${i}].content`, 'is required')
    } else if (typeof content !== 'string') {
      for (const [index, part] of (content as JsonObject[]).entries()) checkPart(part, `messages[${i}].content[${index}]`)
    }
    if (role === 'tool' && typeof message.tool_call_id !== 'string') throw badField(`messages[${i}].tool_call_id`, 'is required')
    if (message.tool_calls) checkCalls(message.tool_calls, `messages[${i}]`)
  }
}

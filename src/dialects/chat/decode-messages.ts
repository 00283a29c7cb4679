/** Chat messages as canonical items: reasoning, then the message, then its calls, in this order. */

import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { otherMembers, withNative } from '../canon/native.ts'
import type { Item, Part, Role } from '../canon/request.ts'
import { decodeContent } from './decode-parts.ts'
import { decodeReasoning } from './decode-reasoning.ts'
import { OPAQUE, REPLAYED, WIRE } from './wire.ts'

const CALL_KNOWN: ReadonlySet<string> = new Set(['id', 'type', 'function', 'index'])

const MESSAGE_KNOWN: ReadonlySet<string> = new Set([
  'role',
  'content',
  'name',
  'tool_calls',
  'tool_call_id',
  'function_call',
  'refusal',
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  ...REPLAYED.keys(),
])

/** Leaves members that the canon has no word for beside the item. */
function beside<T extends Item>(item: T, found: JsonObject | undefined, names: Set<string>, type: 'message' | 'tool_call'): T {
  if (found === undefined) return item
  for (const key in found) names.add(type === 'message' ? `messages.${key}` : `messages.tool_calls.${key}`)
  return withNative(item, { dialect: WIRE, type, data: found })
}

function decodeCall(call: JsonObject, names: Set<string>): Item {
  if (!isObject(call.function)) return { kind: 'opaque', of: { dialect: WIRE, type: OPAQUE.call, data: call } }
  const { name, arguments: args } = call.function
  const item: Item = { kind: 'call', callId: call.id as string, name: name as string, args: typeof args === 'string' ? args : '{}' }
  return beside(item, otherMembers(call, CALL_KNOWN), names, 'tool_call')
}

function decodeAssistant(message: JsonObject, names: Set<string>): Item[] {
  const items = decodeReasoning(message)
  const parts = decodeContent(message.content, names)
  if (typeof message.refusal === 'string' && message.refusal !== '') parts.push({ kind: 'refusal', text: message.refusal })
  for (const [field, type] of REPLAYED) {
    const value = message[field]
    if (value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0))
      parts.push({ kind: 'opaque', of: { dialect: WIRE, type, data: { [field]: value } } })
  }
  const calls = Array.isArray(message.tool_calls) ? (message.tool_calls as JsonObject[]).map((call) => decodeCall(call, names)) : []
  const others = otherMembers(message, MESSAGE_KNOWN)
  if (parts.length > 0 || others || (calls.length === 0 && items.length === 0))
    items.push(beside(named('assistant', parts, message.name), others, names, 'message'))
  items.push(...calls)
  return items
}

function named(role: Role, parts: Part[], name: Json | undefined): Item {
  return typeof name === 'string' ? { kind: 'message', role, parts, name } : { kind: 'message', role, parts }
}

/**
 * @param messages as the dialect's `check` has accepted them.
 * @param names receives the names of members that the canon has no word for.
 */
export function decodeMessages(messages: JsonObject[], names: Set<string>): Item[] {
  const items: Item[] = []
  for (const message of messages) {
    if (message.role === 'assistant') {
      items.push(...decodeAssistant(message, names))
      continue
    }
    const parts = decodeContent(message.content, names)
    const item: Item =
      message.role === 'tool'
        ? { kind: 'result', callId: message.tool_call_id as string, parts }
        : named(message.role as Role, parts, message.name)
    items.push(beside(item, otherMembers(message, MESSAGE_KNOWN), names, 'message'))
  }
  return items
}

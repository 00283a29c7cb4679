/** Messages as canonical items, block by block in the order in which they came. */

import { type Json, type JsonObject, objectsOf, present, stringOf } from '../../core/json.ts'
import type { Item, Part, Role } from '../canon/request.ts'
import { cacheMark, fullMark } from './cache-mark.ts'
import { decodePart, decodeParts } from './decode-parts.ts'
import { joinReasoning, redactedItem, thinkingItem } from './decode-reasoning.ts'
import { beside, withNative } from './wire.ts'

const MESSAGE: ReadonlySet<string> = new Set(['role', 'content'])
const CALL: ReadonlySet<string> = new Set(['type', 'id', 'name', 'input', 'cache_control', 'caller'])
const RESULT: ReadonlySet<string> = new Set(['type', 'tool_use_id', 'content', 'is_error', 'cache_control'])

function callItem(block: JsonObject): Item {
  const item: Item = {
    kind: 'call',
    callId: String(block.id),
    name: String(block.name),
    args: JSON.stringify(block.input ?? {}),
  }
  const cache = cacheMark(block)
  if (cache) item.cache = cache
  const { caller } = block as { caller?: JsonObject | null }
  // A call that the model made itself, as all do where nothing else is said.
  const special = caller && caller.type !== 'direct' ? { caller } : {}
  return withNative(item, 'tool_use', { ...beside(block, CALL), ...special, ...fullMark(block) })
}

function resultItem(block: JsonObject): Item {
  const item: Item = { kind: 'result', callId: String(block.tool_use_id), parts: decodeParts(block.content) }
  if (block.is_error === true) item.error = true
  const cache = cacheMark(block)
  if (cache) item.cache = cache
  return withNative(item, 'tool_result', { ...beside(block, RESULT), ...fullMark(block) })
}

/** Blocks that are items of their own; undefined for one that is a part of the message. */
function ownItem(block: JsonObject): Item | undefined {
  switch (block.type) {
    case 'thinking':
      return thinkingItem(block)
    case 'redacted_thinking':
      return redactedItem(stringOf(block.data) ?? '')
    case 'tool_use':
      return callItem(block)
    case 'tool_result':
      return resultItem(block)
  }
}

function decodeMessage(message: JsonObject, items: Item[]): void {
  const role = message.role as Role
  const { content } = message
  if (typeof content === 'string') {
    items.push({ kind: 'message', role, parts: decodeParts(content) })
    return
  }
  const first = items.length
  let parts: Part[] | undefined
  for (const block of objectsOf(content)) {
    const item = ownItem(block)
    if (item === undefined) {
      if (parts === undefined) {
        parts = []
        items.push({ kind: 'message', role, parts })
      }
      parts.push(decodePart(block))
      continue
    }
    parts = undefined
    const before = items.length > first ? items.at(-1) : undefined
    if (!joinReasoning(before, item)) items.push(item)
  }
  if (items.length === first) items.push({ kind: 'message', role, parts: [] })
}

/** Instructions that come within the conversation may say more than text: when they are cleared, and settings. */
function decodeSystem(message: JsonObject, items: Item[]): void {
  const item: Item = present({ kind: 'message', role: 'system', parts: decodeParts(message.content) })
  items.push(withNative(item, 'message', beside(message, MESSAGE)))
}

/** @param system the `system` field of the body: a string, text blocks or nothing. */
export function decodeMessages(system: Json | undefined, messages: readonly JsonObject[]): Item[] {
  const items: Item[] = []
  const instructions = decodeParts(system)
  if (instructions.length > 0) items.push({ kind: 'message', role: 'system', parts: instructions })
  for (const message of messages) {
    if (message.role === 'system') decodeSystem(message, items)
    else decodeMessage(message, items)
  }
  return items
}

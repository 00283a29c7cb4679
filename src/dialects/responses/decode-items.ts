/** Input items of the wire as canonical items. */

import { asObjects, asString, type Json, type JsonObject, present } from '../../core/json.ts'
import { otherMembers, withNative } from '../canon/native.ts'
import type { Item, Role } from '../canon/request.ts'
import { isWrappedReasoning, unwrapReasoning } from '../canon/wrapped-reasoning.ts'
import { itemType } from './check.ts'
import { decodeParts } from './decode-parts.ts'
import { LOST_REFERENCE, losesReference } from './references.ts'
import { WIRE } from './wire.ts'

/** Fields that are read of each item; anything else stays beside it. A status adds nothing to its place. */
const KNOWN = {
  message: new Set(['type', 'id', 'role', 'content', 'status', 'phase']),
  reasoning: new Set(['type', 'id', 'status', 'summary', 'content', 'encrypted_content', 'signature', 'format']),
  function_call: new Set(['type', 'id', 'status', 'call_id', 'name', 'arguments']),
  function_call_output: new Set(['type', 'id', 'status', 'call_id', 'output']),
} as const

function texts(parts: Json | undefined): string[] {
  return asObjects(parts).map((part) => asString(part.text) ?? '')
}

function decodeMessage(item: JsonObject, beside: Set<string>): Item {
  const message: Item = { kind: 'message', role: item.role as Role, parts: decodeParts(item.content, beside) }
  if (typeof item.id === 'string') message.id = item.id
  if (typeof item.phase === 'string') message.phase = item.phase
  return message
}

/** Reasoning that this gateway wrapped for another family comes out as that family gave it. */
function decodeReasoning(item: JsonObject): Item {
  const summary = texts(item.summary)
  const content = texts(item.content)
  const wrapped = isWrappedReasoning(item.encrypted_content)
  const envelope = unwrapReasoning(item.encrypted_content)
  // Without encrypted content there is nothing to take back.
  const opened = (envelope?.encrypted ?? envelope?.signature) === undefined ? undefined : envelope
  const own = opened
    ? { id: opened.id, text: opened.text, encrypted: opened.encrypted, signature: opened.signature, format: opened.format }
    : {
        id: asString(item.id),
        encrypted: wrapped ? undefined : asString(item.encrypted_content),
        signature: asString(item.signature),
        format: asString(item.format),
      }
  // Thoughts that were shown as their summary came with it as well.
  const same = opened?.text !== undefined && summary.join('') === opened.text
  return present({
    kind: 'reasoning',
    text: content.length > 0 ? content.join('') : undefined,
    summary: summary.length > 0 && !same ? summary : undefined,
    ...present(own),
  }) as unknown as Item
}

/** A call of a sub-agent means something only to this wire, and so does its output. A namespace stays beside its call. */
function isPlainCall(item: JsonObject): boolean {
  return (item.subagent_id ?? item.subagent_items ?? null) === null
}

function decodeCall(item: JsonObject): Item {
  const call: Item = { kind: 'call', callId: String(item.call_id), name: String(item.name), args: String(item.arguments) }
  if (typeof item.id === 'string') call.id = item.id
  return call
}

function decodeResult(item: JsonObject, beside: Set<string>): Item {
  const result: Item = { kind: 'result', callId: String(item.call_id), parts: decodeParts(item.output, beside) }
  if (typeof item.id === 'string') result.id = item.id
  return result
}

/** Leaves members that the canon has no word for beside the item. */
function withOthers(decoded: Item, item: JsonObject, type: keyof typeof KNOWN, beside: Set<string>): Item {
  const others = otherMembers(item, KNOWN[type])
  if (others === undefined) return decoded
  for (const key in others) beside.add(`input.${type}.${key}`)
  return withNative(decoded, { dialect: WIRE, type, data: others })
}

/**
 * @param input a string (one user message) or input items that `checkRequest` has accepted.
 * @param beside receives the names of members that the canon has no word for.
 * @returns canonical items; what the canon cannot name is opaque, references are left out (`checkRequest` accepts those alone without which
 * the conversation is whole).
 */
export function decodeItems(input: Json | undefined, beside: Set<string>): Item[] {
  if (typeof input === 'string') return [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: input }] }]
  const items: Item[] = []
  const opaqueCalls = new Set<string>()
  if (Array.isArray(input) && losesReference(input)) beside.add(LOST_REFERENCE)
  for (const item of asObjects(input)) {
    const type = itemType(item)
    const callId = String(item.call_id)
    if (type === 'message') items.push(withOthers(decodeMessage(item, beside), item, type, beside))
    else if (type === 'reasoning') items.push(withOthers(decodeReasoning(item), item, type, beside))
    else if (type === 'function_call' && isPlainCall(item)) items.push(withOthers(decodeCall(item), item, type, beside))
    else if (type === 'function_call_output' && typeof item.call_id === 'string' && !opaqueCalls.has(callId))
      items.push(withOthers(decodeResult(item, beside), item, type, beside))
    else if (type !== 'item_reference') {
      if (type === 'function_call') opaqueCalls.add(callId)
      items.push({ kind: 'opaque', of: { dialect: WIRE, type: String(type), data: item } })
    }
  }
  return items
}

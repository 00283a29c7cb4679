/** Canonical items as input items of the wire. */

import { type JsonObject, present } from '../../core/json.ts'
import { nativeObject } from '../canon/native.ts'
import { reasoningWords } from '../canon/reasoning-words.ts'
import type { Item } from '../canon/request.ts'
import { encodeOutput, encodeParts, type ItemContext } from './encode-parts.ts'
import { isOwnFormat } from './foreign-reasoning.ts'
import { WIRE } from './wire.ts'

/** Providers of this wire refuse an identifier that lacks the prefix of its kind. */
function prefixedId(id: string | undefined, prefix: string): string | undefined {
  return id?.startsWith(prefix) ? id : undefined
}

function encodeMessage(item: Extract<Item, { kind: 'message' }>, context: ItemContext): JsonObject {
  const id = prefixedId(item.id, 'msg')
  if (item.name !== undefined) context.dropped.add('message.name')
  return present({
    type: 'message',
    id,
    role: item.role,
    // An item with an id is one of the provider's own and has a status; an easy message has neither.
    status: id !== undefined && item.role === 'assistant' ? 'completed' : undefined,
    content: encodeParts(item.parts, item.role, context),
    phase: item.phase,
  })
}

/** Encrypted reasoning goes back to its own family; what no family encrypted goes back only for callers of this wire. */
function encodeReasoning(item: Extract<Item, { kind: 'reasoning' }>, context: ItemContext): JsonObject | undefined {
  const empty = item.id === undefined && item.encrypted === undefined && item.text === undefined
  const ours = item.format === undefined ? context.sameWire : isOwnFormat(item.format)
  if (empty || !ours || (!context.sameWire && item.encrypted === undefined)) {
    const words = context.quirks.unsigned_reasoning === true ? reasoningWords(item) : undefined
    if (words !== undefined) return { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: words }] }
    context.dropped.add('reasoning')
    return undefined
  }
  return present({
    type: 'reasoning',
    id: prefixedId(item.id, 'rs'),
    summary: (item.summary ?? []).map((text) => ({ type: 'summary_text', text })),
    content: item.text === undefined ? undefined : [{ type: 'reasoning_text', text: item.text }],
    encrypted_content: item.encrypted,
    signature: item.signature,
    format: context.sameWire ? item.format : undefined,
  })
}

function encodeCall(item: Extract<Item, { kind: 'call' }>, context: ItemContext): JsonObject {
  if (item.cache) context.dropped.add('cache_control')
  return present({ type: 'function_call', id: prefixedId(item.id, 'fc'), call_id: item.callId, name: item.name, arguments: item.args })
}

function encodeResult(item: Extract<Item, { kind: 'result' }>, context: ItemContext): JsonObject {
  if (item.error) context.dropped.add('tool_result.error')
  const output = encodeOutput(item.parts, item.cache, context)
  return present({ type: 'function_call_output', id: prefixedId(item.id, 'fc'), call_id: item.callId, output })
}

function encodeKnown(item: Exclude<Item, { kind: 'opaque' }>, context: ItemContext): JsonObject | undefined {
  switch (item.kind) {
    case 'message':
      return encodeMessage(item, context)
    case 'reasoning':
      return encodeReasoning(item, context)
    case 'call':
      return encodeCall(item, context)
    case 'result':
      return encodeResult(item, context)
  }
}

/** @returns undefined for an item that this wire cannot say; its name is then in `context.dropped`. */
export function encodeItem(item: Item, context: ItemContext): JsonObject | undefined {
  if (item.kind === 'opaque') {
    if (item.of.dialect === WIRE) return item.of.data
    context.dropped.add(item.of.type)
    return undefined
  }
  const encoded = encodeKnown(item, context)
  return encoded && Object.assign(encoded, nativeObject(item, WIRE))
}

/** Chat messages as canonical items: reasoning, then the message, then its calls, in this order. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { CALL_EXTRA, signatureIn, signedReasoning } from '../canon/call-signature.ts'
import { otherMembers, withNative } from '../canon/native.ts'
import type { Item, Part, Role } from '../canon/request.ts'
import { decodeContent } from './decode-parts.ts'
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
  // What SDKs of callers have read from the content (`fit-messages.ts`).
  'parsed',
  ...REPLAYED.keys(),
])

/** Leaves members that the canon has no word for beside the item. */
function beside<T extends Item>(item: T, found: JsonObject | undefined, names: Set<string>, type: 'message' | 'tool_call'): T {
  if (found === undefined) return item
  for (const key in found) names.add(type === 'message' ? `messages.${key}` : `messages.tool_calls.${key}`)
  return withNative(item, { dialect: WIRE, type, data: found })
}

function decodeCall(call: JsonObject, names: Set<string>): Item[] {
  if (!isObject(call.function)) return [{ kind: 'opaque', of: { dialect: WIRE, type: OPAQUE.call, data: call } }]
  const { name, arguments: args } = call.function
  const item: Item = { kind: 'call', callId: call.id as string, name: name as string, args: typeof args === 'string' ? args : '{}' }
  const others = otherMembers(call, CALL_KNOWN)
  const signed = signedReasoning(call)
  // What the reasoning says is not lost with the member: it is recorded where the reasoning is.
  const lost = new Set<string>()
  const written = beside(item, others, lost, 'tool_call')
  if (signatureIn(call)?.isAll) lost.delete(`messages.tool_calls.${CALL_EXTRA}`)
  for (const name of lost) names.add(name)
  // On this wire it goes back within the call.
  return signed ? [withNative(signed, { dialect: WIRE, type: 'tool_call', data: {} }), written] : [written]
}

/** Calls of the form before tools, which have no ids: the result of a function belongs to its earliest call that has none. */
class LegacyCalls {
  private count = 0
  private readonly open = new Map<string, string[]>()

  private next(): string {
    return `call_function_${++this.count}`
  }

  call({ function_call: call }: JsonObject): Item[] {
    if (!isObject(call) || typeof call.name !== 'string' || call.name === '') return []
    const callId = this.next()
    const open = this.open.get(call.name)
    if (open) open.push(callId)
    else this.open.set(call.name, [callId])
    return [{ kind: 'call', callId, name: call.name, args: typeof call.arguments === 'string' ? call.arguments : '{}' }]
  }

  result(name: string, parts: Part[]): Item {
    return { kind: 'result', callId: this.open.get(name)?.shift() ?? this.next(), parts }
  }
}

function decodeAssistant(message: JsonObject, legacy: LegacyCalls, names: Set<string>): Item[] {
  const items = decodeReasoning(message)
  const parts = decodeContent(message.content, names)
  if (typeof message.refusal === 'string' && message.refusal !== '') parts.push({ kind: 'refusal', text: message.refusal })
  for (const [field, type] of REPLAYED) {
    const value = message[field]
    if (value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0))
      parts.push({ kind: 'opaque', of: { dialect: WIRE, type, data: { [field]: value } } })
  }
  const calls = Array.isArray(message.tool_calls) ? (message.tool_calls as JsonObject[]).flatMap((call) => decodeCall(call, names)) : []
  calls.push(...legacy.call(message))
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
  const legacy = new LegacyCalls()
  for (const message of messages) {
    if (message.role === 'assistant') {
      items.push(...decodeAssistant(message, legacy, names))
      continue
    }
    const parts = decodeContent(message.content, names)
    const item: Item =
      message.role === 'tool'
        ? { kind: 'result', callId: message.tool_call_id as string, parts }
        : message.role === 'function'
          ? legacy.result(message.name as string, parts)
          : named(message.role as Role, parts, message.name)
    items.push(beside(item, otherMembers(message, MESSAGE_KNOWN), names, 'message'))
  }
  return items
}

type ReasoningItem = Extract<Item, { kind: 'reasoning' }>

const KNOWN: ReadonlySet<Json | undefined> = new Set(['reasoning.text', 'reasoning.summary', 'reasoning.encrypted'])

const text = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined)

/** A format that stands in a detail several times, one behind the other; lengths are bounded so that the search is. */
const REPEATED_FORMAT = /^([a-z-]{1,40}-v\d{1,3}?)\1+$/

/**
 * A detail with its format and identifier once. OpenAI's SDK for Python joins the pieces of a stream by their index, and all texts in them
 * but `type` with them (`accumulate_delta` of openai 3.57.0, lib/streaming/_deltas.py).
 */
function unrepeated(detail: JsonObject): JsonObject {
  const whole = text(detail.format)
  const format = whole === undefined ? undefined : REPEATED_FORMAT.exec(whole)?.[1]
  if (whole === undefined || format === undefined) return detail
  const times = whole.length / format.length
  const id = text(detail.id)
  const one = id?.slice(0, id.length / times)
  return { ...detail, format, ...(id !== undefined && one?.repeat(times) === id ? { id: one } : {}) }
}

interface Open {
  item: ReasoningItem
  /** Of the detail that began it: pieces of one text share it. */
  index: Json | undefined
}

/** A detail joins the item before it where both are parts of one piece of reasoning. */
function joins(open: Open | undefined, detail: JsonObject): open is Open {
  if (!open) return false
  const { item } = open
  const format = text(detail.format)
  const sameId = text(detail.id) === item.id
  if (item.signature !== undefined || item.encrypted !== undefined || (item.format !== undefined && format !== item.format)) return false
  switch (detail.type) {
    case 'reasoning.encrypted':
      // Without an identifier encrypted reasoning is not known to belong to the text before it.
      return item.id !== undefined && sameId
    case 'reasoning.summary':
      return sameId && item.text === undefined
    default:
      // A stream sends a text in pieces, and its signature last; some callers send the pieces back as they came.
      return sameId && item.text !== undefined && typeof detail.index === 'number' && detail.index === open.index
  }
}

function decodeDetails(details: JsonObject[]): Item[] {
  const items: Item[] = []
  let open: Open | undefined
  for (const written of details) {
    if (!KNOWN.has(written.type)) {
      open = undefined
      items.push({ kind: 'opaque', of: { dialect: WIRE, type: OPAQUE.detail, data: written } })
      continue
    }
    const detail = unrepeated(written)
    if (!joins(open, detail)) {
      open = { item: { kind: 'reasoning' }, index: detail.index }
      if (typeof detail.id === 'string') open.item.id = detail.id
      items.push(open.item)
    }
    const { item } = open
    if (typeof detail.format === 'string') item.format = detail.format
    if (typeof detail.text === 'string') item.text = (item.text ?? '') + detail.text
    if (typeof detail.signature === 'string') item.signature = detail.signature
    if (typeof detail.summary === 'string') {
      item.summary ??= []
      item.summary.push(detail.summary)
    }
    if (typeof detail.data === 'string') item.encrypted = detail.data
  }
  return items
}

/**
 * Reasoning of an earlier turn, in any of the forms that chat messages carry it in, as canonical items.
 * @param message an assistant message; details win over plain text, which says the same.
 */
function decodeReasoning(message: JsonObject): Item[] {
  const details = message.reasoning_details
  if (Array.isArray(details) && details.length > 0) return decodeDetails(details as JsonObject[])
  const plain = message.reasoning ?? message.reasoning_content
  return typeof plain === 'string' && plain !== '' ? [{ kind: 'reasoning', text: plain }] : []
}

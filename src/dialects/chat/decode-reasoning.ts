/** Reasoning of an earlier turn, in any of the forms that chat messages carry it in, as canonical items. */

import type { Json, JsonObject } from '../../core/json.ts'
import type { Item } from '../canon/request.ts'
import { OPAQUE, WIRE } from './wire.ts'

type ReasoningItem = Extract<Item, { kind: 'reasoning' }>

const KNOWN: ReadonlySet<Json | undefined> = new Set(['reasoning.text', 'reasoning.summary', 'reasoning.encrypted'])

const text = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined)

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
  if (item.signature !== undefined || item.sealed !== undefined || (item.format !== undefined && format !== item.format)) return false
  switch (detail.type) {
    case 'reasoning.encrypted':
      // Without an identifier a seal is not known to belong to the text before it.
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
  for (const detail of details) {
    if (!KNOWN.has(detail.type)) {
      open = undefined
      items.push({ kind: 'opaque', of: { dialect: WIRE, type: OPAQUE.detail, data: detail } })
      continue
    }
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
    if (typeof detail.data === 'string') item.sealed = detail.data
  }
  return items
}

/** @param message an assistant message; details win over plain text, which says the same. */
export function decodeReasoning(message: JsonObject): Item[] {
  const details = message.reasoning_details
  if (Array.isArray(details) && details.length > 0) return decodeDetails(details as JsonObject[])
  const plain = message.reasoning ?? message.reasoning_content
  return typeof plain === 'string' && plain !== '' ? [{ kind: 'reasoning', text: plain }] : []
}

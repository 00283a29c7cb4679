/** Thinking that a caller sends back, as canonical reasoning: this wire's own, or another's out of its envelope. */

import { type JsonObject, present, stringOf } from '../../core/json.ts'
import { type Envelope, openEnvelope } from '../canon/reasoning-envelope.ts'
import type { Item } from '../canon/request.ts'
import { beside, FORMAT, withNative } from './wire.ts'

type ReasoningItem = Extract<Item, { kind: 'reasoning' }>

const THINKING: ReadonlySet<string> = new Set(['type', 'thinking', 'signature', 'cache_control'])

function foreignItem(envelope: Envelope, shown: string): ReasoningItem {
  const text = envelope.text ?? shown
  const { format, id, sealed, signature, summary } = envelope
  // A seal of an unknown maker must never pass for one of this wire's.
  const maker = format ?? (sealed === undefined && signature === undefined ? undefined : 'unknown')
  const item: ReasoningItem = { kind: 'reasoning', id, sealed, signature, format: maker }
  if (summary) item.summary = [text]
  else if (text !== '') item.text = text
  return present(item)
}

/** A `thinking` block; one without a signature is plain text that no provider of this wire takes back. */
export function thinkingItem(block: JsonObject): Item {
  const thinking = stringOf(block.thinking) ?? ''
  const signature = stringOf(block.signature) ?? ''
  const envelope = openEnvelope(signature)
  if (envelope) return foreignItem(envelope, thinking)
  const own: ReasoningItem =
    signature === '' ? { kind: 'reasoning', text: thinking } : { kind: 'reasoning', text: thinking, signature, format: FORMAT }
  return withNative(own, 'thinking', beside(block, THINKING))
}

/** @param data of a `redacted_thinking` block. */
export function redactedItem(data: string): Item {
  const envelope = openEnvelope(data)
  return envelope ? foreignItem(envelope, '') : { kind: 'reasoning', sealed: data, format: FORMAT }
}

/**
 * Several blocks may hold one reasoning item: its summaries one by one, its text, then its seal.
 * @returns false where `item` is none of `before`'s.
 */
export function joinReasoning(before: Item | undefined, item: Item): boolean {
  if (before?.kind !== 'reasoning' || item.kind !== 'reasoning' || item.id === undefined || item.id !== before.id) return false
  if (before.sealed !== undefined || before.signature !== undefined) return false
  if (item.summary) {
    before.summary ??= []
    before.summary.push(...item.summary)
  }
  if (item.text !== undefined) before.text = (before.text ?? '') + item.text
  before.sealed = item.sealed
  before.signature = item.signature
  before.format = item.format ?? before.format
  present(before)
  return true
}

/** A finished output item as canonical events: whole replies, and streams whose provider sends items only at their end. */

import { asObjects, asString, type JsonObject, present } from '../../core/json.ts'
import { argumentsText } from '../canon/call-arguments.ts'
import type { StreamEvent } from '../canon/events.ts'
import { callMembers, canonicalAnnotation, imageAnswer, phaseMessage } from './output-item-forms.ts'
import { WIRE } from './wire.ts'

/** Hands out block numbers over one reply. */
export interface Numbering {
  next: number
}

function block(
  out: StreamEvent[],
  numbers: Numbering,
  start: Omit<Extract<StreamEvent, { type: 'block-start' }>, 'type' | 'block'>,
  text: string,
): number {
  const number = numbers.next++
  out.push({ type: 'block-start', block: number, ...start })
  if (text !== '') out.push({ type: 'block-delta', block: number, text })
  return number
}

/** The family of providers of this wire, which made any encrypted reasoning that names no other. */
export const FORMAT = 'openai-responses-v1'

/** The family that made the reasoning, named before its first word. */
export function formatNote(number: number, format: string): StreamEvent {
  return { type: 'block-note', block: number, note: 'format', data: { format } }
}

/** Encrypted content, signature and format of a reasoning item as notes on one of its blocks. */
export function reasoningNotes(item: JsonObject, number: number, out: StreamEvent[]): void {
  const encrypted = asString(item.encrypted_content)
  const signature = asString(item.signature)
  const format = asString(item.format) ?? FORMAT
  if (encrypted !== undefined)
    out.push({ type: 'block-note', block: number, note: 'encrypted', data: present({ data: encrypted, id: asString(item.id), format }) })
  if (signature !== undefined) out.push({ type: 'block-note', block: number, note: 'signature', data: present({ signature, format }) })
}

function messageEvents(item: JsonObject, numbers: Numbering, out: StreamEvent[]): void {
  const key = asString(item.id)
  const of = phaseMessage(item.phase)
  for (const part of asObjects(item.content)) {
    const refusal = part.type === 'refusal'
    if (!refusal && part.type !== 'output_text') continue
    const text = asString(refusal ? part.refusal : part.text) ?? ''
    const number = block(out, numbers, { kind: refusal ? 'refusal' : 'text', item: key, ...(of ? { of } : {}) }, text)
    const logprobs = asObjects(part.logprobs)
    if (logprobs.length > 0) out.push({ type: 'block-note', block: number, note: 'logprobs', data: { content: logprobs } })
    for (const annotation of asObjects(part.annotations))
      out.push({ type: 'block-note', block: number, note: 'annotation', data: canonicalAnnotation(annotation) })
    out.push({ type: 'block-end', block: number })
  }
}

function reasoningEvents(item: JsonObject, numbers: Numbering, out: StreamEvent[]): void {
  const key = asString(item.id)
  const summary = asObjects(item.summary).map((part) => ['summary', asString(part.text) ?? ''] as const)
  const content = asObjects(item.content).map((part) => ['reasoning', asString(part.text) ?? ''] as const)
  const parts = [...summary, ...content]
  const notes: StreamEvent[] = []
  reasoningNotes(item, 0, notes)
  if (parts.length === 0 && notes.length > 0) parts.push(['reasoning', ''])
  for (const [index, [kind, text]] of parts.entries()) {
    const number = block(out, numbers, { kind, item: key }, '')
    out.push(formatNote(number, asString(item.format) ?? FORMAT))
    if (text !== '') out.push({ type: 'block-delta', block: number, text })
    if (index === parts.length - 1) reasoningNotes(item, number, out)
    out.push({ type: 'block-end', block: number })
  }
}

/** A call that this wire alone understands ends the turn as a function call does. */
export function isCallItem(item: JsonObject): boolean {
  return item.type === 'function_call' || item.type === 'custom_tool_call'
}

export function itemEvents(item: JsonObject, numbers: Numbering, out: StreamEvent[]): void {
  if (item.type === 'message') messageEvents(item, numbers, out)
  else if (item.type === 'reasoning') reasoningEvents(item, numbers, out)
  else if (item.type === 'function_call' && (item.namespace ?? null) === null) {
    const call = { id: asString(item.call_id) ?? asString(item.id) ?? '', name: asString(item.name) ?? '' }
    const of = callMembers(item)
    const start = { kind: 'call', item: asString(item.id), call, ...(of ? { of } : {}) } as const
    const number = block(out, numbers, start, argumentsText(item.arguments))
    out.push({ type: 'block-end', block: number })
  } else {
    const image = item.type === 'image_generation_call' ? asString(item.result) : undefined
    const of = image === undefined ? { dialect: WIRE, type: String(item.type), data: item } : imageAnswer(item, image)
    const number = block(out, numbers, { kind: image === undefined ? 'opaque' : 'media', of }, '')
    out.push({ type: 'block-end', block: number })
  }
}

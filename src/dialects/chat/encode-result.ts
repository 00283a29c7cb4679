/** Folded events as a whole chat reply (docs/contract.md#chat-reply). */

import type { JsonObject } from '../../core/json.ts'
import { CallSignatures } from '../canon/call-signature.ts'
import { MEMBERS } from '../canon/events.ts'
import type { Block, Folded } from '../canon/fold.ts'
import { InputText } from '../canon/input-text.ts'
import { shownTier } from '../canon/served-tier.ts'
import type { Final, ReplyContext } from '../types.ts'
import { nestedAnnotation } from './annotations.ts'
import { hidesReasoning } from './check.ts'
import { CUSTOM, isCustomCall } from './client-tools.ts'
import { encodeAudio, encodeImage } from './media.ts'
import { encodeFinish, LateMembers } from './reply.ts'
import { encryptedDetail, serverDetail } from './reply-parts.ts'
import { usageText } from './usage.ts'
import { OPAQUE, WIRE } from './wire.ts'

function join(blocks: readonly Block[], kind: Block['kind']): string | null {
  const some = blocks.filter((block) => block.kind === kind)
  return some.length === 0 ? null : some.map((block) => block.text).join('')
}

function thoughtDetails(block: Block, details: JsonObject[]): void {
  const find = (note: string) => block.notes.find((each) => each.note === note)?.data
  const format = find('format')?.format as string | undefined
  const signature = find('signature')
  const known = signature?.format ?? format
  if (block.text !== '' || signature) {
    const detail: JsonObject =
      block.kind === 'summary'
        ? { type: 'reasoning.summary', summary: block.text }
        : { type: 'reasoning.text', text: block.text === '' ? null : block.text }
    if (signature) detail.signature = signature.signature
    if (block.item !== undefined) detail.id = block.item
    if (known !== undefined) detail.format = known
    detail.index = details.length
    details.push(detail)
  }
  for (const { note, data } of block.notes) if (note === 'encrypted') details.push(encryptedDetail(data, format, details.length))
}

function encodeReasoning(folded: Folded, hide: boolean): { text: string; details: JsonObject[] } {
  const details: JsonObject[] = []
  let text = ''
  for (const block of folded.blocks) {
    if (block.kind === 'server' && block.of) details.push(serverDetail(block.of, details.length))
    else if ((block.kind === 'reasoning' || block.kind === 'summary') && !hide) {
      text += block.text
      thoughtDetails(block, details)
    }
  }
  if (!hide) for (const of of folded.opaque) if (of.dialect === WIRE && of.type === OPAQUE.detail) details.push(of.data)
  return { text, details }
}

function blockNotes(blocks: readonly Block[], kind: 'annotation' | 'logprobs'): JsonObject[] {
  return blocks.flatMap((block) => block.notes.filter((each) => each.note === kind).map((each) => each.data))
}

/** Places count over the whole content, which is all texts joined. */
function encodeAnnotations(blocks: readonly Block[]): JsonObject[] {
  let before = 0
  return blocks.flatMap((block) => {
    const found = blockNotes([block], 'annotation').map((data) => nestedAnnotation(data, block.kind === 'text' ? before : 0))
    if (block.kind === 'text') before += block.text.length
    return found.filter((each) => each !== undefined)
  })
}

function inputText(args: string): string {
  const input = new InputText()
  return input.push(args) + input.end()
}

/** An entry of `tool_calls`; undefined for a block that is no call of this wire. */
function encodeCall({ kind, call, of, text }: Block, signatures: CallSignatures): JsonObject | undefined {
  const own = of?.dialect === WIRE && of.type === OPAQUE.call ? of.data : undefined
  if (kind === 'opaque') return own
  if (kind !== 'call') return undefined
  if (isCustomCall(call))
    return {
      ...signatures.signedMembers(call?.id),
      id: call?.id ?? '',
      type: CUSTOM,
      custom: { name: call?.name ?? '', input: inputText(text) },
    }
  return {
    ...signatures.signedMembers(call?.id),
    ...own,
    id: call?.id ?? '',
    type: 'function',
    function: { name: call?.name ?? '', arguments: text },
  }
}

function encodeMessage(folded: Folded, ctx: ReplyContext): JsonObject {
  const { blocks } = folded
  const message: JsonObject = { role: 'assistant', content: join(blocks, 'text'), refusal: join(blocks, 'refusal') }
  const { text, details } = encodeReasoning(folded, hidesReasoning(ctx.body))
  if (text !== '') message.reasoning = text
  if (details.length > 0) message.reasoning_details = details
  const signatures = new CallSignatures()
  for (const { notes } of blocks) for (const { note, data } of notes) if (note === 'encrypted') signatures.take(data)
  const calls = blocks.map((block) => encodeCall(block, signatures)).filter((call) => call !== undefined)
  if (calls.length > 0) message.tool_calls = calls
  const annotations = encodeAnnotations(blocks)
  if (annotations.length > 0) message.annotations = annotations
  const images: JsonObject[] = []
  for (const { kind, of } of blocks) {
    if (kind !== 'media' || !of) continue
    const image = encodeImage(of)
    if (image) images.push(image)
    else message.audio = encodeAudio(of, ctx)
  }
  if (images.length > 0) message.images = images
  for (const of of folded.opaque) if (of.dialect === WIRE && of.type === OPAQUE.field) Object.assign(message, of.data)
  return message
}

function encodeLogprobs(blocks: readonly Block[]): JsonObject | null {
  const notes = blockNotes(blocks, 'logprobs')
  if (notes.length === 0) return null
  const all = (field: 'content' | 'refusal') => {
    const lists = notes.map((data) => data[field]).filter((list) => Array.isArray(list))
    return lists.length === 0 ? null : lists.flat()
  }
  return { content: all('content'), refusal: all('refusal') }
}

/** Names of the catalogue as JSON texts; `JSON.stringify` costs five times the look-up. */
const nameTexts = new Map<string, string>()
const MAX_NAMES = 1_000

function nameText(name: string): string {
  let text = nameTexts.get(name)
  if (text === undefined) {
    if (nameTexts.size >= MAX_NAMES) nameTexts.clear()
    text = JSON.stringify(name)
    nameTexts.set(name, text)
  }
  return text
}

/** The reply's members around its choice, as JSON text. */
export function envelope(ctx: ReplyContext, final: Final, reply: { created: number; choices: string; members: string }): string {
  const provider = ctx.provider === '' ? '' : `,"provider":${nameText(ctx.provider)}`
  const shown = shownTier(final.end.tier)
  const tier = shown === undefined ? '' : `,"service_tier":${JSON.stringify(shown)}`
  const metadata = final.metadata === undefined ? '' : `,${JSON.stringify(`${ctx.brand}_metadata`)}:${JSON.stringify(final.metadata)}`
  return (
    `{"id":"${ctx.id}","object":"chat.completion","created":${reply.created},"model":${nameText(ctx.model)}${provider}` +
    `${reply.members},"choices":${reply.choices},"usage":${usageText(final)}${tier}${metadata}}`
  )
}

export function encodeResult(folded: Folded, ctx: ReplyContext, final: Final): string {
  const choice: JsonObject = {
    index: 0,
    message: encodeMessage(folded, ctx),
    logprobs: encodeLogprobs(folded.blocks),
    ...encodeFinish(ctx, final),
  }
  const late = new LateMembers()
  for (const of of folded.opaque) if (of.dialect === WIRE && of.type === MEMBERS) late.keep(of.data, ctx.brand)
  const { fingerprint } = final.end
  const members = fingerprint === undefined ? `,"system_fingerprint":null${late.text()}` : late.text(fingerprint)
  return envelope(ctx, final, { created: ctx.created, choices: JSON.stringify([choice]), members })
}

/** Output items that come in one piece: what only this wire knows, what the gateway's tools did, images, spoken answers. */

import { asString, isObject, type Json, type JsonObject, present } from '../../core/json.ts'
import { type BlockKind, type Called, COMMON } from '../canon/events.ts'
import { mendPlaces } from '../canon/places.ts'
import type { Opaque } from '../canon/request.ts'
import { WIRE } from './wire.ts'

const DATA_URL = /^data:([^;,]+)[^,]*,/

/** Members of this wire that came beside what the canon names. */
function nativeData(data: JsonObject): JsonObject | undefined {
  const { native } = data
  return isObject(native) && native.dialect === WIRE && isObject(native.data) ? native.data : undefined
}

/** Event that begins an item, or a part of one. */
export interface NewBlock {
  kind: BlockKind
  item?: string | undefined
  call?: Called | undefined
  of?: Opaque | undefined
}

/** An image that a provider of this wire made, for every dialect. */
export function imageAnswer(item: JsonObject, result: string): Opaque {
  const type = `image/${asString(item.output_format) ?? 'png'}`
  const data: JsonObject = { url: `data:${type};base64,${result}`, media_type: type, native: { dialect: WIRE, data: item } }
  return { dialect: COMMON, type: 'image', data }
}

/** `result` holds the image itself; one that is only known by its address has none. */
function imageItem(data: JsonObject): JsonObject | undefined {
  const own = nativeData(data)
  if (own) return own
  const url = asString(isObject(data.image_url) ? data.image_url.url : data.url)
  if (url === undefined) return undefined
  const item: JsonObject = { type: 'image_generation_call', status: 'completed' }
  const [inline, type] = DATA_URL.exec(url) ?? []
  if (inline === undefined || type === undefined) return { ...item, result: null, image_url: url }
  const format = type.replace(/^image\//, '')
  return { ...item, result: url.slice(inline.length), ...(format === 'png' ? {} : { output_format: format }) }
}

/** Work of a tool of the gateway; `call` in its data is for wires that show no such items. */
function serverItem(of: Opaque): JsonObject | undefined {
  if (!of.type.includes(':')) return undefined
  const { call: _, ...shown } = of.data
  return { status: 'completed', ...shown, type: of.type }
}

/** Item of a tool at its end, in place of the one that it began with. */
export function outcomeItem(begun: JsonObject | undefined, data: JsonObject): JsonObject {
  return serverItem({ dialect: 'gateway', type: String(begun?.type), data }) ?? data
}

/** @returns undefined for an item that this wire has no form for. */
export function wholeItem(block: NewBlock): JsonObject | undefined {
  const { of } = block
  if (of === undefined) return undefined
  if (block.kind === 'server') return serverItem(of)
  if (of.dialect === WIRE) return { type: of.type, ...of.data }
  return block.kind === 'media' && of.type === 'image' ? imageItem(of.data) : undefined
}

/** The words of a spoken answer: this wire has no audio, so they are shown as text; undefined for any other block. */
export function spokenWords(block: NewBlock): string | undefined {
  if (block.kind !== 'media' || block.of?.type !== 'audio' || block.of.dialect === WIRE) return undefined
  return asString(block.of.data.transcript) || undefined
}

/** Every member that strict clients demand of a citation. */
const DEMANDED: Readonly<Record<string, JsonObject>> = {
  url_citation: { url: '', title: '', start_index: 0, end_index: 0 },
  file_citation: { file_id: '', filename: '', index: 0 },
  file_path: { file_id: '', index: 0 },
}

/** An annotation as this wire writes it; undefined for one that only another wire knows. */
export function shownAnnotation(data: JsonObject): JsonObject | undefined {
  const own = nativeData(data)
  if (own) return own
  const demanded = DEMANDED[String(data.type)]
  // What the gateway read of a file of the request goes out as it is.
  if (demanded === undefined && !(data.type === 'file' && typeof data.hash === 'string')) return undefined
  const { native: _, ...flat } = data
  return { ...demanded, ...present(flat) }
}

/** An annotation of this wire in the canon's form. */
export function canonicalAnnotation(annotation: JsonObject): JsonObject {
  mendPlaces(annotation)
  const { type } = annotation
  return DEMANDED[String(type)] === undefined ? { type, native: { dialect: WIRE, data: annotation } } : annotation
}

/** Words about a message that the canon has none for, as `of` of its blocks. */
export function phaseMessage(phase: Json | undefined): Opaque | undefined {
  return typeof phase === 'string' ? { dialect: WIRE, type: 'message', data: { phase } } : undefined
}

/** Members of a call's item that the canon has words for. */
const CALL_MEMBERS: ReadonlySet<string> = new Set(['type', 'id', 'status', 'call_id', 'name', 'arguments', 'namespace'])

/** Others, as `of` of its block: what called (`caller`), and that the output may come later (`async`; npm openai 7.59.0, ResponseFunctionToolCall). */
export function callMembers(item: JsonObject): Opaque | undefined {
  const others = Object.entries(item).filter(([name, value]) => !CALL_MEMBERS.has(name) && value !== null)
  return others.length === 0 ? undefined : { dialect: WIRE, type: 'function_call', data: Object.fromEntries(others) }
}

/** Parts of a reply that streams and whole replies write alike. */

import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { Opaque } from '../canon/request.ts'

const asText = (value: Json | undefined, fallback: string): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? fallback : JSON.stringify(value)

/**
 * A `reasoning.server_tool_call` detail of a tool that the gateway ran.
 * @param of its output item; `call` in its data, where present, holds the arguments and the result that the model received.
 */
export function serverDetail(of: Opaque, index: number): JsonObject {
  const call = isObject(of.data.call) ? of.data.call : of.data
  const detail: JsonObject = {
    type: 'reasoning.server_tool_call',
    tool_name: asText(call.tool_name, of.type),
    arguments: asText(call.arguments, '{}'),
    result: asText(call.result, '{}'),
  }
  if (typeof call.tool_call_id === 'string') detail.tool_call_id = call.tool_call_id
  if (typeof of.data.id === 'string') detail.id = of.data.id
  detail.index = index
  return detail
}

/** A signature, as a detail that adds to the one of the same index. */
export function noteDetail(data: JsonObject, block: { format: string | undefined; index: number; item: string | undefined }): JsonObject {
  const detail: JsonObject = { type: 'reasoning.text', signature: data.signature }
  if (block.item !== undefined) detail.id = block.item
  const format = data.format ?? block.format
  if (format !== undefined) detail.format = format
  detail.index = block.index
  return detail
}

/** Encrypted reasoning. */
export function encryptedDetail(data: JsonObject, format: string | undefined, index: number): JsonObject {
  const detail: JsonObject = { type: 'reasoning.encrypted', data: data.data ?? '' }
  if (typeof data.id === 'string') detail.id = data.id
  const known = data.format ?? format
  if (known !== undefined) detail.format = known
  detail.index = index
  return detail
}

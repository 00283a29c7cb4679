/**
 * Shared by both halves of the Messages wire. Read from the types of @anthropic-ai/sdk 1.12.0.
 *
 * Where the canon has no word for a member, it travels beside what the canon does name:
 * - `native` on a part, an item or a function tool (`withNative`, `messagesNative`): members that are laid over the block, message
 *   or tool as it is written: `{ ...written, ...messagesNative(value) }`. Other wires leave them out.
 * - `native` on `request.reasoning`: the whole of `thinking`.
 * - `request.extras.fields`: body fields as they came. `output_config` holds only what the canon lacks and is merged into the one that
 *   the encoder writes. A name without a value (`messages.document.context`) shows other wires what stands beside parts, items and tools.
 * - a call's block-start may carry `of` with the whole block: its `caller` and `toolset_name` go to the client.
 * - a stream event `opaque` of type `OPAQUE.message`: members of the reply itself, `usage` among them.
 * A body with blocks that the gateway wrote for another wire's reply (`holdsForeignBlocks`) is no body for the pass lane.
 */

import type { JsonObject } from '../../core/json.ts'
import * as native from '../canon/native.ts'

/** Mark of opaque values of this wire, by the client and the upstream half alike. */
export const WIRE = 'messages'

export const CLIENT_ID = 'messages'
export const UPSTREAM_ID = 'anthropic'

/** The `format` of reasoning that this wire's providers encrypted or signed. */
export const FORMAT = 'anthropic-claude-v1'

export const OPAQUE = {
  /** `{ container?, context_management?, stop_details?, diagnostics?, usage?, … }`, as they stand in the message. */
  message: 'message',
} as const

/** The tool that a JSON schema of `output_config.format` is called by, where another wire wants a name. */
export const FORMAT_NAME = 'response'

/** One event of the stream; `fields` is JSON text that begins with a comma, '' for none. */
export function eventFrame(type: string, fields: string): string {
  return `event: ${type}\ndata: {"type":"${type}"${fields}}\n\n`
}

/** The value with members of its block that only this wire knows; the value itself where there are none. */
export function withNative<T extends object>(value: T, type: string, data: JsonObject): T {
  return Object.keys(data).length === 0 ? value : native.withNative(value, { dialect: WIRE, type, data })
}

/** Members that this wire left beside a part, an item or a tool; empty where it left none. */
export function messagesNative(value: object): JsonObject {
  return native.nativeObject(value, WIRE) ?? {}
}

/** Members of a block that are neither in `known` nor null: what only this wire can say. */
export function beside(block: JsonObject, known: ReadonlySet<string>): JsonObject {
  const rest: JsonObject = {}
  for (const key in block) if (!known.has(key) && (block[key] ?? null) !== null) rest[key] = block[key]
  return rest
}

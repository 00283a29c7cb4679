/** Tools that the gateway ran, as the pair of blocks that this wire shows a tool of the server by. */

import { isObject, type JsonObject, present, stringOf } from '../../core/json.ts'
import type { Opaque } from '../canon/request.ts'
import { publishedBlocks } from './published-results.ts'
import { parsedInput } from './tool-input.ts'

/** Marks the blocks when a caller sends them back. */
const ID = 'srvtoolu_hg_'

/** True for either block of such a pair. */
export function isGatewayTool(block: JsonObject): boolean {
  const id = block.type === 'server_tool_use' ? block.id : block.tool_use_id
  return typeof id === 'string' && id.startsWith(ID)
}

/**
 * `server_tool_use` and its result: in the form that the provider of this wire publishes for a tool of that kind,
 * else of type `<brand>_<name>_tool_result`.
 * @param of the output item; `call` in its data, where present, holds the arguments and the result that the model received.
 * @param place position among such items of the reply; names the pair where the call has no id.
 */
export function gatewayToolBlocks(of: Opaque, place: number): [use: JsonObject, result: JsonObject] {
  const { call, ...item } = of.data
  const record = isObject(call) ? call : of.data
  const id = ID + (stringOf(record.tool_call_id) ?? String(place)).replace(/[^A-Za-z0-9_]/g, '_')
  const word = of.type.replace(/[^A-Za-z0-9_]/g, '_')
  const input = parsedInput(stringOf(record.arguments) ?? '')
  const published = publishedBlocks(of.type, { id, input, result: record.result })
  if (published) return published
  return [
    { type: 'server_tool_use', id, name: of.type, input, caller: { type: 'direct' } },
    { type: `${word}_tool_result`, tool_use_id: id, content: present({ ...item, type: `${word}_result` }) },
  ]
}

/** Calls of a tool that the caller sends back from earlier replies, in whichever form its dialect shows them. */
import { type CanonicalRequest, isObject, type Json, type JsonObject, type Opaque, objectWithin } from '../plugin-api/index.ts'

export interface ReplayedCall {
  callId: string
  /** Fields of the output item, as far as the form has them. */
  fields: JsonObject
  /** Arguments and result as the model wrote and received them, where the form has them word for word. */
  args?: string
  result?: string
}

/**
 * - Responses: the output item. Chat: a `reasoning.server_tool_call` detail. Messages: the result block of the pair.
 * @param tool without the brand word. @returns undefined for anything else.
 */
export function replayedCall({ data }: Opaque, brand: string, tool: string): ReplayedCall | undefined {
  if (data.type === `${brand}:${tool}`) return { callId: text(data.call_id) ?? text(data.id) ?? '', fields: data }
  if (data.type === 'reasoning.server_tool_call' && data.tool_name === `${brand}:${tool}`) return detailCall(data)
  if (data.type === `${brand}_${tool}_tool_result` && isObject(data.content))
    return { callId: text(data.tool_use_id) ?? '', fields: data.content }
  return undefined
}

/** Calls by their details: a request may offer a tool many times, and each reads all of them. */
const read = new WeakMap<JsonObject, ReplayedCall>()

function detailCall(data: JsonObject): ReplayedCall {
  const known = read.get(data)
  if (known) return known
  const { tool_call_id: callId, arguments: args, result } = data
  const call: ReplayedCall = {
    callId: text(callId) ?? '',
    fields: { ...parsed(args), ...parsed(result) },
    ...(typeof args === 'string' && typeof result === 'string' ? { args, result } : {}),
  }
  read.set(data, call)
  return call
}

/** In the order of the conversation. */
export function replayedCalls({ items }: Pick<CanonicalRequest, 'items'>, brand: string, tool: string): ReplayedCall[] {
  const opaque = items.flatMap((item): Opaque[] => {
    if (item.kind === 'opaque') return [item.of]
    return item.kind === 'message' ? item.parts.flatMap((part) => (part.kind === 'opaque' ? [part.of] : [])) : []
  })
  return opaque.flatMap((of) => replayedCall(of, brand, tool) ?? [])
}

function text(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function parsed(json: Json | undefined): JsonObject {
  return (typeof json === 'string' ? objectWithin(json) : undefined) ?? {}
}

/** Content blocks of a reply: those that come whole, and how those that come in pieces begin. */

import { isObject, type JsonObject } from '../../core/json.ts'
import type { Opaque } from '../canon/request.ts'
import { eventFrame, WIRE } from './wire.ts'

/** Blocks whose input goes to callers in a delta of its own, as they expect it. */
const WITH_INPUT: ReadonlySet<unknown> = new Set(['server_tool_use', 'mcp_tool_use', 'tool_use'])

/** Members of a call that the canon keeps in words of its own. */
const CALL: ReadonlySet<string> = new Set(['type', 'id', 'name', 'input', 'cache_control'])

export function textBlock(text: string, citations: JsonObject[]): JsonObject {
  return { type: 'text', text, citations }
}

export function thinkingBlock(thinking: string, signature: string): JsonObject {
  return { type: 'thinking', thinking, signature }
}

export function redactedBlock(data: string): JsonObject {
  return { type: 'redacted_thinking', data }
}

/**
 * With encrypted reasoning that came behind the last text in front of it, as replies of this wire have it: Gemini signs a text at its end
 * (ai.google.dev/gemini-api/docs/thought-signatures), and takes a signature back for the text that it stands beside.
 * @param isExpected false for a caller that does not count on thinking: it is left out there, as in streams.
 */
export function withTextLast(content: readonly JsonObject[], isExpected = true): JsonObject[] {
  const last = content.findLastIndex(({ type }) => type !== 'redacted_thinking')
  if (content[last]?.type !== 'text') return [...content]
  const behind = isExpected ? content.slice(last + 1) : []
  return [...content.slice(0, last), ...behind, ...content.slice(last, last + 1)]
}

interface WrittenCall {
  readonly call: { id: string; name: string } | undefined
  /** The block as a provider of this wire sent it, for members that the canon has no words for. */
  readonly of: Opaque | undefined
  /** Members of the gateway's own. */
  readonly extra: JsonObject | undefined
}

export function toolUseBlock({ call, of, extra }: WrittenCall, input: JsonObject): JsonObject {
  const block: JsonObject = { type: 'tool_use', id: call?.id ?? '', name: call?.name ?? '', input, caller: { type: 'direct' }, ...extra }
  if (of?.dialect !== WIRE) return block
  for (const key in of.data) if (!CALL.has(key) && (of.data[key] ?? null) !== null) block[key] = of.data[key]
  return block
}

/** The block as it begins and the text of its input, where that comes in a delta. */
export function inPieces(block: JsonObject): { begun: JsonObject; input: string } {
  const { input } = block
  if (!WITH_INPUT.has(block.type) || !isObject(input) || Object.keys(input).length === 0) return { begun: block, input: '' }
  return { begun: { ...block, input: {} }, input: JSON.stringify(input) }
}

/** The events of a block that is there at once. */
export function wholeBlock(block: JsonObject, index: number): string {
  const { begun, input } = inPieces(block)
  const fields = `,"index":${index}`
  const delta = `${fields},"delta":${JSON.stringify({ type: 'input_json_delta', partial_json: input })}`
  return (
    eventFrame('content_block_start', `${fields},"content_block":${JSON.stringify(begun)}`) +
    (input === '' ? '' : eventFrame('content_block_delta', delta)) +
    eventFrame('content_block_stop', fields)
  )
}

/** A whole block of this wire's own kinds; undefined for one that only another wire can show. */
export function ownBlock(of: Opaque | undefined): JsonObject | undefined {
  return of?.dialect === WIRE ? { ...of.data, type: of.data.type ?? of.type } : undefined
}

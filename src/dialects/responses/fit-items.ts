/** Input items as one provider takes them, in the pass lane and behind the translation alike. */
import { hash } from 'node:crypto'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { argumentsText, NO_ARGUMENTS } from '../canon/call-arguments.ts'
import { isMarked, ownReasoning } from '../canon/reasoning-owner.ts'
import type { Target } from '../types.ts'

/** Items of the gateway's own tools (`router:web_search`) mean nothing to a provider. */
function isGatewayItem(item: JsonObject): boolean {
  return typeof item.type === 'string' && item.type.includes(':')
}

/** True for output of the model: messages and calls. */
function isSpoken({ type, role }: JsonObject): boolean {
  return typeof type === 'string' && type !== 'message' ? type.endsWith('_call') : role === 'assistant'
}

/** True for what may stand between reasoning and what it led to. */
const isBetween = (item: Json | undefined): boolean => isObject(item) && (item.type === 'reasoning' || isGatewayItem(item))

/**
 * Without its encrypted content a provider that stores nothing does not know the item: "Item with id 'rs_…' not found". The open text of
 * a thought stands for it where the provider reads that (the quirk `unsigned_reasoning`).
 */
function isEmptyReasoning({ encrypted_content: encrypted, content }: JsonObject, { quirks }: Target): boolean {
  if ((encrypted ?? null) !== null) return false
  return quirks.unsigned_reasoning === false || !(Array.isArray(content) && content.length > 0)
}

/** Reasoning belongs in front of what it led to (recorded: test_openai_responses_thinking_with_modified_history). */
function isDangling(input: readonly Json[], at: number): boolean {
  let next = at + 1
  while (isBetween(input[next])) next++
  const item = input[next]
  return !isObject(item) || !(isSpoken(item) || String(item.type).startsWith('mcp_'))
}

/** @returns the name of what is left out, undefined where the item is sent. */
function findLoss(item: JsonObject, input: readonly Json[], at: number, target: Target): string | undefined {
  const type = String(item.type)
  if (isGatewayItem(item)) return type
  const { encrypted_content: encrypted } = item
  if (encrypted !== undefined && isMarked(encrypted) && ownReasoning(encrypted, target.account) === undefined) return type
  return type === 'reasoning' && (isEmptyReasoning(item, target) || isDangling(input, at)) ? type : undefined
}

/** Longer ids of calls are refused (github.com/earendil-works/pi/issues/1022). */
const MAX_CALL_ID_LENGTH = 64

/** The same short id for a call and its output, in every turn. */
const shortCallId = (id: string): string => `call_${hash('sha256', id, 'base64url')}`

/** Members of reasoning that gateways know and OpenAI does not (github.com/BerriAI/litellm/issues/13420: `status`). */
function withoutExtras({ status: _status, format: _format, signature: _signature, ...item }: JsonObject): JsonObject {
  return item
}

/** Beginnings of OpenAI's ids of a kind; it refuses others: "Expected an ID that begins with 'fc'" (github.com/nodetool-ai/nodetool/pull/4252). */
const PREFIXES: ReadonlyMap<unknown, string> = new Map([
  ['message', 'msg'],
  ['function_call', 'fc'],
  ['function_call_output', 'fc'],
])

/** True for an id of another provider's, which says nothing where items are not stored. */
function isStrangeId({ type, id }: JsonObject): boolean {
  const prefix = typeof id === 'string' ? PREFIXES.get(type) : undefined
  return prefix !== undefined && !String(id).startsWith(prefix)
}

/** OpenAI refuses a text beside what it encrypted: "Expected an array with maximum length 0" (musistudio/claude-code-router/issues/1783). */
function withoutText({ content: _content, ...item }: JsonObject): JsonObject {
  return item
}

/** Servers refuse an empty text (llama.cpp b11549, with 500). */
function hasNoArguments({ type, arguments: args }: JsonObject): boolean {
  return type === 'function_call' && argumentsText(args).trim() === ''
}

function fitted(item: JsonObject, { account, quirks }: Target): JsonObject {
  let fit = isStrangeId(item) ? withoutId(item) : item
  if (item.type === 'reasoning' && item.content !== undefined && quirks.unsigned_reasoning === false) fit = withoutText(fit)
  const { encrypted_content: encrypted, call_id: callId } = item
  if (encrypted !== undefined && isMarked(encrypted)) fit = { ...fit, encrypted_content: ownReasoning(encrypted, account) }
  if (typeof callId === 'string' && callId.length > MAX_CALL_ID_LENGTH) fit = { ...fit, call_id: shortCallId(callId) }
  if (hasNoArguments(item)) fit = { ...fit, arguments: NO_ARGUMENTS }
  if (item.role === 'developer' && quirks.developer === 'system') fit = { ...fit, role: 'system' }
  const hasExtras = item.status !== undefined || item.format !== undefined || item.signature !== undefined
  // A provider that takes the object `reasoning` is a gateway itself.
  return item.type === 'reasoning' && hasExtras && quirks.reasoning !== 'object' ? withoutExtras(fit) : fit
}

/**
 * Marks for the cache are taken by gpt-5.6 and later models; earlier ones refuse them (npm openai 7.57.0, `prompt_cache_options`;
 * developers.openai.com/api/docs/guides/prompt-caching, "How caching differs by model").
 */
function withoutMarks(item: JsonObject, dropped: string[]): JsonObject {
  for (const member of ['content', 'output'] as const) {
    const parts = item[member]
    if (!Array.isArray(parts) || !parts.some((part) => isObject(part) && part.prompt_cache_breakpoint !== undefined)) continue
    if (!dropped.includes('cache_control')) dropped.push('cache_control')
    return { ...item, [member]: parts.map((part) => (isObject(part) ? withoutMark(part) : part)) }
  }
  return item
}

function withoutMark({ prompt_cache_breakpoint: _mark, ...part }: JsonObject): JsonObject {
  return part
}

/** OpenAI refuses a call that it knows "without its required 'reasoning' item". */
function withoutId(item: JsonObject): JsonObject {
  if (item.id === undefined) return item
  const { id: _id, ...rest } = item
  return rest
}

/**
 * @param dropped receives the types of items that are left out.
 * @returns the same array where nothing changes.
 */
export function fitItems(input: Json[], target: Target, dropped: string[]): Json[] {
  let changed: Json[] | undefined
  let isAfterLoss = false
  for (const [index, item] of input.entries()) {
    let fit: Json | undefined = item
    if (isObject(item)) {
      const loss = findLoss(item, input, index, target)
      if (loss !== undefined && !dropped.includes(loss)) dropped.push(loss)
      if (item.type === 'reasoning') isAfterLoss = loss !== undefined
      else if (!isSpoken(item)) isAfterLoss = false
      fit = loss === undefined ? fitted(isAfterLoss ? withoutId(item) : item, target) : undefined
      if (fit && target.quirks.explicit_caching !== true) fit = withoutMarks(fit, dropped)
    }
    if (fit !== item) changed ??= input.slice(0, index)
    if (fit !== undefined) changed?.push(fit)
  }
  return changed ?? input
}

/** A chat request: its rules, by a schema and where a schema says them badly (docs/contract.md#chat-request), its cap and its reasoning. */
import { badField } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { isSet } from '../canon/error-shape.ts'
import type { Reasoning } from '../canon/request.ts'
import { checkFields } from '../canon/request-fields.ts'
import { switchesThinkingOff } from '../canon/thinking-switches.ts'
import { DOCUMENT_URL } from './file-parts.ts'
import { PROVIDER_TOOLS } from './provider-tools.ts'
import { chatShape } from './schema.ts'

/** Server tools that this operation does not offer, whatever the brand word before the colon. */
const RESPONSES_ONLY = new Set(['shell', 'tool_search', 'apply_patch'])

/** Web search by the provider itself, as other operations spell it. */
const NATIVE_SEARCH: ReadonlySet<string> = new Set([
  'web_search',
  'web_search_preview',
  'web_search_2025_08_26',
  'web_search_preview_2025_03_11',
])

/** The name behind `word:`, of a tool that the gateway runs; undefined for any other type. */
export function serverToolName(type: string): string | undefined {
  const colon = type.indexOf(':')
  return colon > 0 && colon < type.length - 1 ? type.slice(colon + 1) : undefined
}

/** The type of a tool or of the choice of one; what has none is a function. */
export const toolType = ({ type }: JsonObject): string => (typeof type === 'string' ? type : 'function')

/** @returns what stands under `custom`. */
function checkCustom({ custom }: JsonObject, at: string): JsonObject {
  if (!isObject(custom)) throw badField(`${at}.custom`, 'expected an object')
  if (typeof custom.name !== 'string' || custom.name === '') throw badField(`${at}.custom.name`, 'expected a name')
  return custom
}

function checkTools(tools: JsonObject[]): void {
  for (const [index, tool] of tools.entries()) {
    if (tool.type === undefined && tool.function === undefined) throw badField(`tools[${index}].type`, 'is required')
    const type = toolType(tool)
    if (type === 'function') {
      if (tool.function === undefined) throw badField(`tools[${index}].function`, 'is required')
      continue
    }
    if (type === 'custom') checkCustom(tool, `tools[${index}]`)
    const name = serverToolName(type)
    if (name === undefined && !NATIVE_SEARCH.has(type) && !PROVIDER_TOOLS.has(type) && !isObject(tool[type]))
      throw badField(`tools[${index}].type`, 'expected function or a server tool')
    if (name !== undefined && RESPONSES_ONLY.has(name))
      throw badField(`tools[${index}].type`, `${type} is not available on chat completions`)
  }
}

function checkReasoning(body: JsonObject): void {
  const effort = body.reasoning_effort
  const reasoning = body.reasoning && isObject(body.reasoning) ? body.reasoning : {}
  if (effort && reasoning.effort && effort !== reasoning.effort)
    throw badField('reasoning_effort', `contradicts reasoning.effort (${String(reasoning.effort)})`)
  if (reasoning.enabled === false && (effort || reasoning.effort) && (effort || reasoning.effort) !== 'none')
    throw badField('reasoning.enabled', 'contradicts the requested effort')
}

/** @throws Fault 400 naming the field and what was expected. */
export function check(body: JsonObject): void {
  checkFields(chatShape, body)
  if (body.messages === undefined && body.prompt === undefined) throw badField('messages', 'is required')
  if (body.messages !== undefined && body.prompt !== undefined) throw badField('prompt', 'expected either messages or prompt')
  if (Array.isArray(body.messages)) checkMessages(body.messages as JsonObject[])
  if (Array.isArray(body.tools)) checkTools(body.tools as JsonObject[])
  if (body.reasoning_effort || body.reasoning) checkReasoning(body)
  const wantsTop = typeof body.top_logprobs === 'number' && body.top_logprobs > 0
  if (wantsTop && body.logprobs !== true && typeof body.logprobs !== 'number') throw badField('top_logprobs', 'needs logprobs: true')
  if (body.store === true) throw badField('store', 'only false is supported: answers are not stored')
  if (typeof body.n === 'number' && body.n !== 1) throw badField('n', 'expected 1: one choice per request')
  // Servers that take it write, and bill, that many answers for one (`CompletionCreateParams`, npm @perplexity-ai/perplexity_ai 0.38.5).
  if (body.best_of !== undefined && isSet(body.best_of) && body.best_of !== 1)
    throw badField('best_of', 'expected 1: one choice per request')
  if (body.tool_choice && isObject(body.tool_choice)) checkToolChoice(body.tool_choice)
}

function checkToolChoice(choice: JsonObject): void {
  if (choice.type === undefined && choice.function === undefined) throw badField('tool_choice.type', 'is required')
  if (choice.type === 'function' && choice.function === undefined) throw badField('tool_choice.function', 'is required')
}

/** For each known part type: the object that it holds, and the string fields of which one must be there. */
const PARTS: ReadonlyMap<string, { field: string; needs: readonly string[] }> = new Map([
  ['image_url', { field: 'image_url', needs: ['url'] }],
  ['video_url', { field: 'video_url', needs: ['url'] }],
  ['input_video', { field: 'video_url', needs: ['url'] }],
  ['input_audio', { field: 'input_audio', needs: ['data'] }],
  ['file', { field: 'file', needs: ['file_data', 'file_id'] }],
])

function checkPart(part: JsonObject, at: string): void {
  const type = part.type as string
  if (type === 'text') {
    if (typeof part.text !== 'string') throw badField(`${at}.text`, 'expected a string')
    return
  }
  if (type === DOCUMENT_URL && (typeof part.document_url !== 'string' || part.document_url === ''))
    throw badField(`${at}.document_url`, 'expected a string that is not empty')
  const rule = PARTS.get(type)
  if (!rule) return
  const held = part[rule.field]
  if (!isObject(held)) throw badField(`${at}.${rule.field}`, 'expected an object')
  const found = rule.needs.some((name) => typeof held[name] === 'string' && held[name] !== '')
  if (!found) throw badField(`${at}.${rule.field}.${rule.needs[0]}`, 'expected a string that is not empty')
}

function checkCalls(calls: Json, at: string): void {
  if (!Array.isArray(calls)) return
  for (const [index, call] of (calls as JsonObject[]).entries()) {
    if (call.type === 'custom') {
      const { input } = checkCustom(call, `${at}.tool_calls[${index}]`)
      if (typeof input !== 'string') throw badField(`${at}.tool_calls[${index}].custom.input`, 'expected a string')
    }
    if (call.type !== undefined && call.type !== 'function' && !isObject(call.function)) continue
    const where = `${at}.tool_calls[${index}].function`
    if (!isObject(call.function)) throw badField(where, 'expected an object')
    if (typeof call.function.name !== 'string' || call.function.name === '') throw badField(`${where}.name`, 'expected a name')
    if (call.function.arguments !== undefined && typeof call.function.arguments !== 'string')
      throw badField(`${where}.arguments`, 'expected a string of JSON')
  }
}

const isNamed = ({ name }: JsonObject): boolean => typeof name === 'string' && name !== ''

/**
 * Rules of messages that depend on the role or on the type of a part.
 * @throws Fault 400 naming the field, such as `messages[2].content[0].image_url.url`.
 */
function checkMessages(messages: JsonObject[]): void {
  for (const [i, message] of messages.entries()) {
    const { role, content } = message
    if (content === undefined || content === null) {
      if (role !== 'assistant' && !(role === 'function' && content === null)) throw badField(`messages[${i}].content`, 'is required')
    } else if (typeof content !== 'string') {
      for (const [index, part] of (content as JsonObject[]).entries()) checkPart(part, `messages[${i}].content[${index}]`)
    }
    if (role === 'tool' && typeof message.tool_call_id !== 'string') throw badField(`messages[${i}].tool_call_id`, 'is required')
    if (role === 'function' && !isNamed(message)) throw badField(`messages[${i}].name`, 'expected the name of the function')
    if (message.tool_calls) checkCalls(message.tool_calls, `messages[${i}]`)
  }
}

/** The output cap that the caller requested; the newer of the two names wins. */
export function requestedCap(body: JsonObject): number | undefined {
  const cap = body.max_completion_tokens ?? body.max_tokens
  return typeof cap === 'number' ? cap : undefined
}

/**
 * `reasoning`, its shorthand `reasoning_effort`, the legacy `include_reasoning` and, where nothing else says whether to think, switches
 * of single servers as one value; undefined where the caller sent none of them.
 */
export function requestedReasoning(body: JsonObject): Reasoning | undefined {
  const sent = body.reasoning && isObject(body.reasoning) ? body.reasoning : undefined
  const effort = sent?.effort ?? body.reasoning_effort
  const isOff = isSwitchedOff(body)
  if (!sent && !isOff && typeof effort !== 'string' && typeof body.include_reasoning !== 'boolean') return undefined
  const reasoning: Reasoning = isOff ? { enabled: false } : {}
  if (typeof effort === 'string') reasoning.effort = effort
  if (typeof sent?.max_tokens === 'number') reasoning.maxTokens = sent.max_tokens
  if (typeof sent?.enabled === 'boolean') reasoning.enabled = sent.enabled
  if (typeof sent?.summary === 'string') reasoning.summary = sent.summary
  if (hidesReasoning(body)) reasoning.exclude = true
  return reasoning
}

/** True where a switch of some server alone says that the model is not to think. */
export const isSwitchedOff = (body: JsonObject): boolean =>
  !(body.reasoning && isObject(body.reasoning)) && typeof body.reasoning_effort !== 'string' && switchesThinkingOff(body)

/** True where the reply must carry no reasoning; its tokens still count. */
export function hidesReasoning(body: JsonObject): boolean {
  const exclude = body.reasoning && isObject(body.reasoning) ? body.reasoning.exclude : undefined
  return exclude === true || (body.include_reasoning === false && exclude !== false)
}

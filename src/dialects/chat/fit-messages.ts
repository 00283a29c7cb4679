/** What a provider takes of a conversation beside its words: seals of reasoning, marks for the cache, names of authors. */

import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { Quirks } from '../quirks.ts'

const FIELDS = ['reasoning', 'reasoning_content', 'reasoning_details'] as const

/** Families that seal on wires of their own; a provider of this one can open none of their seals, unless it is a gateway itself. */
const OTHER_FAMILIES = /claude|gemini|responses/

/** How this gateway wraps what it carries for another family; never meant for a provider. */
const WRAPPED = 'hg.'

/** What the endpoint requires of the messages of one body. */
export interface MessageFit {
  /** The quirk `reasoning_replay`: undefined, `details`, `none`, or the name of a plain text field. */
  replay: string | undefined
  /** The provider is a gateway itself: it hands seals on to whichever family made them, and knows tools of its own. */
  everySeal: boolean
  /** Marks go as `prompt_cache_breakpoint`; else as `cache_control`. */
  breakpoints: boolean
  /** Messages go without the name of their author. */
  nameless: boolean
}

/** In the quirk `drop`, and in the report of what was left out. */
const NAMES = 'messages.name'

export function messageFit(quirks: Quirks): MessageFit {
  const replay = quirks.reasoning_replay
  return {
    replay,
    everySeal: replay === 'details' || quirks.reasoning === 'object',
    breakpoints: quirks.explicit_caching === true,
    nameless: quirks.drop?.includes(NAMES) === true,
  }
}

const isSeal = (detail: JsonObject): boolean => detail.type === 'reasoning.encrypted' || (detail.signature ?? null) !== null

function opensHere({ data, format }: JsonObject, fit: MessageFit): boolean {
  if (typeof data === 'string' && data.startsWith(WRAPPED)) return false
  return fit.everySeal || typeof format !== 'string' || !OTHER_FAMILIES.test(format)
}

/** A call of a tool that a gateway ran, which means nothing to a provider that is no gateway. */
const isGatewayCall = (detail: JsonObject): boolean => detail.type === 'reasoning.server_tool_call'

/** The details that the provider can use: of a foreign seal only its text is left. */
function ownDetails(details: JsonObject[], fit: MessageFit): JsonObject[] {
  const kept: JsonObject[] = []
  for (const detail of details) {
    if (isGatewayCall(detail) && !fit.everySeal) continue
    if (!isSeal(detail) || opensHere(detail, fit)) kept.push(detail)
    else if (typeof detail.text === 'string' && detail.text !== '') {
      const { signature: _signature, format: _format, ...plain } = detail
      kept.push(plain)
    }
  }
  return kept
}

function fitReasoning(message: JsonObject, fit: MessageFit, dropped: Set<string>): JsonObject {
  const details = Array.isArray(message.reasoning_details) ? message.reasoning_details.filter(isObject) : []
  if (fit.replay === undefined || fit.replay === 'details') {
    const foreign = details.some((detail) => isSeal(detail) && !opensHere(detail, fit))
    const hasGatewayCalls = !fit.everySeal && details.some(isGatewayCall)
    if (!foreign && !hasGatewayCalls) return message
    if (foreign) dropped.add('reasoning')
    if (hasGatewayCalls) dropped.add('reasoning_detail')
    const fitted: JsonObject = { ...message, reasoning_details: ownDetails(details, fit) }
    if (Array.isArray(fitted.reasoning_details) && fitted.reasoning_details.length === 0) delete fitted.reasoning_details
    return fitted
  }
  const { reasoning, reasoning_content, reasoning_details: _details, ...rest } = message
  const plain = reasoning ?? reasoning_content
  if (fit.replay === 'none' || details.some(isSeal)) dropped.add('reasoning')
  if (fit.replay !== 'none' && typeof plain === 'string' && plain !== '') rest[fit.replay] = plain
  return rest
}

function fitMark(part: JsonObject, fit: MessageFit, dropped: Set<string>): JsonObject {
  const { cache_control: control, prompt_cache_breakpoint: point, ...rest } = part
  if (fit.breakpoints && isObject(control)) {
    if (control.ttl !== undefined) dropped.add('cache_control.ttl')
    return { ...rest, prompt_cache_breakpoint: isObject(point) ? point : { mode: 'explicit' } }
  }
  if (fit.breakpoints || !isObject(point)) return part
  if (point.ttl !== undefined) dropped.add('prompt_cache_breakpoint.ttl')
  return { ...rest, cache_control: isObject(control) ? control : { type: 'ephemeral' } }
}

/** Parts in the provider's form; the same array where nothing changes. */
function fitParts(parts: Json[], fit: MessageFit, dropped: Set<string>): Json[] {
  const unfit = fit.breakpoints ? 'cache_control' : 'prompt_cache_breakpoint'
  if (!parts.some((part) => isObject(part) && isObject(part[unfit]))) return parts
  return parts.map((part) => (isObject(part) ? fitMark(part, fit, dropped) : part))
}

function fitMessage(message: JsonObject, fit: MessageFit, dropped: Set<string>): JsonObject {
  let fitted = message
  if (message.role === 'assistant' && FIELDS.some((name) => message[name] !== undefined)) fitted = fitReasoning(message, fit, dropped)
  if (fit.nameless && fitted.name !== undefined) {
    const { name: _name, ...rest } = fitted
    dropped.add(NAMES)
    fitted = rest
  }
  if (!Array.isArray(message.content)) return fitted
  const content = fitParts(message.content, fit, dropped)
  return content === message.content ? fitted : { ...fitted, content }
}

/**
 * Messages as the provider takes them; the caller's own are never touched.
 * @param dropped receives the names of what is left out.
 * @returns the same array where nothing changes.
 */
export function fitMessages(messages: Json | undefined, fit: MessageFit, dropped: Set<string>): Json | undefined {
  if (!Array.isArray(messages)) return messages
  let changed: Json[] | undefined
  for (let i = 0; i < messages.length; i++) {
    const message = messages[i]
    const fitted = isObject(message) ? fitMessage(message, fit, dropped) : message
    if (fitted === message) continue
    changed ??= [...messages]
    changed[i] = fitted
  }
  return changed ?? messages
}

/** Tools without their marks, where the provider has no field for them. */
export function fitTools(tools: Json | undefined, fit: MessageFit, dropped: Set<string>): Json | undefined {
  if (!fit.breakpoints || !Array.isArray(tools) || !tools.some((tool) => isObject(tool) && isObject(tool.cache_control))) return tools
  dropped.add('cache_control')
  return tools.map((tool) => {
    if (!isObject(tool)) return tool
    const { cache_control: _mark, ...rest } = tool
    return rest
  })
}

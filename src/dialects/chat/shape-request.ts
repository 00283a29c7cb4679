/** What an endpoint wants of a chat body: one function for the pass and the translate lane. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { effortForBudget, nearestEffort } from '../canon/efforts.ts'
import { type CapWire, sendsCap } from '../canon/output-cap.ts'
import type { Reasoning } from '../canon/request.ts'
import { losesTier, takeTierWords, tierToSend } from '../canon/service-tier.ts'
import { fitUser } from '../canon/user.ts'
import type { Quirks } from '../quirks.ts'
import type { Target } from '../types.ts'
import { requestedCap, requestedReasoning } from './decode-request.ts'
import { SAMPLING } from './wire.ts'

/**
 * Parameters that an endpoint may lack, each with its canonical names; some have two. Those without one no provider of this
 * wire takes.
 */
const STRIPPABLE: ReadonlyMap<string, readonly string[]> = new Map([
  ...SAMPLING.map(([field]): [string, string[]] => [field, [field]]),
  ['stop', ['stop']],
  ['tools', ['tools']],
  ['tool_choice', ['tool_choice']],
  ['response_format', ['response_format', 'structured_outputs']],
  ['verbosity', ['verbosity']],
  ['web_search_options', ['web_search_options']],
  ['prediction', ['prediction']],
  ['metadata', []],
  ['image_config', []],
  ['cache_control', []],
])

/** V8 keeps an object fast as long as nothing is deleted from it. */
function remove(body: JsonObject, field: string): void {
  if (body[field] !== undefined) delete body[field]
}

/** Takes a field out and names it, unless it says nothing. */
function leaveOut(body: JsonObject, field: string, dropped: string[]): void {
  if (body[field] === undefined) return
  if (body[field] !== null) dropped.push(field)
  delete body[field]
}

function fitConversation(body: JsonObject, quirks: Quirks, dropped: string[]): void {
  const fit = messageFit(quirks)
  const lost = new Set<string>()
  const messages = fitMessages(body.messages, fit, lost)
  const tools = fitTools(body.tools, fit, lost)
  if (messages !== body.messages) body.messages = messages
  if (tools !== body.tools) body.tools = tools
  for (const name of lost) if (!dropped.includes(name)) dropped.push(name)
}

function strip(body: JsonObject, target: Target, dropped: string[]): void {
  if (!Array.isArray(body.tools) || body.tools.length === 0) {
    // Providers refuse an empty list, and settings of tools without any.
    remove(body, 'tools')
    remove(body, 'tool_choice')
    remove(body, 'parallel_tool_calls')
  }
  // A body has fewer fields than an endpoint may lack.
  for (const field in body) {
    const names = STRIPPABLE.get(field)
    if (names === undefined) continue
    if (names.length === 0 || body[field] === null) leaveOut(body, field, dropped)
    else if (target.supported && !names.some((name) => target.supported?.has(name))) leaveOut(body, field, dropped)
  }
  if (target.quirks.explicit_caching !== true || body.prompt_cache_options === null) leaveOut(body, 'prompt_cache_options', dropped)
  if (body.tools === undefined) {
    remove(body, 'tool_choice')
    remove(body, 'parallel_tool_calls')
  }
}

const CAP_FIELDS = ['max_completion_tokens', 'max_tokens'] as const
const CAP_FIELDS_OLD = ['max_tokens', 'max_completion_tokens'] as const

const capFields = (quirks: Quirks) => (quirks.max_tokens_field === 'max_completion_tokens' ? CAP_FIELDS : CAP_FIELDS_OLD)

export const chatCap: CapWire = {
  sends: (rules, held) => sendsCap(rules, capFields(rules.quirks)[0], held),
  written: requestedCap,
}

function setCap(body: JsonObject, target: Target, dropped: string[]): void {
  const requested = requestedCap(body)
  const [field, other] = capFields(target.quirks)
  remove(body, other)
  const { outputCap } = target
  const cap = outputCap === undefined ? requested : Math.min(requested ?? outputCap, outputCap)
  if (cap !== undefined && chatCap.sends(target, outputCap !== undefined)) body[field] = cap
  else {
    remove(body, field)
    if (requested !== undefined) dropped.push('max_tokens')
  }
}

function reasoningObject(requested: Reasoning, quirks: Quirks): JsonObject {
  const out: JsonObject = {}
  if (requested.effort !== undefined) out.effort = nearestEffort(requested.effort, quirks.efforts)
  if (requested.maxTokens !== undefined) out.max_tokens = requested.maxTokens
  if (requested.enabled !== undefined) out.enabled = requested.enabled
  if (requested.summary !== undefined) out.summary = requested.summary
  return out
}

/** `exclude` never goes upstream: the gateway itself leaves reasoning out of the reply. */
function setReasoning(body: JsonObject, target: Target, dropped: string[]): void {
  const requested = requestedReasoning(body)
  remove(body, 'reasoning')
  remove(body, 'reasoning_effort')
  if (!requested || (requested.effort ?? requested.maxTokens ?? requested.enabled ?? requested.summary) === undefined) return
  const { supported, quirks } = target
  if (supported && !supported.has('reasoning') && !supported.has('reasoning_effort')) {
    dropped.push('reasoning')
    return
  }
  if (quirks.reasoning === 'object') {
    body.reasoning = reasoningObject(requested, quirks)
    return
  }
  if (requested.summary !== undefined) dropped.push('reasoning.summary')
  if (requested.maxTokens !== undefined) dropped.push('reasoning.max_tokens')
  let { effort } = requested
  if (effort === undefined && requested.enabled === false) effort = 'none'
  else if (effort === undefined && requested.maxTokens !== undefined)
    effort = effortForBudget(requested.maxTokens, requestedCap(body), quirks.efforts)
  else if (effort === undefined && requested.enabled === true) effort = 'medium'
  if (effort !== undefined) body.reasoning_effort = nearestEffort(effort, quirks.efforts)
}

function setTier(body: JsonObject, { tier }: Target, dropped: string[]): void {
  const { service_tier: requested } = body
  if (losesTier(requested, tier)) dropped.push('service_tier')
  const sent = tierToSend(requested, tier)
  if (sent !== undefined) body.service_tier = sent
  else remove(body, 'service_tier')
  takeTierWords(body, tier, dropped)
}

/**
 * Changes a chat body, which must be the caller's to change, into what goes to the target.
 * `include_reasoning` may still be in it; what the endpoint cannot take is named in `dropped`.
 */
export function shapeRequest(body: JsonObject, target: Target, dropped: string[]): void {
  body.model = target.model
  fitConversation(body, target.quirks, dropped)
  setReasoning(body, target, dropped)
  remove(body, 'include_reasoning')
  setCap(body, target, dropped)
  strip(body, target, dropped)
  if (body.safety_identifier === null) delete body.safety_identifier
  fitUser(body, target.user, dropped)
  if (body.store === null) delete body.store
  if (body.n !== undefined) delete body.n
  setTier(body, target, dropped)
  if (target.stream) {
    body.stream = true
    body.stream_options = isObject(body.stream_options) ? { ...body.stream_options, include_usage: true } : { include_usage: true }
  } else {
    remove(body, 'stream')
    remove(body, 'stream_options')
  }
  const { drop } = target.quirks
  if (drop === undefined) return
  for (const name of drop) {
    if (body[name] === undefined) continue
    delete body[name]
    if (name !== 'stream_options') dropped.push(name)
  }
}

const FIELDS = ['reasoning', 'reasoning_content', 'reasoning_details'] as const

/** Families that encrypt or sign reasoning on wires of their own; a provider of this one cannot read theirs, unless it is a gateway itself. */
const OTHER_FAMILIES = /claude|gemini|responses/

/** How this gateway wraps what it carries for another family; never meant for a provider. */
const WRAPPED = 'hg.'

/** What the endpoint requires of the messages of one body. */
interface MessageFit {
  /** The quirk `reasoning_replay`: undefined, `details`, `none`, or the name of a plain text field. */
  replay: string | undefined
  /** The provider is a gateway itself: it passes encrypted reasoning on to the family that made it, and knows tools of its own. */
  everyFamily: boolean
  /** Marks go as `prompt_cache_breakpoint`; else as `cache_control`. */
  breakpoints: boolean
  /** Messages go without the name of their author. */
  nameless: boolean
}

/** In the quirk `drop`, and in the report of what was left out. */
const NAMES = 'messages.name'

/** What a provider takes of a conversation beside its words: encrypted reasoning, marks for the cache, names of authors. */
function messageFit(quirks: Quirks): MessageFit {
  const replay = quirks.reasoning_replay
  return {
    replay,
    everyFamily: replay === 'details' || quirks.reasoning === 'object',
    breakpoints: quirks.explicit_caching === true,
    nameless: quirks.drop?.includes(NAMES) === true,
  }
}

const isBound = (detail: JsonObject): boolean => detail.type === 'reasoning.encrypted' || (detail.signature ?? null) !== null

function opensHere({ data, format }: JsonObject, fit: MessageFit): boolean {
  if (typeof data === 'string' && data.startsWith(WRAPPED)) return false
  return fit.everyFamily || typeof format !== 'string' || !OTHER_FAMILIES.test(format)
}

/** A call of a tool that a gateway ran, which means nothing to a provider that is no gateway. */
const isGatewayCall = (detail: JsonObject): boolean => detail.type === 'reasoning.server_tool_call'

/** The details that the provider can use: of reasoning of another family only the text is left. */
function ownDetails(details: JsonObject[], fit: MessageFit): JsonObject[] {
  const kept: JsonObject[] = []
  for (const detail of details) {
    if (isGatewayCall(detail) && !fit.everyFamily) continue
    if (!isBound(detail) || opensHere(detail, fit)) kept.push(detail)
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
    const foreign = details.some((detail) => isBound(detail) && !opensHere(detail, fit))
    const hasGatewayCalls = !fit.everyFamily && details.some(isGatewayCall)
    if (!foreign && !hasGatewayCalls) return message
    if (foreign) dropped.add('reasoning')
    if (hasGatewayCalls) dropped.add('reasoning_detail')
    const fitted: JsonObject = { ...message, reasoning_details: ownDetails(details, fit) }
    if (Array.isArray(fitted.reasoning_details) && fitted.reasoning_details.length === 0) delete fitted.reasoning_details
    return fitted
  }
  const { reasoning, reasoning_content, reasoning_details: _details, ...rest } = message
  const plain = reasoning ?? reasoning_content
  if (fit.replay === 'none' || details.some(isBound)) dropped.add('reasoning')
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
function fitMessages(messages: Json | undefined, fit: MessageFit, dropped: Set<string>): Json | undefined {
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
function fitTools(tools: Json | undefined, fit: MessageFit, dropped: Set<string>): Json | undefined {
  if (!fit.breakpoints || !Array.isArray(tools) || !tools.some((tool) => isObject(tool) && isObject(tool.cache_control))) return tools
  dropped.add('cache_control')
  return tools.map((tool) => {
    if (!isObject(tool)) return tool
    const { cache_control: _mark, ...rest } = tool
    return rest
  })
}

/**
 * Fits a chat body to an endpoint: one function for the pass and the translate lane. This file has the steps for every body;
 * `fit-messages.ts` and `fit-forms.ts` change what some providers do not take.
 */
import { asObjects, asString, isObject, type Json, type JsonObject } from '../../core/json.ts'
import { PARAMETER_NAMES, PARAMETERS, type ParameterName } from '../../core/parameters.ts'
import { fitFormat, fitFunctions } from '../canon/closed-schema.ts'
import { effortForBudget, nearestEffort } from '../canon/efforts.ts'
import type { Reasoning } from '../canon/request.ts'
import { type CapWire, fitTier, fitUser, leaveOut, sendsCap } from '../canon/request-fields.ts'
import type { Quirks } from '../quirks.ts'
import type { Target } from '../types.ts'
import { withSchemaObjects } from './boolean-schemas.ts'
import { isSwitchedOff, requestedCap, requestedReasoning } from './check.ts'
import { DOCUMENT_URL } from './file-parts.ts'
import {
  fitLogprobs,
  formatSchema,
  withAnyObject,
  withOneSystem,
  withoutLoose,
  withoutNull,
  withoutSchema,
  withoutStrict,
  withParameters,
  writeMfjs,
} from './fit-forms.ts'
import { fitAssistant, fitParts, type MessageFit, shortId, withAssistantAfterTools, withJoinedText, withoutMedia } from './fit-messages.ts'
import { fitSwitches, knownWay, switchThinkingOff } from './no-thinking.ts'
import { chatParameters } from './parameters.ts'
import { requestRunningUsage } from './running-usage.ts'

/** Parameters that code of their own leaves out. */
const OWN: ReadonlySet<ParameterName> = new Set(['max_tokens', 'reasoning', 'structured_outputs'])

/** Canonical names of the parameters that an endpoint may lack, by field; those without one no provider of this wire takes. */
const STRIPPABLE: ReadonlyMap<string, readonly string[]> = new Map(
  PARAMETER_NAMES.flatMap((name): [string, readonly string[]][] => {
    const { listed, alias } = PARAMETERS[name]
    const row = chatParameters[name]
    if (!('as' in row)) return row.field === undefined ? [] : [[row.field, []]]
    return listed === undefined || OWN.has(name) ? [] : [[row.as, alias === undefined ? [name] : [name, alias]]]
  }),
)

/** V8 keeps an object fast as long as nothing is deleted from it. */
function remove(body: JsonObject, field: string): void {
  if (body[field] !== undefined) delete body[field]
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
  const { prompt_cache_options: caching } = body
  if (caching === null || (caching !== undefined && target.quirks.explicit_caching !== true))
    leaveOut(body, 'prompt_cache_options', dropped)
  if (body.tools === undefined) {
    remove(body, 'tool_choice')
    remove(body, 'parallel_tool_calls')
  }
  if (target.quirks.most_stops !== undefined) fitStops(body, target.quirks.most_stops, dropped)
  if (body.tool_choice !== undefined) fitChoice(body, target.quirks, dropped)
  if (target.quirks.effort_with_tools === false && body.tools !== undefined && body.reasoning_effort !== undefined) {
    delete body.reasoning_effort
    dropped.push('reasoning.effort')
  }
}

/** More than the provider takes are looked for in the answer; empty ones are none. */
function fitStops(body: JsonObject, most: number, dropped: string[]): void {
  if (!Array.isArray(body.stop) || body.stop.length <= most) return
  const written = body.stop.filter((sequence) => sequence !== '')
  if (written.length <= most) body.stop = written
  else leaveOut(body, 'stop', dropped)
}

function fitChoice(body: JsonObject, quirks: Quirks, dropped: string[]): void {
  const { tool_choice: choice } = body
  const onlyAuto = quirks.tool_choice === 'auto'
  if ((onlyAuto || quirks.forced_tools === false) && (isObject(choice) || choice === 'required')) {
    body.tool_choice = 'auto'
    dropped.push('tool_choice')
  } else if (onlyAuto && choice === 'none') {
    // Without tools the model cannot call one, as the caller wants it.
    remove(body, 'tools')
    remove(body, 'tool_choice')
    remove(body, 'parallel_tool_calls')
  } else if (quirks.tool_choice === 'words' && isObject(body.tool_choice)) chooseInWords(body, body.tool_choice, dropped)
}

/** Offers the named tools alone, which a word then chooses from; where none of them is offered, the choice is lost. */
function chooseInWords(body: JsonObject, choice: JsonObject, dropped: string[]): void {
  const allowed = isObject(choice.allowed_tools) ? choice.allowed_tools : undefined
  const names = new Set((allowed ? asObjects(allowed.tools) : [choice]).map(nameIn).filter((name) => name !== undefined))
  const named = asObjects(body.tools).filter((tool) => names.has(nameIn(tool) ?? ''))
  if (named.length > 0) {
    body.tools = named
    body.tool_choice = allowed && allowed.mode !== 'required' ? 'auto' : 'required'
    return
  }
  body.tool_choice = 'auto'
  dropped.push('tool_choice')
}

const nameIn = ({ function: named }: JsonObject): string | undefined => (isObject(named) ? asString(named.name) : undefined)

const CAP_FIELDS = ['max_completion_tokens', 'max_tokens'] as const
const CAP_FIELDS_OLD = ['max_tokens', 'max_completion_tokens'] as const

export const chatCap: CapWire = {
  sends: (rules, held) => sendsCap(rules, quirkRules(rules.quirks).capFields[0], held),
  written: requestedCap,
}

function setCap(body: JsonObject, target: Target, dropped: string[]): void {
  const hasCap = body.max_completion_tokens !== undefined || body.max_tokens !== undefined
  if (!hasCap && target.outputCap === undefined) return
  const requested = requestedCap(body)
  const [field, other] = quirkRules(target.quirks).capFields
  remove(body, other)
  const { outputCap } = target
  const cap = outputCap === undefined ? requested : Math.min(requested ?? outputCap, outputCap)
  if (cap !== undefined && chatCap.sends(target, outputCap !== undefined)) body[field] = cap
  else {
    remove(body, field)
    if (requested !== undefined) dropped.push('max_tokens')
  }
}

function takenEffort(requested: string, { efforts }: Quirks, dropped: string[]): string {
  const nearest = nearestEffort(requested, efforts)
  if (nearest !== requested) dropped.push('reasoning.effort')
  return nearest
}

function reasoningObject(requested: Reasoning, quirks: Quirks, dropped: string[]): JsonObject {
  const out: JsonObject = {}
  if (requested.effort !== undefined) out.effort = takenEffort(requested.effort, quirks, dropped)
  if (requested.maxTokens !== undefined) out.max_tokens = requested.maxTokens
  if (requested.enabled !== undefined) out.enabled = requested.enabled
  if (requested.summary !== undefined) out.summary = requested.summary
  return out
}

/** `exclude` never goes upstream: the gateway itself leaves reasoning out of the reply. */
function setReasoning(body: JsonObject, target: Target, dropped: string[]): void {
  const requested = requestedReasoning(body)
  const isSwitched = requested !== undefined && isSwitchedOff(body)
  remove(body, 'reasoning')
  remove(body, 'reasoning_effort')
  const { thinkingOff } = quirkRules(target.quirks)
  if (thinkingOff !== undefined) fitSwitches(body, thinkingOff, dropped)
  else if (isSwitched) return
  if (!requested || (requested.effort ?? requested.maxTokens ?? requested.enabled ?? requested.summary) === undefined) return
  const { supported, quirks } = target
  if (supported && !supported.has('reasoning') && !supported.has('reasoning_effort')) {
    dropped.push('reasoning')
    return
  }
  if (quirks.reasoning === 'object') {
    body.reasoning = reasoningObject(requested, quirks, dropped)
    return
  }
  if (requested.summary !== undefined) dropped.push('reasoning.summary')
  if (requested.maxTokens !== undefined) dropped.push('reasoning.max_tokens')
  let { effort } = requested
  if (effort === undefined && requested.enabled === false) effort = 'none'
  else if (effort === undefined && requested.maxTokens !== undefined)
    effort = effortForBudget(requested.maxTokens, requestedCap(body), quirks.efforts)
  else if (effort === undefined && requested.enabled === true) effort = 'medium'
  if (effort === 'none' && switchThinkingOff(body, quirks.thinking_off)) return
  if (effort !== undefined) body.reasoning_effort = takenEffort(effort, quirks, dropped)
}

/**
 * Changes a chat body, which must be the caller's to change, into what goes to the target.
 * `include_reasoning` may still be in it; what the endpoint cannot take is named in `dropped`.
 */
export function shapeRequest(body: JsonObject, target: Target, dropped: string[]): void {
  body.model = target.model
  fitConversation(body, target, dropped)
  setReasoning(body, target, dropped)
  remove(body, 'include_reasoning')
  setCap(body, target, dropped)
  strip(body, target, dropped)
  const { changesForms, changesSchemas } = quirkRules(target.quirks)
  if (changesForms || body.logprobs !== undefined) fitForms(body, target.quirks)
  if (changesSchemas) fitSchemas(body, target.quirks, dropped)
  if (body.safety_identifier === null) delete body.safety_identifier
  if (body.user !== undefined || body.safety_identifier !== undefined) fitUser(body, target, dropped)
  if (body.store === null) delete body.store
  if (body.n !== undefined) delete body.n
  fitTier(body, target, dropped)
  if (target.stream) {
    body.stream = true
    body.stream_options = { ...(body.stream_options as JsonObject | null | undefined), include_usage: true }
    if (target.quirks.running_usage !== undefined) requestRunningUsage(body, target.quirks)
  } else {
    remove(body, 'stream')
    remove(body, 'stream_options')
  }
  const drop = target.quirks.body?.drop
  if (drop === undefined) return
  for (const name of drop) {
    const value = body[name]
    if (value === undefined) continue
    delete body[name]
    if (name !== 'stream_options' && value !== null) dropped.push(name)
  }
}

const FORM_QUIRKS = ['one_system_message', 'null_content', 'tool_parameters', 'boolean_schemas', 'stop'] as const

/** Changes members of a body by those quirks; lists and messages of the caller's own are never touched. */
function fitForms(body: JsonObject, quirks: Quirks): void {
  if (quirks.one_system_message === true) body.messages = withOneSystem(body.messages)
  if (quirks.null_content === false) body.messages = withoutNull(body.messages)
  if (quirks.tool_parameters === 'required' && Array.isArray(body.tools)) body.tools = body.tools.map(withParameters)
  if (quirks.boolean_schemas === false && Array.isArray(body.tools)) body.tools = body.tools.map(withSchemaObjects)
  if (quirks.stop === 'list' && typeof body.stop === 'string') body.stop = [body.stop]
  if (typeof body.logprobs === 'boolean' || typeof body.logprobs === 'number') fitLogprobs(body, quirks.logprobs === 'count')
}

const SCHEMA_QUIRKS = ['json_schema', 'json_object', 'loose_schemas', 'strict_tools', 'schemas', 'closed_schemas'] as const

/** By those quirks changes `response_format`, `tools` and, for a schema in words, `messages` of a body; the caller's own are never touched. */
export function fitSchemas(body: JsonObject, quirks: Quirks, dropped: string[]): void {
  if (quirks.json_schema === 'json_object') withoutSchema(body, dropped)
  if (quirks.json_object === 'schema') withAnyObject(body)
  if (quirks.loose_schemas === false) withoutLoose(body, dropped)
  if (quirks.strict_tools === false) withoutStrict(body, dropped)
  if (quirks.schemas === 'mfjs') writeMfjs(body, dropped)
  if (quirks.closed_schemas !== true) return
  if (Array.isArray(body.tools)) body.tools = fitFunctions(body.tools, 'function', dropped)
  const described = formatSchema(body.response_format)
  const fitted = described && fitFormat(described, dropped)
  if (fitted !== described && fitted !== undefined) body.response_format = { type: 'json_schema', json_schema: fitted }
}

/** In the quirk `body.drop`, and in the report of what was left out: a field of each message. */
const MESSAGE_FIELD = 'messages.'

/** Rules that the quirks of an endpoint set for its bodies, computed once. */
interface QuirkRules {
  readonly messages: MessageFit
  /** The name of the cap that is sent, and the other one. */
  readonly capFields: typeof CAP_FIELDS | typeof CAP_FIELDS_OLD
  /** Known way to keep the provider from thinking; undefined where nothing says so, and a caller's own words pass. */
  readonly thinkingOff: string | undefined
  /** Some quirk of `fitForms`, or of `fitSchemas`, is set. */
  readonly changesForms: boolean
  readonly changesSchemas: boolean
}

const rules = new WeakMap<Quirks, QuirkRules>()

/** True for a provider that takes details of reasoning back, with what is signed and encrypted in them. */
export function replaysDetails(quirks: Quirks): boolean {
  return quirkRules(quirks).messages.replay === 'details'
}

function quirkRules(quirks: Quirks): QuirkRules {
  const known = rules.get(quirks)
  if (known) return known
  const found: QuirkRules = {
    messages: messageFit(quirks),
    capFields: quirks.max_tokens_field === 'max_completion_tokens' ? CAP_FIELDS : CAP_FIELDS_OLD,
    thinkingOff: knownWay(quirks),
    changesForms: FORM_QUIRKS.some((name) => quirks[name] !== undefined),
    changesSchemas: SCHEMA_QUIRKS.some((name) => quirks[name] !== undefined),
  }
  rules.set(quirks, found)
  return found
}

function messageFit(quirks: Quirks): MessageFit {
  const replay = quirks.reasoning_replay
  return {
    // A provider that takes the object `reasoning` is a gateway itself.
    replay: replay === 'none' ? undefined : (replay ?? (quirks.reasoning === 'object' ? 'details' : undefined)),
    isReplayRequired: quirks.reasoning_replay_required === true,
    takesDeveloper: quirks.developer === 'developer',
    takesToolMedia: quirks.tool_images === 'tool',
    takesTextParts: quirks.text_parts !== false,
    takesDocuments: quirks.file_parts === DOCUMENT_URL,
    takesUserAfterTool: quirks.after_tools !== 'assistant',
    shortIds: quirks.tool_ids === 'alphanumeric_9',
    mark: quirks.explicit_caching === true ? 'prompt_cache_breakpoint' : quirks.cache_control === true ? 'cache_control' : undefined,
    without: (quirks.body?.drop ?? []).filter((name) => name.startsWith(MESSAGE_FIELD)).map((name) => name.slice(MESSAGE_FIELD.length)),
  }
}

/** Fits messages and tools of a body, in place; the caller's own are never touched. @param dropped receives what is left out. */
function fitConversation(body: JsonObject, { quirks, account }: Pick<Target, 'quirks' | 'account'>, dropped: string[]): void {
  const fit = { ...quirkRules(quirks).messages, account }
  const lost = new Set<string>()
  const fitted = fitMessages(body.messages, fit, lost)
  const messages = fit.takesUserAfterTool ? fitted : withAssistantAfterTools(fitted)
  const tools = body.tools === undefined ? undefined : fitTools(body.tools, fit, lost)
  if (messages !== body.messages) body.messages = messages
  if (tools !== body.tools) body.tools = tools
  for (const name of lost) if (!dropped.includes(name)) dropped.push(name)
}

/** @returns the same array where nothing changes. */
function fitMessages(messages: Json | undefined, fit: MessageFit, dropped: Set<string>): Json | undefined {
  if (!Array.isArray(messages)) return messages
  let changed: Json[] | undefined
  // Media of tool results wait for the end of the run of results: nothing may stand between a call and its results.
  let waiting: JsonObject[] = []
  for (const [index, message] of (messages as JsonObject[]).entries()) {
    if (waiting.length > 0 && message.role !== 'tool') {
      changed?.push({ role: 'user', content: waiting })
      waiting = []
    }
    let fitted = fitMessage(message, fit, dropped)
    if (fitted.role === 'tool' && !fit.takesToolMedia) fitted = withoutMedia(fitted, waiting)
    if (!fit.takesTextParts) fitted = withJoinedText(fitted)
    if (fitted !== message) changed ??= messages.slice(0, index)
    changed?.push(fitted)
  }
  if (waiting.length > 0) changed?.push({ role: 'user', content: waiting })
  return changed ?? messages
}

function fitMessage(message: JsonObject, fit: MessageFit, dropped: Set<string>): JsonObject {
  let fitted = message
  if (message.role === 'assistant') fitted = fitAssistant(message, fit, dropped)
  else if (message.role === 'developer' && !fit.takesDeveloper) fitted = { ...message, role: 'system' }
  else if (fit.shortIds && message.role === 'tool') fitted = { ...message, tool_call_id: shortId(message.tool_call_id) }
  for (const name of fit.without) {
    if (fitted[name] === undefined) continue
    const { [name]: field, ...rest } = fitted
    // `refusal: null` and the like say nothing.
    if (field !== null) dropped.add(`${MESSAGE_FIELD}${name}`)
    fitted = rest
  }
  if (!Array.isArray(fitted.content)) return fitted
  const content = fitParts(fitted.content, fit, dropped)
  return content === fitted.content ? fitted : { ...fitted, content }
}

/** Tools without their marks, where the provider has no field for them. */
function fitTools(tools: Json | undefined, fit: MessageFit, dropped: Set<string>): Json | undefined {
  if (fit.mark === 'cache_control' || !Array.isArray(tools)) return tools
  if (!tools.some((tool) => isObject(tool) && isObject(tool.cache_control))) return tools
  dropped.add('cache_control')
  return tools.map((tool) => {
    if (!isObject(tool)) return tool
    const { cache_control: _mark, ...rest } = tool
    return rest
  })
}

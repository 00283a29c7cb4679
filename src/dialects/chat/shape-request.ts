/** What an endpoint wants of a chat body: one function for the pass and the translate lane. */
import { isObject, type Json, type JsonObject, objectsOf, stringOf } from '../../core/json.ts'
import { fitFormat, fitFunctions } from '../canon/closed-schema.ts'
import { effortForBudget, nearestEffort } from '../canon/efforts.ts'
import type { Reasoning } from '../canon/request.ts'
import { type CapWire, fitUser, losesTier, sendsCap, takeTierWords, tierToSend } from '../canon/request-fields.ts'
import type { Quirks } from '../quirks.ts'
import type { Target } from '../types.ts'
import { requestedCap, requestedReasoning } from './check.ts'
import { fitConversation } from './fit-conversation.ts'
import { MfjsFitter } from './mfjs.ts'
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
  fitChoice(body, target.quirks, dropped)
  if (target.quirks.effort_with_tools === false && body.tools !== undefined && body.reasoning_effort !== undefined) {
    delete body.reasoning_effort
    dropped.push('reasoning.effort')
  }
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
  const names = new Set((allowed ? objectsOf(allowed.tools) : [choice]).map(nameIn).filter((name) => name !== undefined))
  const named = objectsOf(body.tools).filter((tool) => names.has(nameIn(tool) ?? ''))
  if (named.length > 0) {
    body.tools = named
    body.tool_choice = allowed && allowed.mode !== 'required' ? 'auto' : 'required'
    return
  }
  body.tool_choice = 'auto'
  dropped.push('tool_choice')
}

const nameIn = ({ function: named }: JsonObject): string | undefined => (isObject(named) ? stringOf(named.name) : undefined)

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
  remove(body, 'reasoning')
  remove(body, 'reasoning_effort')
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
  if (effort !== undefined) body.reasoning_effort = takenEffort(effort, quirks, dropped)
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
  fitConversation(body, target, dropped)
  setReasoning(body, target, dropped)
  remove(body, 'include_reasoning')
  setCap(body, target, dropped)
  strip(body, target, dropped)
  fitForms(body, target.quirks)
  fitSchemas(body, target.quirks, dropped)
  if (body.safety_identifier === null) delete body.safety_identifier
  fitUser(body, target, dropped)
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
  const drop = target.quirks.body?.drop
  if (drop === undefined) return
  for (const name of drop) {
    const value = body[name]
    if (value === undefined) continue
    delete body[name]
    if (name !== 'stream_options' && value !== null) dropped.push(name)
  }
}

/** Changes members of a body; lists and messages of the caller's own are never touched. */
function fitForms(body: JsonObject, quirks: Quirks): void {
  if (quirks.one_system_message === true) body.messages = withOneSystem(body.messages)
  if (quirks.null_content === false) body.messages = withoutNull(body.messages)
  if (quirks.tool_parameters === 'required' && Array.isArray(body.tools)) body.tools = body.tools.map(withParameters)
  if (quirks.stop === 'list' && typeof body.stop === 'string') body.stop = [body.stop]
  if (quirks.logprobs === 'count' && typeof body.logprobs === 'boolean') countLogprobs(body)
}

const isSystem = (message: Json): message is JsonObject => isObject(message) && (message.role === 'system' || message.role === 'developer')

/** All system messages as one at the start, in their order. */
function withOneSystem(messages: Json | undefined): Json | undefined {
  if (!Array.isArray(messages)) return messages
  const systems = messages.filter(isSystem)
  const [first] = systems
  if (first === undefined || (systems.length === 1 && first === messages[0])) return messages
  return [{ ...first, content: joined(systems) }, ...messages.filter((message) => !isSystem(message))]
}

function joined(systems: readonly JsonObject[]): Json {
  const contents = systems.map(({ content }) => content)
  if (contents.every((content) => typeof content === 'string')) return contents.join('\n\n')
  return contents.flatMap((content): Json[] =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : Array.isArray(content) ? content : [],
  )
}

/** Assistant messages that only call have an empty text. */
function withoutNull(messages: Json | undefined): Json | undefined {
  if (!Array.isArray(messages)) return messages
  return messages.map((message) =>
    isObject(message) && message.role === 'assistant' && (message.content ?? null) === null ? { ...message, content: '' } : message,
  )
}

/** A function without parameters has an empty schema. */
function withParameters(tool: Json): Json {
  if (!isObject(tool) || !isObject(tool.function) || isObject(tool.function.parameters)) return tool
  return { ...tool, function: { ...tool.function, parameters: { type: 'object', properties: {} } } }
}

/** The number of alternatives stands in `logprobs` itself. */
function countLogprobs(body: JsonObject): void {
  const { top_logprobs: top, logprobs } = body
  delete body.top_logprobs
  if (logprobs === true) body.logprobs = typeof top === 'number' && top > 0 ? top : 1
  else delete body.logprobs
}

/** Changes `response_format`, `tools` and, for a schema in words, `messages` of a body; the caller's own are never touched. */
export function fitSchemas(body: JsonObject, quirks: Quirks, dropped: string[]): void {
  if (quirks.json_schema === 'json_object') withoutSchema(body, dropped)
  if (quirks.loose_schemas === false) withoutLoose(body, dropped)
  if (quirks.schemas === 'mfjs') writeMfjs(body, dropped)
  if (quirks.closed_schemas !== true) return
  if (Array.isArray(body.tools)) body.tools = fitFunctions(body.tools, 'function', dropped)
  const described = schemaOf(body.response_format)
  const fitted = described && fitFormat(described, dropped)
  if (fitted !== described && fitted !== undefined) body.response_format = { type: 'json_schema', json_schema: fitted }
}

/** Without `strict: false`, which some providers do not know. */
function withoutLoose(body: JsonObject, dropped: string[]): void {
  const described = schemaOf(body.response_format)
  if (described === undefined || described.strict === undefined || described.strict === true) return
  const { strict, ...json_schema } = described
  body.response_format = { type: 'json_schema', json_schema }
  if (strict === false) dropped.push('response_format.strict')
}

function writeMfjs(body: JsonObject, dropped: string[]): void {
  const lost = new Set<string>()
  const fitter = new MfjsFitter()
  if (Array.isArray(body.tools))
    body.tools = body.tools.map((tool) => {
      if (!isObject(tool) || !isObject(tool.function) || !isObject(tool.function.parameters)) return tool
      const parameters = fitter.fit(tool.function.parameters, true, (keyword) => lost.add(`tools.parameters.${keyword}`))
      return { ...tool, function: { ...tool.function, parameters } }
    })
  const described = schemaOf(body.response_format)
  if (described !== undefined && isObject(described.schema)) {
    const schema = fitter.fit(described.schema, false, (keyword) => lost.add(`response_format.schema.${keyword}`))
    body.response_format = { type: 'json_schema', json_schema: { ...described, schema } }
  }
  dropped.push(...lost)
}

function schemaOf(format: Json | undefined): JsonObject | undefined {
  return isObject(format) && format.type === 'json_schema' && isObject(format.json_schema) ? format.json_schema : undefined
}

/** JSON output without a schema: the model reads the schema among its instructions. */
function withoutSchema(body: JsonObject, dropped: string[]): void {
  const described = schemaOf(body.response_format)
  if (described === undefined) return
  body.response_format = { type: 'json_object' }
  const schema = described.schema === undefined ? '' : `, by this JSON Schema: ${JSON.stringify(described.schema)}`
  body.messages = withInstruction(body.messages, `Answer with a single JSON value and no other text${schema}`)
  dropped.push('response_format.json_schema')
}

/** Several providers take one system message, which stands first: the instruction joins it. */
function withInstruction(messages: Json | undefined, text: string): Json[] {
  const [first, ...rest] = Array.isArray(messages) ? messages : []
  if (!isObject(first) || (first.role !== 'system' && first.role !== 'developer'))
    return [{ role: 'system', content: text }, ...(first === undefined ? [] : [first]), ...rest]
  const { content } = first
  const joined =
    typeof content === 'string' ? `${content}\n\n${text}` : [...(Array.isArray(content) ? content : []), { type: 'text', text }]
  return [{ ...first, content: joined }, ...rest]
}

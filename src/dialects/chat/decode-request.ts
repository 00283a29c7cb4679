/** A checked chat body as a canonical request. */

import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { otherMembers, withNative } from '../canon/native.ts'
import type { CanonicalRequest, OutputFormat, Sampling, ToolChoice, ToolSpec } from '../canon/request.ts'
import { GATEWAY_KEYS } from '../canon/request-fields.ts'
import { requestedCap, requestedReasoning, serverToolName, toolType } from './check.ts'
import { decodeMessages } from './decode-messages.ts'
import { cacheMark } from './decode-parts.ts'
import { OWN_KEYS, SAMPLING, WIRE } from './wire.ts'

/** Fields that become canonical ones; the rest are extras. */
const NAMED: ReadonlySet<string> = new Set([
  ...SAMPLING.map(([wire]) => wire),
  ...OWN_KEYS,
  'model',
  'messages',
  'prompt',
  'stop',
  'max_tokens',
  'max_completion_tokens',
  'tools',
  'tool_choice',
  'response_format',
  'reasoning',
  'reasoning_effort',
  'verbosity',
  'service_tier',
  'modalities',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'metadata',
  'prediction',
  'image_config',
  'audio',
  'cache_control',
  'n',
])

/** Log probabilities where `logprobs` is the number of alternatives. */
function countedLogprobs({ logprobs, top_logprobs: top }: JsonObject, used: Set<string>): Record<string, Json> {
  const alternatives = top ?? logprobs ?? 0
  if (alternatives === 0) return { logprobs: true }
  used.add('top_logprobs')
  return { logprobs: true, topLogprobs: alternatives }
}

function sampling(body: JsonObject, used: Set<string>): Sampling {
  const out: Record<string, Json> = {}
  for (const [wire, canonical] of SAMPLING) {
    const value = body[wire]
    if (value === undefined || value === null) continue
    out[canonical] = value
    used.add(wire)
  }
  if (typeof body.logprobs === 'number') Object.assign(out, countedLogprobs(body, used))
  if (typeof body.stop === 'string') out.stop = [body.stop]
  else if (Array.isArray(body.stop)) out.stop = body.stop
  if (out.stop !== undefined) used.add('stop')
  const cap = requestedCap(body)
  if (cap !== undefined) {
    out.maxOutput = cap
    used.add('max_tokens')
  }
  return out as Sampling
}

const FUNCTION_KNOWN: ReadonlySet<string> = new Set(['name', 'description', 'parameters', 'strict'])

function functionTool(spec: JsonObject, described: JsonObject, beside: Set<string>): ToolSpec {
  const { name, description, parameters, strict } = described
  const out: ToolSpec = { kind: 'function', name: name as string }
  if (typeof description === 'string') out.description = description
  if (isObject(parameters)) out.parameters = parameters
  if (typeof strict === 'boolean') out.strict = strict
  const cache = cacheMark(spec)
  if (cache) out.cache = cache
  const others = otherMembers(described, FUNCTION_KNOWN)
  if (!others) return out
  for (const key in others) beside.add(`tools.function.${key}`)
  return withNative(out, { dialect: WIRE, type: 'function', data: others })
}

function tool(spec: JsonObject, beside: Set<string>): ToolSpec {
  const type = toolType(spec)
  if (type === 'function' && isObject(spec.function)) return functionTool(spec, spec.function, beside)
  const server = serverToolName(type)
  if (server === undefined) return { kind: 'opaque', of: { dialect: WIRE, type, data: spec } }
  return { kind: 'server', name: server, parameters: isObject(spec.parameters) ? spec.parameters : {} }
}

function toolChoice(choice: Json): ToolChoice | undefined {
  if (choice === 'any') return { mode: 'required' }
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { mode: choice }
  if (!isObject(choice)) return undefined
  const type = toolType(choice)
  if (type === 'function' && isObject(choice.function)) return { mode: 'named', name: choice.function.name as string }
  const server = serverToolName(type)
  return server === undefined ? { mode: 'opaque', of: { dialect: WIRE, type, data: choice } } : { mode: 'named', name: server }
}

function outputFormat(format: JsonObject, used: Set<string>): OutputFormat | undefined {
  const { type } = format
  if (type === 'text') return { type }
  if (type === 'json_object') {
    used.add('response_format')
    return { type }
  }
  if (type !== 'json_schema' || !isObject(format.json_schema)) return undefined
  used.add('response_format')
  used.add('structured_outputs')
  const { name, description, schema, strict } = format.json_schema
  const out: OutputFormat = { type }
  if (typeof name === 'string') out.name = name
  if (typeof description === 'string') out.description = description
  if (isObject(schema)) out.schema = schema
  if (typeof strict === 'boolean') out.strict = strict
  return out
}

function extras(body: JsonObject): JsonObject | undefined {
  let fields: JsonObject | undefined
  for (const key of Object.keys(body)) {
    if (NAMED.has(key) || GATEWAY_KEYS.has(key) || body[key] === null) continue
    fields ??= {}
    fields[key] = body[key]
  }
  return fields
}

function decodeTools(body: JsonObject, request: CanonicalRequest, beside: Set<string>): void {
  if (Array.isArray(body.tools) && body.tools.length > 0) {
    request.tools = (body.tools as JsonObject[]).map((spec) => tool(spec, beside))
    request.used.add('tools')
  }
  const choice = body.tool_choice === undefined ? undefined : toolChoice(body.tool_choice)
  if (choice) {
    request.toolChoice = choice
    request.used.add('tool_choice')
  }
}

/** Fields whose loss changes the answer, beside sampling, tools, format and reasoning. */
const COUNTED = ['web_search_options', 'prediction', 'audio', 'image_config', 'verbosity'] as const

function decodeSettings(body: JsonObject, request: CanonicalRequest): void {
  for (const name of COUNTED) if ((body[name] ?? null) !== null) request.used.add(name)
  if (typeof body.verbosity === 'string') request.verbosity = body.verbosity
  if (typeof body.service_tier === 'string') request.serviceTier = body.service_tier
  if (Array.isArray(body.modalities)) request.modalities = body.modalities as string[]
  if (typeof body.user === 'string') request.user = body.user
  if (typeof body.safety_identifier === 'string') request.safetyIdentifier = body.safety_identifier
  if (typeof body.prompt_cache_key === 'string') request.cacheKey = body.prompt_cache_key
  if (isObject(body.metadata)) request.metadata = body.metadata
  if (isObject(body.prediction)) request.prediction = body.prediction
  if (isObject(body.image_config)) request.imageConfig = body.image_config
  if (isObject(body.audio)) request.audio = body.audio
  const cache = body.cache_control === null ? null : cacheMark(body)
  if (cache !== undefined) request.cache = cache
}

/** @param body as the dialect's `check` has accepted it. */
export function decodeRequest(body: JsonObject): CanonicalRequest {
  const used = new Set<string>()
  const beside = new Set<string>()
  const items = decodeMessages(messagesOf(body), beside)
  const request: CanonicalRequest = { items, tools: [], sampling: sampling(body, used), stream: body.stream === true, used }
  decodeTools(body, request, beside)
  const reasoning = requestedReasoning(body)
  if (reasoning) {
    request.reasoning = reasoning
    if (reasoning.effort ?? reasoning.maxTokens ?? reasoning.enabled ?? reasoning.summary) used.add('reasoning')
  }
  let rest = extras(body)
  if (isObject(body.response_format)) {
    const format = outputFormat(body.response_format, used)
    if (format) request.format = format
    else {
      rest = { ...rest, response_format: body.response_format }
      used.add('response_format')
    }
  }
  decodeSettings(body, request)
  // Usage is reported always; only what else stands there is a wish of the caller's.
  const wishes = isObject(body.stream_options) ? Object.keys(body.stream_options) : []
  if (wishes.some((key) => key !== 'include_usage')) rest = { ...rest, stream_options: body.stream_options }
  for (const name of beside) rest = { ...rest, [name]: true }
  // Always there: it shows encoders that the caller speaks this wire.
  request.extras = { dialect: WIRE, fields: rest ?? {} }
  return request
}

/** The messages, or the legacy `prompt` as one. */
export function messagesOf(body: JsonObject): JsonObject[] {
  if (Array.isArray(body.messages)) return body.messages as JsonObject[]
  return [{ role: 'user', content: body.prompt }]
}

/** The caller's Responses body as a canonical request. */

import { isObject, type Json, type JsonObject, objectsOf, present, stringOf } from '../../core/json.ts'
import type { FunctionSpec } from '../canon/deferred-tools.ts'
import { otherMembers, withNative } from '../canon/native.ts'
import type { CanonicalRequest, OutputFormat, Reasoning, Sampling, ToolChoice, ToolSpec } from '../canon/request.ts'
import { GATEWAY_KEYS } from '../canon/request-fields.ts'
import { addedFunctions } from './added-tools.ts'
import { decodeItems } from './decode-items.ts'
import { booleanOf, numberOf, stringsOf, WIRE } from './wire.ts'

/** Marks the system message that came as `instructions`, so that the same wire gets it back there. */
export const INSTRUCTIONS = 'instructions'

/** Value of `include` that requests log probabilities. */
const LOGPROBS = 'message.output_text.logprobs'

/** Fields that the canon names, or that say nothing to a provider. */
const NAMED: ReadonlySet<string> = new Set([
  ...GATEWAY_KEYS,
  'model',
  'input',
  'instructions',
  'stream',
  'store',
  'background',
  'previous_response_id',
  'temperature',
  'top_p',
  'top_k',
  'top_logprobs',
  'frequency_penalty',
  'presence_penalty',
  'max_output_tokens',
  'parallel_tool_calls',
  'tools',
  'tool_choice',
  'reasoning',
  'text',
  'include',
  'service_tier',
  'modalities',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'metadata',
  'image_config',
  'cache_control',
])

/** Body field → canonical name of the parameter, which is what `supported_parameters` of a model speaks of. */
export const PARAMETERS: readonly (readonly [field: string, name: string])[] = [
  ['temperature', 'temperature'],
  ['top_p', 'top_p'],
  ['top_k', 'top_k'],
  ['top_logprobs', 'top_logprobs'],
  ['frequency_penalty', 'frequency_penalty'],
  ['presence_penalty', 'presence_penalty'],
  ['max_output_tokens', 'max_tokens'],
  ['parallel_tool_calls', 'parallel_tool_calls'],
  ['tools', 'tools'],
  ['tool_choice', 'tool_choice'],
  ['reasoning', 'reasoning'],
]

const FUNCTION_KNOWN: ReadonlySet<string> = new Set(['type', 'name', 'description', 'parameters', 'strict'])

export function functionTool(tool: JsonObject, beside: Set<string>): FunctionSpec {
  const spec = present({
    kind: 'function',
    name: String(tool.name),
    description: stringOf(tool.description),
    parameters: tool.parameters,
    strict: tool.strict,
    deferLoading: tool.defer_loading === true ? true : undefined,
  }) as unknown as FunctionSpec
  const others = otherMembers(tool, FUNCTION_KNOWN)
  if (others === undefined) return spec
  for (const key in others) beside.add(`tools.function.${key}`)
  return withNative(spec, { dialect: WIRE, type: 'function', data: others })
}

function decodeTool(tool: JsonObject, beside: Set<string>): ToolSpec {
  const type = String(tool.type)
  if (type === 'function') return functionTool(tool, beside)
  const colon = type.indexOf(':')
  if (colon > 0) return { kind: 'server', name: type.slice(colon + 1), parameters: isObject(tool.parameters) ? tool.parameters : {} }
  return { kind: 'opaque', of: { dialect: WIRE, type, data: tool } }
}

function decodeChoice(choice: Json | undefined): ToolChoice | undefined {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { mode: choice }
  // Mistral's word for it.
  if (choice === 'any') return { mode: 'required' }
  if (!isObject(choice)) return undefined
  // A tool of a namespace has its name there alone.
  if (choice.type === 'function' && (choice.namespace ?? null) === null) return { mode: 'named', name: String(choice.name) }
  const colon = String(choice.type).indexOf(':')
  if (colon > 0) return { mode: 'named', name: String(choice.type).slice(colon + 1) }
  return { mode: 'opaque', of: { dialect: WIRE, type: String(choice.type), data: choice } }
}

function decodeSampling(body: JsonObject, include: string[] | undefined): Sampling {
  const topLogprobs = numberOf(body.top_logprobs)
  return present({
    temperature: numberOf(body.temperature),
    topP: numberOf(body.top_p),
    topK: numberOf(body.top_k),
    frequencyPenalty: numberOf(body.frequency_penalty),
    presencePenalty: numberOf(body.presence_penalty),
    maxOutput: numberOf(body.max_output_tokens),
    logprobs: include?.includes(LOGPROBS) || (topLogprobs ?? 0) > 0 ? true : undefined,
    topLogprobs,
    parallelToolCalls: booleanOf(body.parallel_tool_calls),
  }) as Sampling
}

function decodeReasoning(reasoning: JsonObject): Reasoning {
  return present({
    effort: stringOf(reasoning.effort),
    maxTokens: numberOf(reasoning.max_tokens),
    enabled: booleanOf(reasoning.enabled),
    summary: stringOf(reasoning.summary),
  }) as Reasoning
}

function decodeFormat(format: JsonObject): OutputFormat {
  return present({
    type: stringOf(format.type),
    name: stringOf(format.name),
    description: stringOf(format.description),
    schema: format.schema,
    strict: format.strict,
  }) as unknown as OutputFormat
}

/** Fields that the canon does not name; members of `reasoning` stand here as `reasoning.<member>`. */
function extraFields(body: JsonObject): JsonObject {
  const fields: JsonObject = {}
  for (const [key, value] of Object.entries(body)) if (!NAMED.has(key) && value !== null) fields[key] = value
  if (isObject(body.reasoning)) {
    for (const key of ['context', 'mode', 'generate_summary'])
      if ((body.reasoning[key] ?? null) !== null) fields[`reasoning.${key}`] = body.reasoning[key]
  }
  return fields
}

/** True where any member is set. */
function says(fields: JsonObject): boolean {
  return Object.values(fields).some((value) => (value ?? null) !== null)
}

/** Fields whose loss changes the answer, beside those of `PARAMETERS`. */
function usedSettings(body: JsonObject, used: Set<string>): void {
  if (stringsOf(body.include)?.includes(LOGPROBS)) used.add('logprobs')
  if (isObject(body.image_config)) used.add('image_config')
  if (body.truncation === 'auto') used.add('truncation')
}

function usedParameters(body: JsonObject): Set<string> {
  const used = new Set<string>()
  for (const [field, name] of PARAMETERS) if ((body[field] ?? null) !== null) used.add(name)
  if (Array.isArray(body.tools) && body.tools.length === 0) used.delete('tools')
  if (isObject(body.reasoning) && !says(body.reasoning)) used.delete('reasoning')
  usedSettings(body, used)
  if (!isObject(body.text)) return used
  const format = isObject(body.text.format) ? body.text.format.type : 'text'
  if (format !== 'text') used.add('response_format')
  if (format === 'json_schema') used.add('structured_outputs')
  if (typeof body.text.verbosity === 'string') used.add('verbosity')
  return used
}

function decodeText(text: JsonObject, request: CanonicalRequest): void {
  if (isObject(text.format)) request.format = decodeFormat(text.format)
  if (typeof text.verbosity === 'string') request.verbosity = text.verbosity
}

function decodeSettings(body: JsonObject, request: CanonicalRequest): void {
  if (isObject(body.reasoning)) request.reasoning = decodeReasoning(body.reasoning)
  if (isObject(body.text)) decodeText(body.text, request)
  if (typeof body.service_tier === 'string') request.serviceTier = body.service_tier
  const modalities = stringsOf(body.modalities)
  if (modalities) request.modalities = modalities
  if (typeof body.user === 'string') request.user = body.user
  if (typeof body.safety_identifier === 'string') request.safetyIdentifier = body.safety_identifier
  if (typeof body.prompt_cache_key === 'string') request.cacheKey = body.prompt_cache_key
  if (isObject(body.metadata)) request.metadata = body.metadata
  if (isObject(body.image_config)) request.imageConfig = body.image_config
  const control = body.cache_control
  if (control === null) request.cache = null
  else if (isObject(control)) request.cache = typeof control.ttl === 'string' ? { ttl: control.ttl } : {}
}

/** @param body a body that `checkRequest` has accepted. */
export function decodeRequest(body: JsonObject): CanonicalRequest {
  const include = stringsOf(body.include)
  const beside = new Set<string>()
  const fields = extraFields(body)
  const request: CanonicalRequest = {
    items: decodeItems(body.input, beside),
    tools: [
      ...objectsOf(body.tools).map((tool) => decodeTool(tool, beside)),
      ...addedFunctions(body.input).map((tool): ToolSpec => ({ ...decodeTool(tool, beside), inItems: true }) as ToolSpec),
    ],
    sampling: decodeSampling(body, include),
    stream: body.stream === true,
    extras: { dialect: WIRE, fields },
    used: usedParameters(body),
  }
  for (const name of beside) fields[name] = true
  if (typeof body.instructions === 'string')
    request.items.unshift({ kind: 'message', role: 'system', parts: [{ kind: 'text', text: body.instructions }], id: INSTRUCTIONS })
  const choice = decodeChoice(body.tool_choice)
  if (choice) request.toolChoice = choice
  if (include) request.include = include
  decodeSettings(body, request)
  return request
}

/** The caller's Responses body as a canonical request. */

import { asObjects, asString, isObject, type Json, type JsonObject, present } from '../../core/json.ts'
import type { FunctionSpec } from '../canon/deferred-tools.ts'
import { otherMembers, withNative } from '../canon/native.ts'
import { fieldReader } from '../canon/parameters.ts'
import type { CanonicalRequest, OutputFormat, Reasoning, ToolChoice, ToolSpec } from '../canon/request.ts'
import { addedFunctions } from './added-tools.ts'
import { decodeItems } from './decode-items.ts'
import { responsesParameters } from './parameters.ts'
import { asBoolean, asNumber, asStrings, WIRE } from './wire.ts'

/** Marks the system message that came as `instructions`, so that the same wire gets it back there. */
export const INSTRUCTIONS = 'instructions'

/** Value of `include` that requests log probabilities. */
const LOGPROBS = 'message.output_text.logprobs'

/** Fields that the canon names by code of their own, or that say nothing to a provider. */
const OWN_FIELDS = [
  ...['model', 'input', 'instructions', 'stream', 'store', 'background', 'previous_response_id'],
  ...['tools', 'tool_choice', 'reasoning', 'text', 'include', 'cache_control'],
]

const readFields = fieldReader(responsesParameters, OWN_FIELDS)

const FUNCTION_KNOWN: ReadonlySet<string> = new Set(['type', 'name', 'description', 'parameters', 'strict'])

export function functionTool(tool: JsonObject, beside: Set<string>): FunctionSpec {
  const spec = present({
    kind: 'function',
    name: String(tool.name),
    description: asString(tool.description),
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

function decodeReasoning(reasoning: JsonObject): Reasoning {
  return present({
    effort: asString(reasoning.effort),
    maxTokens: asNumber(reasoning.max_tokens),
    enabled: asBoolean(reasoning.enabled),
    summary: asString(reasoning.summary),
  }) as Reasoning
}

function decodeFormat(format: JsonObject): OutputFormat {
  return present({
    type: asString(format.type),
    name: asString(format.name),
    description: asString(format.description),
    schema: format.schema,
    strict: format.strict,
  }) as unknown as OutputFormat
}

/** Members of `reasoning` that the canon does not name, as `reasoning.<member>`. */
function addReasoningMembers({ reasoning }: JsonObject, fields: JsonObject): void {
  if (!isObject(reasoning)) return
  for (const key of ['context', 'mode', 'generate_summary'])
    if ((reasoning[key] ?? null) !== null) fields[`reasoning.${key}`] = reasoning[key]
}

/** True where any member is set. */
function says(fields: JsonObject): boolean {
  return Object.values(fields).some((value) => (value ?? null) !== null)
}

/** Parameters that the caller has set, beside plain values. */
function addUsed(body: JsonObject, include: string[] | undefined, used: Set<string>): void {
  if (Array.isArray(body.tools) && body.tools.length > 0) used.add('tools')
  if ((body.tool_choice ?? null) !== null) used.add('tool_choice')
  if (isObject(body.reasoning) && says(body.reasoning)) used.add('reasoning')
  if (include?.includes(LOGPROBS)) used.add('logprobs')
  if (body.truncation === 'auto') used.add('truncation')
  if (!isObject(body.text)) return
  const format = isObject(body.text.format) ? body.text.format.type : 'text'
  if (format !== 'text') used.add('response_format')
  if (format === 'json_schema') used.add('structured_outputs')
  if (typeof body.text.verbosity === 'string') used.add('verbosity')
}

function decodeText(text: JsonObject, request: CanonicalRequest): void {
  if (isObject(text.format)) request.format = decodeFormat(text.format)
  if (typeof text.verbosity === 'string') request.verbosity = text.verbosity
}

function decodeSettings(body: JsonObject, request: CanonicalRequest): void {
  if (isObject(body.reasoning)) request.reasoning = decodeReasoning(body.reasoning)
  if (isObject(body.text)) decodeText(body.text, request)
  const control = body.cache_control
  if (control === null) request.cache = null
  else if (isObject(control)) request.cache = typeof control.ttl === 'string' ? { ttl: control.ttl } : {}
}

/** @param body a body that `checkRequest` has accepted. */
export function decodeRequest(body: JsonObject): CanonicalRequest {
  const include = asStrings(body.include)
  const beside = new Set<string>()
  const request: CanonicalRequest = {
    items: decodeItems(body.input, beside),
    tools: [
      ...asObjects(body.tools).map((tool) => decodeTool(tool, beside)),
      ...addedFunctions(body.input).map((tool): ToolSpec => ({ ...decodeTool(tool, beside), inItems: true }) as ToolSpec),
    ],
    sampling: {},
    stream: body.stream === true,
    used: new Set(),
  }
  const fields = readFields(body, request)
  request.extras = { dialect: WIRE, fields }
  if (include?.includes(LOGPROBS) || (request.sampling.topLogprobs ?? 0) > 0) request.sampling.logprobs = true
  addUsed(body, include, request.used)
  addReasoningMembers(body, fields)
  for (const name of beside) fields[name] = true
  if (typeof body.instructions === 'string')
    request.items.unshift({ kind: 'message', role: 'system', parts: [{ kind: 'text', text: body.instructions }], id: INSTRUCTIONS })
  const choice = decodeChoice(body.tool_choice)
  if (choice) request.toolChoice = choice
  if (include) request.include = include
  decodeSettings(body, request)
  return request
}

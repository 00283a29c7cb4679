/** A checked chat body as a canonical request. */

import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { otherMembers, withNative } from '../canon/native.ts'
import { fieldReader } from '../canon/parameters.ts'
import type { CanonicalRequest, OutputFormat, ToolChoice, ToolSpec } from '../canon/request.ts'
import { requestedCap, requestedReasoning, serverToolName, toolType } from './check.ts'
import { decodeMessages } from './decode-messages.ts'
import { cacheMark } from './decode-parts.ts'
import { chatParameters } from './parameters.ts'
import { OWN_KEYS, WIRE } from './wire.ts'

/** Fields that become canonical ones by code of their own, or say nothing to a provider. */
const OWN_FIELDS = [
  ...OWN_KEYS,
  ...['model', 'messages', 'prompt', 'stop', 'max_tokens', 'max_completion_tokens', 'tools', 'tool_choice', 'n'],
  ...['response_format', 'reasoning', 'reasoning_effort', 'cache_control'],
]

const readFields = fieldReader(chatParameters, OWN_FIELDS)

/** Sets log probabilities where `logprobs` is the number of alternatives. */
function countLogprobs({ logprobs, top_logprobs: top }: JsonObject, { sampling, used }: CanonicalRequest): void {
  const alternatives = top ?? logprobs ?? 0
  sampling.logprobs = true
  if (typeof alternatives !== 'number' || alternatives === 0) return
  used.add('top_logprobs')
  sampling.topLogprobs = alternatives
}

/** Sampling that is no plain value. */
function decodeSampling(body: JsonObject, request: CanonicalRequest): void {
  const { sampling, used } = request
  if (typeof body.logprobs === 'number') countLogprobs(body, request)
  if (typeof body.stop === 'string') sampling.stop = [body.stop]
  else if (Array.isArray(body.stop)) sampling.stop = body.stop as string[]
  if (sampling.stop !== undefined) used.add('stop')
  const cap = requestedCap(body)
  if (cap === undefined) return
  sampling.maxOutput = cap
  used.add('max_tokens')
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

/** @param body as the dialect's `check` has accepted it. */
export function decodeRequest(body: JsonObject): CanonicalRequest {
  const used = new Set<string>()
  const beside = new Set<string>()
  const request: CanonicalRequest = {
    items: decodeMessages(bodyMessages(body), beside),
    tools: [],
    sampling: {},
    stream: body.stream === true,
    used,
  }
  const rest = readFields(body, request)
  // It goes on among the other fields, and its loss changes the answer.
  if (rest.web_search_options !== undefined) used.add('web_search_options')
  decodeSampling(body, request)
  decodeTools(body, request, beside)
  const reasoning = requestedReasoning(body)
  if (reasoning) {
    request.reasoning = reasoning
    if (reasoning.effort ?? reasoning.maxTokens ?? reasoning.enabled ?? reasoning.summary) used.add('reasoning')
  }
  if (body.response_format && isObject(body.response_format)) {
    const format = outputFormat(body.response_format, used)
    if (format) request.format = format
    else {
      rest.response_format = body.response_format
      used.add('response_format')
    }
  }
  const cache = body.cache_control === null ? null : cacheMark(body)
  if (cache !== undefined) request.cache = cache
  // Usage is reported always; only what else stands there is a preference of the caller's.
  const demands = body.stream_options && isObject(body.stream_options) ? Object.keys(body.stream_options) : []
  if (demands.some((key) => key !== 'include_usage')) rest.stream_options = body.stream_options
  for (const name of beside) rest[name] = true
  // Always there: it shows encoders that the caller speaks this wire.
  request.extras = { dialect: WIRE, fields: rest }
  return request
}

/** The messages, or the legacy `prompt` as one. */
export function bodyMessages(body: JsonObject): JsonObject[] {
  if (Array.isArray(body.messages)) return body.messages as JsonObject[]
  return [{ role: 'user', content: body.prompt }]
}

/** A canonical request as the body of an OpenAI-compatible `/chat/completions`. */
import type { CanonicalRequest, OutputFormat, Reasoning, ToolChoice, ToolSpec } from '../../canon/request.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Encoded, Target } from '../types.ts'
import { MessageWriter } from './encode-messages.ts'
import { shapeRequest } from './shape-request.ts'
import { SAMPLING, WIRE } from './wire.ts'

export const PATH = '/chat/completions'

function encodeTool(tool: ToolSpec, dropped: string[]): JsonObject | undefined {
  if (tool.kind === 'function') {
    const spec: JsonObject = { name: tool.name }
    if (tool.description !== undefined) spec.description = tool.description
    if (tool.parameters) spec.parameters = tool.parameters
    if (typeof tool.strict === 'boolean') spec.strict = tool.strict
    return { type: 'function', function: spec }
  }
  if (tool.kind === 'opaque' && tool.of.dialect === WIRE) return tool.of.data
  dropped.push(`tools.${tool.kind === 'opaque' ? tool.of.type : tool.name}`)
  return undefined
}

function encodeChoice(choice: ToolChoice, dropped: string[]): string | JsonObject | undefined {
  if (choice.mode === 'named') return { type: 'function', function: { name: choice.name } }
  if (choice.mode !== 'opaque') return choice.mode
  if (choice.of.dialect === WIRE) return choice.of.data
  dropped.push('tool_choice')
  return undefined
}

function encodeFormat(format: OutputFormat): JsonObject {
  if (format.type !== 'json_schema') return { type: format.type }
  const schema: JsonObject = { name: format.name ?? 'response' }
  if (format.description !== undefined) schema.description = format.description
  if (format.schema !== undefined) schema.schema = format.schema
  if (typeof format.strict === 'boolean') schema.strict = format.strict
  return { type: 'json_schema', json_schema: schema }
}

function encodeReasoning(reasoning: Reasoning): JsonObject {
  const out: JsonObject = {}
  if (reasoning.effort !== undefined) out.effort = reasoning.effort
  if (reasoning.maxTokens !== undefined) out.max_tokens = reasoning.maxTokens
  if (reasoning.enabled !== undefined) out.enabled = reasoning.enabled
  if (reasoning.summary !== undefined) out.summary = reasoning.summary
  return out
}

function encodeSampling(request: CanonicalRequest, body: JsonObject): void {
  const { sampling } = request
  for (const [wire, canonical] of SAMPLING) if (sampling[canonical] !== undefined) body[wire] = sampling[canonical]
  if (sampling.stop !== undefined) body.stop = sampling.stop
  if (sampling.maxOutput !== undefined) body.max_tokens = sampling.maxOutput
}

/** @returns the body and the names of what the caller sent and this upstream cannot take. */
export function encodeRequest(request: CanonicalRequest, target: Target): Encoded {
  const dropped: string[] = []
  const writer = new MessageWriter()
  for (const item of request.items) writer.write(item)
  dropped.push(...writer.dropped)
  const body: JsonObject = { model: target.model, messages: writer.messages }
  encodeSampling(request, body)
  const tools = request.tools.map((tool) => encodeTool(tool, dropped)).filter((tool) => tool !== undefined)
  if (tools.length > 0) body.tools = tools
  const choice = request.toolChoice && encodeChoice(request.toolChoice, dropped)
  if (choice !== undefined) body.tool_choice = choice
  if (request.format) body.response_format = encodeFormat(request.format)
  if (request.reasoning) body.reasoning = encodeReasoning(request.reasoning)
  if (request.verbosity !== undefined) body.verbosity = request.verbosity
  if (request.serviceTier !== undefined) body.service_tier = request.serviceTier
  if (request.modalities !== undefined) body.modalities = request.modalities
  if (request.user !== undefined) body.user = request.user
  if (request.safetyIdentifier !== undefined) body.safety_identifier = request.safetyIdentifier
  if (request.cacheKey !== undefined) body.prompt_cache_key = request.cacheKey
  if (request.extras?.dialect === WIRE) Object.assign(body, request.extras.fields)
  else if (request.extras) dropped.push(...Object.keys(request.extras.fields))
  shapeRequest(body, target, dropped)
  return { path: PATH, body, dropped }
}

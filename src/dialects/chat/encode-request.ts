/** A canonical request as the body of an OpenAI-compatible `/chat/completions`. */

import type { JsonObject } from '../../core/json.ts'
import { offeredTools } from '../canon/allowed-tools.ts'
import { citedResults } from '../canon/cited-results.ts'
import { isNamedBeside, nativeOf } from '../canon/native.ts'
import { choosesSearch, nativeSearchIn } from '../canon/native-search.ts'
import type { CanonicalRequest, OutputFormat, Reasoning, ToolChoice, ToolSpec } from '../canon/request.ts'
import type { Encoded, Target } from '../types.ts'
import { MessageWriter } from './encode-messages.ts'
import { cacheControl } from './encode-parts.ts'
import { shapeRequest } from './shape-request.ts'
import { BUILTIN, searchForm } from './web-search.ts'
import { SAMPLING, WIRE } from './wire.ts'

export const PATH = '/chat/completions'

function encodeTool(tool: ToolSpec, sameWire: boolean, dropped: string[]): JsonObject | undefined {
  if (tool.kind === 'function') {
    const spec: JsonObject = { name: tool.name }
    if (tool.description !== undefined) spec.description = tool.description
    if (tool.parameters) spec.parameters = tool.parameters
    // Callers of Responses state that a function is not strict, which is what its absence means here; servers print it into the prompt.
    if (tool.strict === true || (tool.strict === false && sameWire)) spec.strict = tool.strict
    const encoded: JsonObject = { type: 'function', function: Object.assign(spec, nativeOf(tool, WIRE)) }
    if (tool.cache) encoded.cache_control = cacheControl(tool.cache)
    return encoded
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

function encodeSettings(request: CanonicalRequest, body: JsonObject): void {
  if (request.format) body.response_format = encodeFormat(request.format)
  if (request.reasoning) body.reasoning = encodeReasoning(request.reasoning)
  const fields: JsonObject = {
    verbosity: request.verbosity,
    service_tier: request.serviceTier,
    modalities: request.modalities,
    audio: request.audio,
    prediction: request.prediction,
    user: request.user,
    safety_identifier: request.safetyIdentifier,
    prompt_cache_key: request.cacheKey,
    metadata: request.metadata,
    image_config: request.imageConfig,
    cache_control: request.cache ? cacheControl(request.cache) : undefined,
  }
  for (const key in fields) if (fields[key] !== undefined) body[key] = fields[key]
}

/** Members of `include` that this wire has no way to request; the gateway itself sees to encrypted reasoning. */
function unsaidIncludes(request: CanonicalRequest): string[] {
  const supported = new Set(['message.output_text.logprobs', 'reasoning.encrypted_content'])
  return (request.include ?? []).filter((member) => !supported.has(member)).map((member) => `include.${member}`)
}

function addExtras(request: CanonicalRequest, body: JsonObject, dropped: string[]): void {
  const { extras } = request
  if (!extras) return
  if (extras.dialect !== WIRE) dropped.push(...Object.keys(extras.fields))
  else for (const key of Object.keys(extras.fields)) if (!isNamedBeside(key)) body[key] = extras.fields[key]
}

/** @returns the body and the names of what the caller sent and this upstream cannot take. */
export function encodeRequest(request: CanonicalRequest, target: Target): Encoded {
  const dropped: string[] = []
  const sameWire = request.extras?.dialect === WIRE
  const writer = new MessageWriter(sameWire)
  for (const item of request.items) writer.write(item)
  dropped.push(...writer.dropped)
  const body: JsonObject = { model: target.model, messages: writer.finished() }
  encodeSampling(request, body)
  const offered = offeredTools(request, WIRE)
  const search = offered.tools.map(nativeSearchIn).find((found) => found !== undefined)
  const listed = search ? offered.tools.filter((tool) => !nativeSearchIn(tool)) : offered.tools
  const tools = listed.map((tool) => encodeTool(tool, sameWire, dropped)).filter((tool) => tool !== undefined)
  if (tools.length > 0) body.tools = tools
  // A search that is requested in this way always runs.
  const chosen = offered.toolChoice?.mode === 'named' && choosesSearch(offered.toolChoice.name, offered.tools)
  const choice = offered.toolChoice && !chosen ? encodeChoice(offered.toolChoice, dropped) : undefined
  if (choice !== undefined) body.tool_choice = choice
  encodeSettings(request, body)
  dropped.push(...unsaidIncludes(request))
  addExtras(request, body, dropped)
  shapeRequest(body, target, dropped)
  const form = searchForm(target.quirks)
  if (search) form.write(body, search, target.quirks, dropped)
  const cited = target.quirks.citations === 'references' ? citedResults(request) : undefined
  const echoesSearch = search && target.quirks.web_search_form === BUILTIN ? true : undefined
  return { path: PATH, body, dropped: [...new Set(dropped)], cited, echoesSearch }
}

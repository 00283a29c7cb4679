/** A canonical request as the body of an OpenAI-compatible `/chat/completions`. */

import type { JsonObject } from '../../core/json.ts'
import { offeredTools } from '../canon/allowed-tools.ts'
import { citedResults } from '../canon/cited-results.ts'
import { isNamedBeside, nativeObject } from '../canon/native.ts'
import { choosesSearch, nativeSearchIn } from '../canon/native-search.ts'
import { fieldWriter, lossRecorder } from '../canon/parameters.ts'
import type { CanonicalRequest, OutputFormat, Reasoning, ToolChoice, ToolSpec } from '../canon/request.ts'
import type { Encoded, Target } from '../types.ts'
import { MessageWriter } from './encode-messages.ts'
import { cacheControl } from './encode-parts.ts'
import { shapeRequest } from './fit-request.ts'
import { chatParameters } from './parameters.ts'
import { BUILTIN, searchForm } from './web-search.ts'
import { WIRE } from './wire.ts'

export const PATH = '/chat/completions'

function encodeTool(tool: ToolSpec, sameWire: boolean, dropped: Set<string>): JsonObject | undefined {
  if (tool.kind === 'function') {
    const spec: JsonObject = { name: tool.name }
    if (tool.description !== undefined) spec.description = tool.description
    if (tool.parameters) spec.parameters = tool.parameters
    // Callers of Responses state that a function is not strict, which is what its absence means here; servers print it into the prompt.
    if (tool.strict === true || (tool.strict === false && sameWire)) spec.strict = tool.strict
    const encoded: JsonObject = { type: 'function', function: Object.assign(spec, nativeObject(tool, WIRE)) }
    if (tool.cache) encoded.cache_control = cacheControl(tool.cache)
    return encoded
  }
  if (tool.kind === 'opaque' && tool.of.dialect === WIRE) return tool.of.data
  dropped.add(`tools.${tool.kind === 'opaque' ? tool.of.type : tool.name}`)
  return undefined
}

function encodeChoice(choice: ToolChoice, dropped: Set<string>): string | JsonObject | undefined {
  if (choice.mode === 'named') return { type: 'function', function: { name: choice.name } }
  if (choice.mode !== 'opaque') return choice.mode
  if (choice.of.dialect === WIRE) return choice.of.data
  dropped.add('tool_choice')
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

const writeFields = fieldWriter(chatParameters)
const recordLosses = lossRecorder(chatParameters)

/** Members of `include` that this wire has no way to request; the gateway itself sees to encrypted reasoning. */
function unsaidIncludes(request: CanonicalRequest): string[] {
  const supported = new Set(['message.output_text.logprobs', 'reasoning.encrypted_content'])
  return (request.include ?? []).filter((member) => !supported.has(member)).map((member) => `include.${member}`)
}

function addExtras(request: CanonicalRequest, body: JsonObject, dropped: Set<string>): void {
  const { extras } = request
  if (!extras) return
  for (const key of Object.keys(extras.fields)) {
    if (extras.dialect !== WIRE) dropped.add(key)
    else if (!isNamedBeside(key)) body[key] = extras.fields[key]
  }
}

/** @returns the body and the names of what the caller sent and this upstream cannot take. */
export function encodeRequest(request: CanonicalRequest, target: Target): Encoded {
  const dropped = new Set<string>()
  const sameWire = request.extras?.dialect === WIRE
  const writer = new MessageWriter(sameWire)
  for (const item of request.items) writer.write(item)
  for (const name of writer.dropped) dropped.add(name)
  const body: JsonObject = { model: target.model, messages: writer.finished() }
  writeFields(request, body, dropped)
  const { stop, maxOutput } = request.sampling
  if (stop !== undefined) body.stop = stop
  if (maxOutput !== undefined) body.max_tokens = maxOutput
  const offered = offeredTools(request, WIRE)
  const search = offered.tools.map(nativeSearchIn).find((found) => found !== undefined)
  const listed = search ? offered.tools.filter((tool) => !nativeSearchIn(tool)) : offered.tools
  const tools = listed.map((tool) => encodeTool(tool, sameWire, dropped)).filter((tool) => tool !== undefined)
  if (tools.length > 0) body.tools = tools
  // A search that is requested in this way always runs.
  const chosen = offered.toolChoice?.mode === 'named' && choosesSearch(offered.toolChoice.name, offered.tools)
  const choice = offered.toolChoice && !chosen ? encodeChoice(offered.toolChoice, dropped) : undefined
  if (choice !== undefined) body.tool_choice = choice
  if (request.format) body.response_format = encodeFormat(request.format)
  if (request.reasoning) body.reasoning = encodeReasoning(request.reasoning)
  recordLosses(request, dropped)
  for (const name of unsaidIncludes(request)) dropped.add(name)
  addExtras(request, body, dropped)
  const names = [...dropped]
  shapeRequest(body, target, names)
  const form = searchForm(target.quirks)
  if (search) form.write(body, search, target.quirks, names)
  const cited = target.quirks.citations === 'references' ? citedResults(request) : undefined
  const echoesSearch = search && target.quirks.web_search_form === BUILTIN ? true : undefined
  return { path: PATH, body, dropped: [...new Set(names)], cited, echoesSearch }
}

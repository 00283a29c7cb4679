/** A canonical request as the body of an upstream that speaks Messages. */
import { asObjects, isObject, type Json, type JsonObject } from '../../core/json.ts'
import { offeredTools } from '../canon/allowed-tools.ts'
import { fitSchema } from '../canon/claude-schema.ts'
import { JSON_INSTRUCTION, schemaInstruction } from '../canon/format-words.ts'
import { nativeSearchIn } from '../canon/native-search.ts'
import { fieldWriter, lossRecorder } from '../canon/parameters.ts'
import type { CanonicalRequest, OutputFormat, ToolChoice, ToolSpec } from '../canon/request.ts'
import type { Encoded, Target } from '../types.ts'
import { markLastBlock, markPrefix } from './cache-prefix.ts'
import { cacheControl, marked, type WriteContext } from './encode-blocks.ts'
import { type SystemInside, TurnWriter } from './encode-messages.ts'
import { betaHeaders, fitToTarget, isPrefill, neverSends, placed } from './fit-request.ts'
import { anthropicParameters } from './parameters.ts'
import { instruct, keepThinkingRules, planThinking, relaxChoice, unbindThinking } from './thinking.ts'
import { searchTool } from './web-search.ts'
import { messagesNative, WIRE } from './wire.ts'

/** The API wants the type even of a schema that says nothing else. */
function inputSchema(parameters: JsonObject | null | undefined): JsonObject {
  if (!parameters) return { type: 'object', properties: {} }
  return parameters.type === undefined ? { type: 'object', ...parameters } : parameters
}

function encodeTool(tool: ToolSpec, context: WriteContext, { quirks }: Target): JsonObject | undefined {
  if (tool.kind === 'function') {
    const spec: JsonObject = { name: tool.name }
    if (tool.description !== undefined) spec.description = tool.description
    spec.input_schema = inputSchema(tool.parameters)
    if (tool.strict === true && quirks.json_schema === 'words') context.dropped.add('tools.strict')
    else if (tool.strict === true) {
      spec.strict = true
      // Same-wire callers know the rules; their schema stays as it is.
      if (!context.sameWire)
        spec.input_schema = fitSchema(spec.input_schema, (keyword) => context.dropped.add(`tools.parameters.${keyword}`))
    }
    return { ...marked(spec, tool), ...messagesNative(tool) }
  }
  if (tool.kind === 'opaque' && tool.of.dialect === WIRE) return tool.of.data
  const search = nativeSearchIn(tool)
  if (search) return searchTool(search, quirks)
  context.dropped.add(`tools.${tool.kind === 'opaque' ? tool.of.type : tool.name}`)
  return undefined
}

const CHOICES = { auto: 'auto', none: 'none', required: 'any' } as const

function encodeChoice(choice: ToolChoice | undefined, parallel: boolean | undefined, dropped: Set<string>): JsonObject | undefined {
  let written: JsonObject | undefined
  if (choice?.mode === 'named') written = { type: 'tool', name: choice.name }
  else if (choice?.mode === 'opaque') {
    if (choice.of.dialect === WIRE) written = { ...choice.of.data }
    else dropped.add('tool_choice')
  } else if (choice) written = { type: CHOICES[choice.mode] }
  if (parallel !== false || written?.type === 'none') return written
  return { ...(written ?? { type: 'auto' }), disable_parallel_tool_use: true }
}

const writeFields = fieldWriter(anthropicParameters)
const recordLosses = lossRecorder(anthropicParameters)

function addSampling(body: JsonObject, request: CanonicalRequest, { sameWire, dropped }: WriteContext): void {
  writeFields(request, body, dropped)
  const { temperature, topP, stop } = request.sampling
  // Newer models refuse the two together; callers of other wires mostly leave one of them at its default.
  if (!sameWire && temperature !== undefined && topP !== undefined) {
    if (temperature === 1 && topP !== 1) delete body.temperature
    else delete body.top_p
    if (temperature !== 1 && topP !== 1) dropped.add('top_p')
  }
  if (stop === undefined) return
  // The API refuses a sequence without a letter in it.
  const sequences = stop.filter((sequence) => sequence.trim() !== '')
  if (sequences.length > 0) body.stop_sequences = sequences
  if (sequences.length < stop.length) dropped.add('stop')
}

function encodeFormat(format: OutputFormat | undefined, { sameWire, dropped }: WriteContext, { quirks }: Target): JsonObject | undefined {
  if (format?.type !== 'json_schema' || quirks.json_schema === 'words') return undefined
  if (!sameWire) {
    if (format.name !== undefined) dropped.add('response_format.name')
    if (format.description !== undefined) dropped.add('response_format.description')
  }
  const schema = fitSchema(format.schema ?? { type: 'object' }, (keyword) => dropped.add(`response_format.schema.${keyword}`))
  return { type: 'json_schema', schema }
}

/** The provider wants one identity: the user's, or else the one that safety checks go by. */
function addUser(body: JsonObject, { user, safetyIdentifier }: CanonicalRequest, dropped: Set<string>): void {
  const id = user ?? safetyIdentifier
  if (id !== undefined) body.metadata = { user_id: id }
  if (user !== undefined && safetyIdentifier !== undefined && user !== safetyIdentifier) dropped.add('safety_identifier')
}

/** Fields of the caller's own wire that the canon does not name, unless it is another wire: then they are reported. */
function addExtras(body: JsonObject, { extras }: CanonicalRequest, dropped: Set<string>): void {
  for (const [key, value] of Object.entries(extras?.fields ?? {})) {
    if (extras?.dialect !== WIRE) dropped.add(key)
    else if (value === undefined) {
      if (key === 'fallbacks') dropped.add(key)
    } else if (key === 'output_config' && isObject(value))
      body.output_config = { ...value, ...(body.output_config as JsonObject | undefined) }
    else if (key === 'metadata' && isObject(value)) body.metadata = { ...value, ...(body.metadata as JsonObject | undefined) }
    else body[key] = value
  }
}

/** Removes a text that the model is to continue, for providers that cannot do so. */
function dropPrefill(body: JsonObject, dropped: Set<string>): void {
  const messages = asObjects(body.messages)
  if (!isPrefill(messages.at(-1))) return
  body.messages = messages.slice(0, -1)
  dropped.add('prefill')
}

/** True if instructions within the conversation stay where they are: callers of this wire know, unless the endpoint's data know better. */
function systemInside({ quirks }: Target, { sameWire }: WriteContext): SystemInside {
  if (quirks.system_messages === false) return 'never'
  if (sameWire) return 'as sent'
  return quirks.system_messages === true ? 'in place' : 'never'
}

/** @returns path, body, headers, and the canonical names of what the caller sent and this upstream cannot take. */
export function encodeRequest(request: CanonicalRequest, target: Target): Encoded {
  const dropped = new Set<string>()
  const context: WriteContext = {
    sameWire: request.extras?.dialect === WIRE,
    dropped,
    betas: new Set(),
    takesUnsigned: target.quirks.unsigned_reasoning === true,
  }
  const writer = new TurnWriter(context, systemInside(target, context))
  for (const item of request.items) writer.write(item)
  const plan = planThinking(request, target, dropped)
  const body: JsonObject = { model: target.model, max_tokens: plan.maxTokens, ...writer.finish() }
  const offered = offeredTools(request, WIRE)
  const tools = offered.tools.map((tool) => encodeTool(tool, context, target)).filter((tool) => tool !== undefined)
  if (tools.length > 0) {
    body.tools = tools
    const choice = encodeChoice(offered.toolChoice, request.sampling.parallelToolCalls, dropped)
    if (choice) body.tool_choice = choice
  }
  addSampling(body, request, context)
  if (plan.thinking) body.thinking = plan.thinking
  const format = encodeFormat(request.format, context, target)
  if (format || plan.effort !== undefined)
    body.output_config = { ...(plan.effort === undefined ? {} : { effort: plan.effort }), ...(format ? { format } : {}) }
  if (request.serviceTier !== undefined) body.service_tier = request.serviceTier
  if (request.cache) body.cache_control = cacheControl(request.cache)
  else if (request.cache === undefined) markPrefix(body, target, context.sameWire)
  addUser(body, request, dropped)
  recordLosses(request, dropped)
  addExtras(body, request, dropped)
  if (neverSends(target, 'prefill')) dropPrefill(body, dropped)
  const instruction = formatInstruction(request, target, dropped)
  if (instruction !== undefined) instruct(body, instruction)
  const encoded = finished(body, target, context)
  if (request.format?.type === 'json_object' || (request.format?.type === 'json_schema' && target.quirks.json_schema === 'checked'))
    encoded.looseFormat = true
  return encoded
}

/**
 * Instruction for the model where the wire has no field for the format of the answer, or the provider does not take it. At providers with
 * such a field it is added too (OpenAI API reference, `json_object`).
 */
function formatInstruction({ format }: CanonicalRequest, { quirks, supported }: Target, dropped: Set<string>): string | undefined {
  if (format?.type === 'json_object') return JSON_INSTRUCTION
  if (format?.type !== 'json_schema' || quirks.json_schema !== 'words') return undefined
  dropped.add('response_format')
  const isTaken = supported === undefined || supported.has('response_format') || supported.has('structured_outputs')
  if (!isTaken || quirks.body?.drop?.includes('response_format')) return undefined
  return schemaInstruction(format.schema)
}

function finished(body: JsonObject, target: Target, context: WriteContext): Encoded {
  const dropped = [...context.dropped]
  markLastBlock(body, target, dropped)
  limitMarks(body, dropped, neverSends(target, 'cache_control') ? 0 : undefined)
  fitToTarget(body, target, dropped)
  keepThinkingRules(body, dropped)
  if (target.quirks.forced_tools === false) relaxChoice(body, dropped, target.quirks.system_messages === true)
  for (const beta of unbindThinking(body, target, dropped) ?? []) context.betas.add(beta)
  const headers = betaHeaders(body, target, context.betas, dropped)
  const encoded: Encoded = { path: placed(body, target), body, dropped: [...new Set(dropped)] }
  if (headers) encoded.headers = headers
  return encoded
}

const MOST = 4

/** Blocks that may carry a mark, those inside of tool results included. */
function contentBlocks(content: Json | undefined): JsonObject[] {
  return asObjects(content).flatMap((block) => (block.type === 'tool_result' ? [...asObjects(block.content), block] : [block]))
}

const isMarked = (block: JsonObject): boolean => isObject(block.cache_control)

/** Copies of the objects within a list of blocks, so that the caller's own stay as they are. */
function copied(content: Json | undefined): Json | undefined {
  if (!Array.isArray(content)) return content
  return content.map((block) => {
    if (!isObject(block)) return block
    return Array.isArray(block.content) ? { ...block, content: copied(block.content) } : { ...block }
  })
}

function copyAll(body: JsonObject): void {
  for (const field of ['tools', 'system']) if (body[field] !== undefined) body[field] = copied(body[field])
  body.messages = asObjects(body.messages).map((message) => ({ ...message, content: copied(message.content) }))
}

/**
 * Marks where the prompt is worth caching: the API takes four of them in one request.
 * Takes out marks beyond the limit, the earliest of the conversation first: the later ones reach further.
 * @param most marks that may stay; 0 for a provider that knows none.
 */
function limitMarks(body: JsonObject, dropped: string[], most = MOST): void {
  const marks = (): JsonObject[] => {
    const messages = asObjects(body.messages).flatMap((message) => contentBlocks(message.content))
    return [...messages, ...contentBlocks(body.tools), ...contentBlocks(body.system)].filter(isMarked)
  }
  if (most === 0 && body.cache_control !== undefined) {
    delete body.cache_control
    dropped.push('cache_control')
  }
  const free = isObject(body.cache_control) ? most - 1 : most
  if (marks().length <= free) return
  copyAll(body)
  const all = marks()
  for (const block of all.slice(0, all.length - free)) delete block.cache_control
  dropped.push('cache_control')
}

/** A checked Messages body as a canonical request. What the canon has no words for goes along as `wire.ts` describes. */
import { asString, isObject, type JsonObject, present } from '../../core/json.ts'
import type { FunctionSpec } from '../canon/deferred-tools.ts'
import { fieldReader } from '../canon/parameters.ts'
import type { CanonicalRequest, Item, Opaque, OutputFormat, Part, Reasoning, ToolChoice, ToolSpec } from '../canon/request.ts'
import { cacheMark, fullMark } from './cache-mark.ts'
import { isCustomTool, serverToolName } from './check.ts'
import { decodeMessages } from './decode-messages.ts'
import { requestedTier, wantsDefaultFallbacks } from './gateway-fields.ts'
import { anthropicParameters } from './parameters.ts'
import { beside, FORMAT_NAME, WIRE, withNative } from './wire.ts'

/** Fields that become canonical ones by code of their own, or that this gateway sets itself. */
const OWN_FIELDS = [
  ...['model', 'messages', 'system', 'stream', 'fallbacks', 'tools', 'tool_choice', 'thinking', 'output_config', 'output_format'],
  ...['cache_control', 'service_tier', 'metadata', 'user'],
]

const readFields = fieldReader(anthropicParameters, OWN_FIELDS, true)

/** Members of `output_config` that become canonical. */
const OUTPUT: ReadonlySet<string> = new Set(['effort', 'format'])

const USER: ReadonlySet<string> = new Set(['user_id'])

/** True where the reply must show no thinking: its blocks are empty but for their signatures. */
export function hidesThinking(body: JsonObject): boolean {
  return isObject(body.thinking) && body.thinking.display === 'omitted'
}

/** True where the caller counts on thinking in the reply and sends it back. */
export function expectsThinking(body: JsonObject): boolean {
  return isObject(body.thinking) && body.thinking.type !== 'disabled'
}

/** Of the output: what the effort high stands for, which is the API's own (platform.claude.com, Extended thinking, "Migrating to adaptive thinking"). */
const HIGH_SHARE = 0.8

/** True for the budget of a turn of several replies, with interleaved thinking: other wires know only that of one reply, which its cap bounds. */
function exceedsCap({ thinking, max_tokens: cap }: JsonObject): boolean {
  const budget = isObject(thinking) ? thinking.budget_tokens : undefined
  return typeof budget === 'number' && typeof cap === 'number' && budget >= cap
}

/** `thinking` and the effort that stands beside it; undefined where the caller sent neither. This wire gets `thinking` as it came. */
function reasoning(body: JsonObject): Reasoning | undefined {
  const out: Reasoning = {}
  if (isObject(body.output_config) && typeof body.output_config.effort === 'string') out.effort = body.output_config.effort
  if (isObject(body.thinking)) {
    const { type, budget_tokens, display } = body.thinking
    if (type === 'enabled') out.maxTokens = exceedsCap(body) ? Math.floor(Number(body.max_tokens) * HIGH_SHARE) : (budget_tokens as number)
    else out.enabled = type !== 'disabled'
    if (display === 'summarized') out.summary = 'auto'
    if (display === 'omitted') out.exclude = true
  }
  if (Object.keys(out).length === 0) return undefined
  return isObject(body.thinking) ? withNative(out, 'thinking', body.thinking) : out
}

/** Presentation of thinking, in the words of the canon: `display` (types of @anthropic-ai/sdk 1.12.0, `ThinkingConfigAdaptive`). */
const DISPLAYS: ReadonlySet<unknown> = new Set([undefined, null, 'summarized', 'omitted'])

/** Names, for other wires, the members of `thinking` that the canon cannot say; `between_tools` is thinking, but not before the reply. */
function nameThinking(body: JsonObject, fields: JsonObject): void {
  const { thinking } = body
  if (!isObject(thinking)) return
  for (const key in beside(thinking, THINKING)) fields[`thinking.${key}`] = undefined
  if (thinking.type === 'between_tools') fields['thinking.type'] = undefined
  if (exceedsCap(body)) fields['thinking.budget_tokens'] = undefined
  if (!DISPLAYS.has(thinking.display)) fields['thinking.display'] = undefined
}

const THINKING: ReadonlySet<string> = new Set(['type', 'budget_tokens', 'display'])

function outputFormat(body: JsonObject): OutputFormat | undefined {
  const format = (isObject(body.output_config) ? body.output_config.format : undefined) ?? body.output_format
  if (!isObject(format) || !isObject(format.schema)) return undefined
  return { type: 'json_schema', name: FORMAT_NAME, schema: format.schema }
}

/** Adds members of fields that the canon has only in part. @param fields those that the canon does not have. */
function addMembers(body: JsonObject, fields: JsonObject): void {
  // Every provider of this wire takes marks, so the field is not needed.
  if (fields.prompt_cache_options !== undefined) fields.prompt_cache_options = undefined
  if (isObject(body.output_config)) {
    const rest = beside(body.output_config, OUTPUT)
    if (Object.keys(rest).length > 0) fields.output_config = rest
  }
  if (isObject(body.metadata)) {
    const rest = beside(body.metadata, USER)
    if (Object.keys(rest).length > 0) fields.metadata = rest
  }
  Object.assign(fields, fullMark(body))
}

/** The user, and how the gateway and the provider are to treat the request. */
function circumstances(body: JsonObject, request: CanonicalRequest): void {
  const metadata = isObject(body.metadata) ? body.metadata : {}
  request.user = asString(metadata.user_id) ?? asString(body.user)
  if (request.user !== undefined) request.used.add('user')
  request.serviceTier = requestedTier(body) ?? (body.speed === 'fast' ? 'fast' : undefined)
  if (request.serviceTier !== undefined) request.used.add('service_tier')
  request.cache = body.cache_control === null ? null : cacheMark(body)
  if (request.cache) request.used.add('cache_control')
}

/** @param body as the dialect's `check` has accepted it. */
export function decodeRequest(body: JsonObject): CanonicalRequest {
  const used = new Set<string>()
  const messages = body.messages as JsonObject[]
  const request: CanonicalRequest = {
    items: decodeMessages(body.system, messages),
    tools: [],
    sampling: {},
    stream: body.stream === true,
    used,
  }
  const fields = readFields(body, request)
  decodeTools(body, request)
  const thought = reasoning(body)
  if (thought) {
    request.reasoning = thought
    used.add('reasoning')
  }
  const format = outputFormat(body)
  if (format) {
    request.format = format
    used.add('response_format').add('structured_outputs')
  }
  circumstances(body, request)
  if (messages.at(-1)?.role === 'assistant') used.add('prefill')
  addMembers(body, fields)
  nameBeside(request, fields)
  nameThinking(body, fields)
  if (wantsDefaultFallbacks(body)) fields.fallbacks = undefined
  request.extras = { dialect: WIRE, fields }
  return present(request)
}

interface Marked {
  native?: Opaque
  cache?: object
}

/**
 * Names the members that only this wire can express, without their values, for the parameter filters and for other wires:
 * `messages.tool_use.caller`, `tools.custom.defer_loading`.
 * @param fields of the request's extras.
 */
function nameBeside(request: CanonicalRequest, fields: JsonObject): void {
  const visit = (value: Item | Part | ToolSpec, place: string): void => {
    const { native, cache }: Marked = value as Marked
    if (cache) request.used.add('cache_control')
    if (native) for (const key in native.data) fields[`${place}.${native.type}.${key}`] = undefined
  }
  for (const item of request.items) {
    visit(item, 'messages')
    if (item.kind === 'message' || item.kind === 'result') for (const part of item.parts) visit(part, 'messages')
  }
  for (const tool of request.tools) visit(tool, 'tools')
}

const CUSTOM: ReadonlySet<string> = new Set(['type', 'name', 'description', 'input_schema', 'strict', 'cache_control'])

export function functionTool(tool: JsonObject): FunctionSpec {
  const { name, description, input_schema, strict } = tool
  const spec: FunctionSpec = { kind: 'function', name: String(name) }
  if (typeof description === 'string') spec.description = description
  if (isObject(input_schema)) spec.parameters = input_schema
  if (typeof strict === 'boolean') spec.strict = strict
  if (tool.defer_loading === true) spec.deferLoading = true
  const cache = cacheMark(tool)
  if (cache) spec.cache = cache
  return withNative(spec, 'custom', { ...beside(tool, CUSTOM), ...fullMark(tool) })
}

function toolSpec(tool: JsonObject): ToolSpec {
  if (isCustomTool(tool)) return functionTool(tool)
  const type = String(tool.type)
  const server = serverToolName(type)
  if (server === undefined) return { kind: 'opaque', of: { dialect: WIRE, type, data: tool } }
  return { kind: 'server', name: server, parameters: isObject(tool.parameters) ? tool.parameters : {} }
}

function toolChoice(choice: JsonObject): ToolChoice {
  if (choice.type === 'any') return { mode: 'required' }
  if (choice.type !== 'tool') return { mode: choice.type === 'none' ? 'none' : 'auto' }
  const name = String(choice.name)
  return { mode: 'named', name: serverToolName(name) ?? name }
}

/**
 * Tools and the choice between them, as canonical ones.
 * Sets what the body says of tools.
 */
function decodeTools(body: JsonObject, request: CanonicalRequest): void {
  const { tools, tool_choice: choice } = body
  if (Array.isArray(tools) && tools.length > 0) {
    request.tools = (tools as JsonObject[]).map(toolSpec)
    request.used.add('tools')
  }
  if (!isObject(choice)) return
  request.toolChoice = toolChoice(choice)
  request.used.add('tool_choice')
  if (typeof choice.disable_parallel_tool_use !== 'boolean') return
  request.sampling.parallelToolCalls = !choice.disable_parallel_tool_use
  request.used.add('parallel_tool_calls')
}

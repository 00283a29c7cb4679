/** A checked Messages body as a canonical request. What the canon has no words for goes along as `wire.ts` describes. */
import { isObject, type JsonObject, present, stringOf } from '../../core/json.ts'
import type { FunctionSpec } from '../canon/deferred-tools.ts'
import type { CanonicalRequest, Item, Opaque, OutputFormat, Part, Reasoning, Sampling, ToolChoice, ToolSpec } from '../canon/request.ts'
import { GATEWAY_KEYS } from '../canon/request-fields.ts'
import { cacheMark, fullMark } from './cache-mark.ts'
import { isCustomTool, serverToolName } from './check.ts'
import { decodeMessages } from './decode-messages.ts'
import { requestedTier, wantsDefaultFallbacks } from './gateway-fields.ts'
import { beside, FORMAT_NAME, WIRE, withNative } from './wire.ts'

/** Fields that become canonical ones, or that this gateway sets itself; the rest are extras. */
const NAMED: ReadonlySet<string> = new Set([
  ...GATEWAY_KEYS,
  'model',
  'messages',
  'system',
  'stream',
  'fallbacks',
  'max_tokens',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'cache_control',
  'image_config',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'output_format',
  'service_tier',
  'metadata',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'modalities',
])

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

function sampling(body: JsonObject, used: Set<string>): Sampling {
  const out: Sampling = {}
  const take = <K extends keyof Sampling>(wire: string, name: string, key: K): void => {
    const value = body[wire]
    if (value === undefined || value === null) return
    out[key] = value as Sampling[K]
    used.add(name)
  }
  take('max_tokens', 'max_tokens', 'maxOutput')
  take('temperature', 'temperature', 'temperature')
  take('top_p', 'top_p', 'topP')
  take('top_k', 'top_k', 'topK')
  take('stop_sequences', 'stop', 'stop')
  return out
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

/** Body fields as they came, less what the canon has taken. */
function extras(body: JsonObject): JsonObject {
  const fields = beside(body, NAMED)
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
  return { ...fields, ...fullMark(body) }
}

/** The user, and how the gateway and the provider are to treat the request. */
function circumstances(body: JsonObject, request: CanonicalRequest): void {
  const metadata = isObject(body.metadata) ? body.metadata : {}
  request.user = stringOf(metadata.user_id) ?? stringOf(body.user)
  request.safetyIdentifier = stringOf(body.safety_identifier)
  request.cacheKey = stringOf(body.prompt_cache_key)
  request.serviceTier = requestedTier(body) ?? (body.speed === 'fast' ? 'fast' : undefined)
  request.cache = body.cache_control === null ? null : cacheMark(body)
  if (Array.isArray(body.modalities)) request.modalities = body.modalities as string[]
  if (isObject(body.image_config)) request.imageConfig = body.image_config
}

const CIRCUMSTANCES = [
  ['user', 'user'],
  ['safetyIdentifier', 'safety_identifier'],
  ['cacheKey', 'prompt_cache_key'],
  ['serviceTier', 'service_tier'],
  ['cache', 'cache_control'],
  ['modalities', 'modalities'],
  ['imageConfig', 'image_config'],
] as const

/** @param body as the dialect's `check` has accepted it. */
export function decodeRequest(body: JsonObject): CanonicalRequest {
  const used = new Set<string>()
  const messages = body.messages as JsonObject[]
  const request: CanonicalRequest = {
    items: decodeMessages(body.system, messages),
    tools: [],
    sampling: sampling(body, used),
    stream: body.stream === true,
    used,
  }
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
  for (const [key, name] of CIRCUMSTANCES) if ((request[key] ?? undefined) !== undefined) used.add(name)
  if (messages.at(-1)?.role === 'assistant') used.add('prefill')
  const fields = extras(body)
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
 * What a request holds beside the words of the canon, by name, for the parameter filters and for other wires.
 * Names, without values, the members that only this wire can say: `messages.tool_use.caller`, `tools.custom.defer_loading`.
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

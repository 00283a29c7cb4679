/** A canonical request as the body of `generateContent`. */
import { isObject, type Json, type JsonObject, present } from '../../core/json.ts'
import type { ServiceTier } from '../../core/service-tiers.ts'
import { offeredTools } from '../canon/allowed-tools.ts'
import { choosesSearch, nativeSearchIn } from '../canon/native-search.ts'
import { ParameterFilter } from '../canon/parameter-filter.ts'
import { lossRecorder } from '../canon/parameters.ts'
import type { CanonicalRequest, ToolChoice, ToolSpec } from '../canon/request.ts'
import { losesTier, tierToSend } from '../canon/request-fields.ts'
import type { Encoded, Target } from '../types.ts'
import { encodeContents } from './encode-contents.ts'
import { formatInWords, generationConfig } from './generation-config.ts'
import { geminiParameters } from './parameters.ts'
import { operationPath, WIRE } from './wire.ts'

const MODES = { auto: 'AUTO', none: 'NONE', required: 'ANY' } as const

/** Words of this wire for the tiers. */
const TIERS: Readonly<Record<ServiceTier | 'default', string | undefined>> = {
  default: 'standard',
  flex: 'flex',
  priority: 'priority',
  ultrafast: undefined,
}

/** Values of `include` that are met without being passed on. */
const INCLUDED: ReadonlySet<string> = new Set(['reasoning.encrypted_content', 'message.output_text.logprobs'])

const recordLosses = lossRecorder(geminiParameters)

/** Functions share one entry; tools of this wire's own keep theirs. */
function encodeTools(tools: readonly ToolSpec[], filter: ParameterFilter): JsonObject[] | undefined {
  if (tools.length === 0 || filter.ifListed('tools', tools) === undefined) return undefined
  const { dropped } = filter
  const functions: JsonObject[] = []
  const native: JsonObject[] = []
  for (const tool of tools) {
    if (tool.kind === 'function') {
      if (tool.strict === true) dropped.add('tools.strict')
      if (tool.cache) dropped.add('cache_control')
      const { name, description } = tool
      functions.push(present({ name, description, parametersJsonSchema: tool.parameters ?? undefined }))
    } else if (tool.kind === 'opaque' && tool.of.dialect === WIRE) native.push(tool.of.data)
    else if (nativeSearchIn(tool)) native.push({ googleSearch: {} })
    else dropped.add(`tools.${tool.kind === 'server' ? tool.name : tool.of.type}`)
  }
  const all = functions.length > 0 ? [{ functionDeclarations: functions }, ...native] : native
  return all.length > 0 ? all : undefined
}

/** @returns `functionCallingConfig`. */
function encodeChoice(
  choice: ToolChoice | undefined,
  { tools, written }: { tools: readonly ToolSpec[]; written: boolean },
  filter: ParameterFilter,
): JsonObject | undefined {
  if (filter.ifListed('tool_choice', choice) === undefined || !choice) return undefined
  const idle = choice.mode === 'auto' || choice.mode === 'none'
  // Its search cannot be called for.
  const chosen = choice.mode === 'named' && choosesSearch(choice.name, tools)
  const searches = chosen || (tools.some(nativeSearchIn) && !tools.some((tool) => tool.kind === 'function'))
  if (choice.mode === 'opaque' || ((!written || searches) && !idle)) {
    filter.dropped.add('tool_choice')
    return undefined
  }
  if (!written || searches) return undefined
  const named = choice.mode === 'named'
  return named ? { mode: MODES.required, allowedFunctionNames: [choice.name] } : { mode: MODES[choice.mode] }
}

/** `toolConfig`; arguments of calls stream only where they are requested (Vertex AI, "Streaming function call arguments"). */
function encodeToolConfig(choice: JsonObject | undefined, tools: JsonObject[] | undefined, target: Target): JsonObject | undefined {
  const hasFunctions = tools?.some((tool) => tool.functionDeclarations !== undefined) ?? false
  const streams = hasFunctions && target.stream && target.quirks.stream_arguments === true
  if (choice === undefined && !streams) return undefined
  return { functionCallingConfig: { ...choice, ...(streams ? { streamFunctionCallArguments: true } : {}) } }
}

interface SentTier {
  readonly field?: string
  readonly headers?: string[]
}

/** The usual tier has no header. */
function encodeTier(requested: string | undefined, { tier, quirks }: Target, filter: ParameterFilter): SentTier {
  if (losesTier(requested, tier)) filter.dropped.add('service_tier')
  const header = quirks.tier_header
  const wanted = tierToSend(requested, tier)
  if (header !== undefined && wanted === 'default') return {}
  const sent = filter.unlessDropped('service_tier', wanted)
  const word = sent && TIERS[sent]
  if (sent !== undefined && word === undefined) filter.dropped.add('service_tier')
  if (word === undefined) return {}
  return header === undefined ? { field: word } : { headers: [header, word] }
}

/** @returns path, body and the canonical names of what the caller sent and this upstream cannot take. */
export function encodeRequest(request: CanonicalRequest, target: Target): Encoded {
  const filter = new ParameterFilter(target)
  const { dropped } = filter
  const { contents, system } = encodeContents(request.items, target.quirks, dropped)
  const offered = offeredTools(request, WIRE)
  const tools = encodeTools(offered.tools, filter)
  const choice = encodeChoice(offered.toolChoice, { tools: offered.tools, written: tools !== undefined }, filter)
  const inWords = tools && formatInWords(request, target, filter)
  if (inWords) system.push({ text: inWords.instruction })
  const config = generationConfig(inWords?.request ?? request, target, filter)
  const { field, headers } = encodeTier(request.serviceTier, target, filter)
  recordLosses(request, dropped)
  if (request.include?.some((value) => !INCLUDED.has(value))) dropped.add('include')
  const body = present({
    contents: contents.map(({ role, parts }) => ({ role, parts })),
    systemInstruction: system.length > 0 ? { parts: system } : undefined,
    tools,
    toolConfig: encodeToolConfig(choice, tools, target),
    generationConfig: config,
    serviceTier: field,
    ...nativeFields(request, filter),
  })
  const operation = target.stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  return { path: operationPath(target.model, operation), body, dropped: [...dropped], ...(headers ? { headers } : {}) }
}

const FIELDS: ReadonlyMap<string, string> = new Map([
  ['safety_settings', 'safetySettings'],
  ['safetySettings', 'safetySettings'],
  ['cached_content', 'cachedContent'],
  ['cachedContent', 'cachedContent'],
])

function fitting(field: string, value: Json | undefined): value is Json {
  return field === 'safetySettings' ? Array.isArray(value) : typeof value === 'string'
}

/**
 * Fields of this wire that callers of other formats may send beside their own: under the provider's name, in snake case too, as JSON of
 * protocol buffers is read, or in `extra_body.google`, where Google's own chat endpoint has them (Gemini API, "OpenAI compatibility").
 * @returns the fields by their names at the provider; those that it does not know are recorded in the filter.
 */
function nativeFields({ extras }: CanonicalRequest, filter: ParameterFilter): JsonObject {
  const body: JsonObject = {}
  const take = (name: string, value: Json | undefined, record: string): void => {
    const field = FIELDS.get(name)
    if (field === undefined || !fitting(field, value)) filter.dropped.add(record)
    else body[field] ??= filter.unlessDropped(name, value)
  }
  for (const [name, value] of Object.entries(extras?.fields ?? {})) {
    const google = name === 'extra_body' && isObject(value) && Object.keys(value).length === 1 ? value.google : undefined
    if (isObject(google)) for (const [each, inner] of Object.entries(google)) take(each, inner, `extra_body.google.${each}`)
    else take(name, value, name)
  }
  return body
}

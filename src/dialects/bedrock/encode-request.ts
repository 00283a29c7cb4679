/** A canonical request as the body of `Converse` and `ConverseStream`. */
import { isObject, type Json, type JsonObject, present } from '../../core/json.ts'
import { fitSchema } from '../canon/claude-schema.ts'
import { JSON_INSTRUCTION, schemaInstruction } from '../canon/format-words.ts'
import { ParameterFilter } from '../canon/parameter-filter.ts'
import { fieldWriter, lossRecorder } from '../canon/parameters.ts'
import type { CanonicalRequest } from '../canon/request.ts'
import { type CapWire, capToSend, losesTier, sendsCap, tierToSend } from '../canon/request-fields.ts'
import type { Quirks } from '../quirks.ts'
import type { Encoded, Target } from '../types.ts'
import { ConversationWriter } from './encode-messages.ts'
import { bedrockParameters } from './parameters.ts'
import { keepThinkingRules, thinkingFields } from './thinking.ts'
import { encodeToolConfig } from './tools.ts'
import { operationPath, signsReasoning } from './wire.ts'

const writeFields = fieldWriter(bedrockParameters)
const recordLosses = lossRecorder(bedrockParameters)

export const bedrockCap: CapWire = {
  sends: (rules, held) => sendsCap(rules, 'max_tokens', held),
  written: ({ inferenceConfig: config }) => (isObject(config) && typeof config.maxTokens === 'number' ? config.maxTokens : undefined),
}

/** @returns `inferenceConfig`, and `top_k` under the name of its own that the family of models has (recordings test_bedrock_top_k_anthropic_variant, …_nova_variant). */
function sampling(request: CanonicalRequest, target: Target, filter: ParameterFilter): { config: JsonObject; own: JsonObject } {
  const { dropped } = filter
  const written: JsonObject = {}
  writeFields(request, written, dropped, filter.takes)
  const { top_k: topK, ...config } = written
  // Other formats go up to 2 (InferenceConfiguration: 0 to 1).
  if (typeof config.temperature === 'number' && config.temperature > 1) {
    config.temperature = 1
    dropped.add('temperature')
  }
  const { temperature, topP } = config
  // Claude refuses the two together; callers of other formats mostly leave one of them at its default.
  if (signsReasoning(target.quirks) && request.extras?.dialect !== 'messages' && temperature !== undefined && topP !== undefined) {
    if (temperature !== 1 && topP !== 1) dropped.add('top_p')
    if (temperature === 1 && topP !== 1) delete config.temperature
    else delete config.topP
  }
  const { stop } = request.sampling
  const stops = filter.ifListed('stop', stop)?.filter((sequence) => sequence.trim() !== '')
  if (stops && stops.length < (stop?.length ?? 0)) dropped.add('stop')
  if (stops?.length) config.stopSequences = stops
  if (topK === undefined) return { config, own: {} }
  return {
    config,
    own: target.quirks.top_k === 'inferenceConfig' ? { inferenceConfig: { topK } } : { [target.quirks.top_k ?? 'top_k']: topK },
  }
}

interface Format {
  readonly outputConfig?: JsonObject
  readonly instruction?: string
}

function encodeFormat({ format }: CanonicalRequest, { quirks, supported }: Target, dropped: Set<string>): Format {
  if (!format || format.type === 'text') return {}
  const isTaken = supported === undefined || supported.has('response_format') || supported.has('structured_outputs')
  if (!isTaken || quirks.body?.drop?.includes('response_format')) {
    dropped.add('response_format')
    return {}
  }
  if (format.type === 'json_object') return { instruction: JSON_INSTRUCTION }
  const schema = format.schema ?? { type: 'object' }
  if (quirks.json_schema === 'words') {
    dropped.add('response_format')
    return { instruction: schemaInstruction(schema) }
  }
  const fitted = fitSchema(schema, (keyword) => dropped.add(`response_format.schema.${keyword}`))
  // The name that Claude's own format needs none of; the service takes letters, digits, dashes and underscores.
  const name = format.name?.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64)
  const jsonSchema = present({ schema: JSON.stringify(fitted), name: name || undefined, description: format.description || undefined })
  return { outputConfig: { textFormat: { type: 'json_schema', structure: { jsonSchema } } } }
}

/** `additionalModelRequestFields` of a caller and the operator's, with what the encoder itself puts there; later ones win, members of objects singly. */
function merged(...all: readonly (JsonObject | undefined)[]): JsonObject | undefined {
  const whole: JsonObject = {}
  for (const fields of all)
    for (const [name, value] of Object.entries(fields ?? {})) {
      const before: Json | undefined = whole[name]
      whole[name] = isObject(before) && isObject(value) ? { ...before, ...value } : value
    }
  return Object.keys(whole).length > 0 ? whole : undefined
}

/** A text that the model is to continue, where it cannot do so. */
function withoutPrefill(messages: JsonObject[], { quirks }: Target, dropped: Set<string>): JsonObject[] {
  if (quirks.body?.drop?.includes('prefill') !== true || messages.at(-1)?.role !== 'assistant') return messages
  dropped.add('prefill')
  return messages.slice(0, -1)
}

/** A mark for the whole request: the last place that takes one, as Claude's own API has it. */
function markWhole(messages: JsonObject[], { cache }: CanonicalRequest, { quirks }: Target, dropped: Set<string>): void {
  if (!cache) return
  const last = messages.at(-1)
  const content = Array.isArray(last?.content) ? last.content : []
  const end = content.at(-1)
  const isTaken = last?.role === 'user' && isObject(end) && end.document === undefined && end.cachePoint === undefined
  if (!isTaken || quirks.body?.drop?.includes('cache_control')) dropped.add('cache_control')
  else content.push({ cachePoint: cache.ttl === '1h' ? { type: 'default', ttl: '1h' } : { type: 'default' } })
}

/** @returns path, body and the canonical names of what the caller sent and this upstream cannot take. */
export function encodeRequest(request: CanonicalRequest, target: Target): Encoded {
  const filter = new ParameterFilter(target)
  const { dropped } = filter
  const { quirks } = target
  const writer = new ConversationWriter(target, dropped)
  for (const item of request.items) writer.write(item)
  const conversation = writer.finish()
  const system = conversation.system
  const messages = withoutPrefill(conversation.messages, target, dropped)
  markWhole(messages, request, target, dropped)
  const cap = capToSend(bedrockCap, request.sampling.maxOutput, target, dropped)
  const sampled = sampling(request, target, filter)
  const own: JsonObject = { ...thinkingFields(request, target, { cap, dropped }), ...sampled.own }
  const body: JsonObject = { messages }
  const config = cap === undefined ? sampled.config : { maxTokens: cap, ...sampled.config }
  if (Object.keys(config).length > 0) body.inferenceConfig = config
  const isBound = keepThinkingRules(body, own, dropped)
  const tools = encodeToolConfig(request, messages, { target, dropped, forces: quirks.forced_tools !== false && !isBound })
  const format = encodeFormat(request, target, dropped)
  for (const instruction of [tools.instruction, format.instruction]) if (instruction !== undefined) system.push({ text: instruction })
  if (system.length > 0) body.system = system
  if (tools.toolConfig) body.toolConfig = tools.toolConfig
  if (format.outputConfig) body.outputConfig = format.outputConfig
  const requested = request.serviceTier
  const tier = tierToSend(requested, target.tier)
  if (losesTier(requested, target.tier)) dropped.add('service_tier')
  if (tier !== undefined) body.serviceTier = { type: tier }
  recordLosses(request, dropped)
  const { additionalModelRequestFields: given, ...native } = nativeFields(request, target, dropped)
  const fields = merged(isObject(given) ? given : undefined, own, tools.fields, quirks.model_fields)
  if (fields) body.additionalModelRequestFields = fields
  // The sequence that was met, which Claude alone reports.
  if (config.stopSequences !== undefined && signsReasoning(quirks))
    body.additionalModelResponseFieldPaths = ['/stop_sequence', '/delta/stop_sequence']
  Object.assign(body, metadataField(request, dropped), native)
  const encoded: Encoded = {
    path: operationPath(target.model, target.stream ? 'converse-stream' : 'converse'),
    body,
    dropped: [...dropped],
  }
  if (format.instruction !== undefined && request.format?.type === 'json_object') encoded.looseFormat = true
  return encoded
}

/**
 * Fields that cost nothing beside tokens. `performanceConfig`, `serviceTier` and guardrails have prices of their own: they are the
 * endpoint's (`quirks.body.set`, `tier`, `guardrails`).
 */
const TAKEN: ReadonlySet<string> = new Set([
  'additionalModelRequestFields',
  'additionalModelResponseFieldPaths',
  'promptVariables',
  'requestMetadata',
])

/** Members by which models have a cap or a tier: a hold was computed for other ones. */
const PRICED = /^(max_?(completion_?|output_?|new_?|gen_?)?(tokens|len)(_to_sample)?|service_?tier|speed)$/i

/** @param lost receives the paths of what was taken out. */
function withoutPriced(fields: JsonObject, path: string, lost: Set<string>): JsonObject {
  const kept: JsonObject = {}
  for (const [name, value] of Object.entries(fields)) {
    const at = `${path}.${name}`
    if (PRICED.test(name)) lost.add(at)
    else kept[name] = isObject(value) ? withoutPriced(value, at, lost) : value
  }
  return kept
}

function isFitting(name: string, value: Json | undefined): value is Json {
  return name === 'additionalModelResponseFieldPaths' ? Array.isArray(value) : isObject(value)
}

/** True for a guardrail that the operator lets callers use: AWS bills each text that one reads (aws.amazon.com/bedrock/pricing, Guardrails). */
function isAllowed(value: Json | undefined, quirks: Quirks): value is JsonObject {
  if (!isObject(value)) return false
  const { guardrailIdentifier: name, guardrailVersion: version } = value
  const guardrails = quirks.guardrails ?? []
  return guardrails.includes(String(name)) || guardrails.includes(`${String(name)}:${String(version)}`)
}

/**
 * Fields of this wire that callers of other formats may send beside their own, by the service's names.
 * @returns the fields as they are sent; others are recorded.
 */
function nativeFields({ extras }: CanonicalRequest, { quirks }: Target, dropped: Set<string>): JsonObject {
  const body: JsonObject = {}
  for (const [name, value] of Object.entries(extras?.fields ?? {})) {
    if (name === 'guardrailConfig' && isAllowed(value, quirks) && !quirks.body?.drop?.includes(name)) body[name] = value
    else if (!TAKEN.has(name) || !isFitting(name, value) || quirks.body?.drop?.includes(name)) dropped.add(name)
    else if (name === 'additionalModelRequestFields' && isObject(value)) body[name] = withoutPriced(value, name, dropped)
    else body[name] = value
  }
  return body
}

/** `requestMetadata`: at most 16 pairs of these letters (API reference, Converse). */
const PAIR = /^[a-zA-Z0-9\s:_@$#=/+,.-]{0,256}$/
const MAX_PAIRS = 16

/** The caller's own pairs, which the service writes to the operator's invocation logs. */
function metadataField({ metadata }: CanonicalRequest, dropped: Set<string>): JsonObject {
  if (!metadata) return {}
  const entries = Object.entries(metadata)
  const fitting = entries.filter(([name, value]) => name !== '' && PAIR.test(name) && typeof value === 'string' && PAIR.test(value))
  const sent = fitting.slice(0, MAX_PAIRS)
  if (sent.length < entries.length) dropped.add('metadata')
  return sent.length > 0 ? { requestMetadata: Object.fromEntries(sent) } : {}
}

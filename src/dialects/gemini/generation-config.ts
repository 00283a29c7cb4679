/** Sampling, output format, modalities and reasoning as `generationConfig`. */
import { isObject, type Json, type JsonObject, present } from '../../core/json.ts'
import { effortOfBudget, effortShare, nearestEffort } from '../canon/efforts.ts'
import type { ParameterFilter } from '../canon/parameter-filter.ts'
import { fieldWriter } from '../canon/parameters.ts'
import type { CanonicalRequest, Reasoning } from '../canon/request.ts'
import { type CapWire, capToSend, sendsCap } from '../canon/request-fields.ts'
import type { Quirks } from '../quirks.ts'
import type { Target } from '../types.ts'
import { geminiParameters } from './parameters.ts'

/** Most stop sequences that the API takes; of more the gateway cuts the answer itself. */
export const MAX_STOPS = 5

const MODALITIES: ReadonlyMap<string, string> = new Map([
  ['text', 'TEXT'],
  ['image', 'IMAGE'],
  ['audio', 'AUDIO'],
])

const IMAGE_FIELDS: ReadonlyMap<string, string> = new Map([
  ['aspect_ratio', 'aspectRatio'],
  ['image_size', 'imageSize'],
])

export const geminiCap: CapWire = {
  sends: (rules, held) => sendsCap(rules, 'max_tokens', held),
  written: ({ generationConfig: config }) =>
    isObject(config) && typeof config.maxOutputTokens === 'number' ? config.maxOutputTokens : undefined,
}

function stops(stop: string[] | undefined, dropped: Set<string>): string[] | undefined {
  const written = stop?.filter((sequence) => sequence !== '') ?? []
  if (written.length === 0) return undefined
  if (written.length <= MAX_STOPS) return written
  dropped.add('stop')
  return undefined
}

const writeFields = fieldWriter(geminiParameters)

function samplingFields(request: CanonicalRequest, filter: ParameterFilter): JsonObject {
  const { stop, logprobs, topLogprobs } = request.sampling
  const top = filter.ifListed('top_logprobs', topLogprobs || undefined)
  const fields: JsonObject = {
    stopSequences: filter.ifListed('stop', stops(stop, filter.dropped)),
    responseLogprobs: filter.ifListed('logprobs', logprobs || undefined) ?? (top === undefined ? undefined : true),
    logprobs: top,
  }
  writeFields(request, fields, filter.dropped, filter.takes)
  return fields
}

/**
 * Models without levels of thinking, Gemini 2.5 and earlier, refuse JSON output in a request with tools ("Function calling with a response
 * mime type: 'application/json' is unsupported", github.com/googleapis/python-genai/issues/867; models of Gemini 3 do both, issue 706
 * there): they read among their instructions what is wanted.
 * @returns the request without the format, and the instruction in its place; undefined where the format can be sent.
 */
export function formatInWords(
  request: CanonicalRequest,
  { quirks }: Target,
  filter: ParameterFilter,
): { request: CanonicalRequest; instruction: string } | undefined {
  const { format, ...rest } = request
  if (quirks.thinking === 'level' || !format || format.type === 'text') return undefined
  if (filter.ifListed('response_format', format, FORMAT_ALIASES[format.type]) === undefined) return undefined
  filter.dropped.add('response_format')
  const schema = format.schema ? `, by this JSON Schema: ${JSON.stringify(format.schema)}` : ''
  return { request: rest, instruction: `Unless you call a function, answer with a single JSON value and no other text${schema}` }
}

/** Other names under which the parameters of an endpoint may have a format. */
const FORMAT_ALIASES = { json_object: [], json_schema: ['structured_outputs'] } as const

function formatFields({ format }: CanonicalRequest, filter: ParameterFilter): JsonObject {
  if (!format || format.type === 'text') return {}
  if (filter.ifListed('response_format', format, FORMAT_ALIASES[format.type]) === undefined) return {}
  if (format.name !== undefined) filter.dropped.add('response_format.name')
  if (format.description !== undefined) filter.dropped.add('response_format.description')
  const { schema } = format
  const fits = format.type === 'json_schema' && schema !== undefined
  const lost = (keyword: string): unknown => filter.dropped.add(`response_format.schema.${keyword}`)
  return { responseMimeType: 'application/json', responseJsonSchema: fits ? fitSchema(schema, lost) : undefined }
}

function modalityFields({ modalities, audio, imageConfig }: CanonicalRequest, filter: ParameterFilter): JsonObject {
  const fields: JsonObject = {}
  const wanted = filter.unlessDropped('modalities', modalities) ?? []
  const known = wanted.map((each) => MODALITIES.get(each)).filter((each) => each !== undefined)
  if (known.length < wanted.length) filter.dropped.add('modalities')
  if (known.length > 0) fields.responseModalities = known
  for (const [key, value] of Object.entries(filter.unlessDropped('audio', audio) ?? {})) {
    if (key === 'voice' && typeof value === 'string') fields.speechConfig = { voiceConfig: { prebuiltVoiceConfig: { voiceName: value } } }
    else filter.dropped.add(`audio.${key}`)
  }
  const image: JsonObject = {}
  for (const [key, value] of Object.entries(filter.unlessDropped('image_config', imageConfig) ?? {})) {
    const field = IMAGE_FIELDS.get(key)
    if (field === undefined) filter.dropped.add(`image_config.${key}`)
    else if (value !== null) image[field] = value
  }
  if (Object.keys(image).length > 0) fields.imageConfig = image
  return fields
}

/** @returns undefined where no setting is requested; what cannot be sent is recorded in the filter. */
export function generationConfig(request: CanonicalRequest, target: Target, filter: ParameterFilter): JsonObject | undefined {
  const cap = capToSend(geminiCap, request.sampling.maxOutput, target, filter.dropped)
  const frame = { cap: cap ?? target.maxOutput, quirks: target.quirks }
  const thinking = request.reasoning && thinkingConfig(request.reasoning, frame, filter.dropped)
  const config = present({
    maxOutputTokens: cap,
    ...samplingFields(request, filter),
    ...formatFields(request, filter),
    ...modalityFields(request, filter),
    thinkingConfig: filter.ifListed('reasoning', thinking, ['reasoning_effort']),
  })
  return Object.keys(config).length === 0 ? undefined : config
}

/** Levels of models that state none. */
const USUAL_LEVELS = ['minimal', 'low', 'medium', 'high']
/** All of the wire (npm @google/genai 3.3.0, `ThinkingLevel`). */
const LEVELS = [...USUAL_LEVELS, 'xhigh']

const MIN_BUDGET = 1024
/** The largest budget that every model with budgets accepts. */
const MAX_BUDGET = 24_576
/** Output cap that an effort is a share of where none is known. */
const USUAL_OUTPUT = 32_768

interface ThinkingFrame {
  /** The output cap in tokens, where known. */
  readonly cap: number | undefined
  readonly quirks: Quirks
}

function reasoningEffort({ effort, enabled, maxTokens }: Reasoning): string | undefined {
  if (effort !== undefined) return effort
  if (enabled === false) return 'none'
  return enabled === true && maxTokens === undefined ? 'medium' : undefined
}

function effortBudget(effort: string | undefined, maxTokens: number | undefined, cap: number | undefined): number | undefined {
  if (effort === 'none') return 0
  if (maxTokens !== undefined) return Math.max(maxTokens, MIN_BUDGET)
  const share = effort === undefined ? undefined : effortShare(effort)
  return share === undefined ? undefined : Math.max(Math.min(Math.floor((cap ?? USUAL_OUTPUT) * share), MAX_BUDGET), MIN_BUDGET)
}

/**
 * The nearest level that the model knows; one that it does not know is refused (github.com/theJayTea/WritingTools/issues/282: MINIMAL
 * at Gemini 3.8 Flash). No model of this family can be kept from thinking altogether by a level.
 */
function nearestLevel(effort: string, quirks: Quirks): string {
  const offered = quirks.efforts?.filter((name) => LEVELS.includes(name))
  return nearestEffort(effort, offered, USUAL_LEVELS)
}

/**
 * Writes the requested effort or budget as `thinkingConfig`; undefined where that sets nothing for the model.
 * Budgets are 0 for none, else at least 1024; a share of the output is at most 24576.
 * @param dropped receives the names of what is lost.
 */
function thinkingConfig(reasoning: Reasoning, { cap, quirks }: ThinkingFrame, dropped: Set<string>): JsonObject | undefined {
  const config: JsonObject = {}
  const effort = reasoningEffort(reasoning)
  if (reasoning.summary !== undefined && reasoning.summary !== 'auto') dropped.add('reasoning.summary')
  if (quirks.thinking === 'level') {
    const { maxTokens } = reasoning
    if (maxTokens !== undefined && effort !== 'none') dropped.add('reasoning.max_tokens')
    const requested = effort ?? (maxTokens === undefined ? undefined : effortOfBudget(maxTokens, cap ?? USUAL_OUTPUT))
    const level = requested === undefined ? undefined : nearestLevel(requested, quirks)
    if (level !== undefined) config.thinkingLevel = level.toUpperCase()
    if (effort !== undefined && level !== effort) dropped.add('reasoning.effort')
  } else {
    const budget = effortBudget(effort, reasoning.maxTokens, cap)
    if (budget !== undefined) config.thinkingBudget = budget
  }
  if (!reasoning.exclude && effort !== 'none') config.includeThoughts = true
  return Object.keys(config).length === 0 ? undefined : config
}

/** Keywords that hold schemas by names of the caller's, in a list, or one. */
const NAMED: ReadonlySet<string> = new Set(['$defs', 'properties'])
const LISTED: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'prefixItems'])
const SINGLE: ReadonlySet<string> = new Set(['items', 'additionalProperties'])

/**
 * Keywords of the subset of JSON Schema that `responseJsonSchema` enforces (types of @google/genai 3.3.0,
 * `GenerateContentConfig.responseJsonSchema`). Models read over others (github.com/vercel/ai/pull/18325).
 */
const ENFORCED: ReadonlySet<string> = new Set([
  ...[...NAMED, ...LISTED, ...SINGLE],
  ...['$id', '$ref', '$anchor', 'type', 'format', 'title', 'description', 'enum', 'minItems', 'maxItems', 'minimum', 'maximum'],
  ...['required', 'propertyOrdering'],
])

const SIMPLE: ReadonlySet<string> = new Set([
  'type',
  'format',
  'title',
  'description',
  'enum',
  'minItems',
  'maxItems',
  'minimum',
  'maximum',
])

/** Keywords that restrict nothing. */
const NOTES: ReadonlySet<string> = new Set(['$schema', '$comment', 'default', 'example', 'examples', 'deprecated', 'readOnly', 'writeOnly'])

function fitted(keyword: string, value: Json, lost: (keyword: string) => void): Json {
  if (NAMED.has(keyword) && isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, subSchema(each ?? null, lost)]))
  if (LISTED.has(keyword) && Array.isArray(value)) return value.map((each) => subSchema(each, lost))
  return SINGLE.has(keyword) ? subSchema(value, lost) : value
}

/** A schema that holds no other, as most are, and is sent as it is. */
function isSimple(schema: JsonObject): boolean {
  for (const keyword in schema) if (!SIMPLE.has(keyword)) return false
  return true
}

/** In a sub-schema nothing but names with `$` may stand beside a `$ref`; the rest stands around it. */
function subSchema(schema: Json, lost: (keyword: string) => void): Json {
  if (!isObject(schema) || isSimple(schema)) return schema
  const fit = fitSchema(schema, lost)
  const { $ref, ...rest } = fit
  if ($ref === undefined || rest.anyOf !== undefined || Object.keys(rest).every((name) => name.startsWith('$'))) return fit
  return { ...rest, anyOf: [{ $ref }] }
}

/**
 * @param lost receives each keyword that the model does not keep to; it is sent all the same.
 * @returns a schema of the same meaning; the caller's own is not touched.
 */
export function fitSchema(schema: JsonObject, lost: (keyword: string) => void): JsonObject {
  const fit: JsonObject = {}
  for (const [keyword, value = null] of Object.entries(schema)) {
    if (keyword === 'const' && schema.enum === undefined && (typeof value === 'string' || typeof value === 'number')) fit.enum = [value]
    else {
      if (!ENFORCED.has(keyword) && !NOTES.has(keyword)) lost(keyword)
      fit[keyword] = fitted(keyword, value, lost)
    }
  }
  return fit
}

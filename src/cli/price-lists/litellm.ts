/**
 * The form of LiteLLM's `model_prices_and_context_window.json`: models by name, each with its provider, prices in USD per token.
 * Fields as in the PyPI package litellm 1.110.2 (MIT), whose wheel holds the list.
 */
import { asObjects, isObject, type Json, type JsonObject } from '../../core/json.ts'
import { MAX_OVERRIDES } from '../../core/price.ts'
import { WEEKDAYS } from '../../core/price-window.ts'
import {
  day,
  effortsAmong,
  inputModalities,
  isModelName,
  isStatedFree,
  type LeftOut,
  type LeftOutModel,
  type ListedModel,
  type OverrideConfig,
  outputModalities,
  type PriceConfig,
  readPrices,
  tokens,
  withoutFallbacks,
  zeroPrices,
} from './listed-model.ts'

const COSTS = [
  ['input_cost_per_token', 'prompt'],
  ['output_cost_per_token', 'completion'],
  ['output_cost_per_reasoning_token', 'reasoning'],
  ['cache_read_input_token_cost', 'cached'],
  ['cache_creation_input_token_cost', 'cache_write'],
  ['cache_creation_input_token_cost_above_1hr', 'cache_write_1h'],
  ['input_cost_per_audio_token', 'audio'],
  ['output_cost_per_audio_token', 'audio_output'],
  ['input_cost_per_image_token', 'image_token'],
  ['output_cost_per_image_token', 'image_output'],
] as const
const UNITS = [
  ['input_cost_per_request', 'request'],
  ['input_cost_per_image', 'image'],
] as const

const MILLION = 6
/** `input_cost_per_token_above_272k_tokens`; names with a service tier behind it are not of the usual one. */
const STEP = /_above_(\d+)k_tokens$/
const GENERATING: ReadonlySet<Json | undefined> = new Set(['chat', 'responses'])

/** True where the file has this form: some entry names its provider and its mode. */
export function isLitellm(list: JsonObject): boolean {
  return Object.values(list).some((entry) => isObject(entry) && typeof entry.litellm_provider === 'string')
}

/** @param today a day: models that end by then are left out. */
export function* readLitellm(list: JsonObject, today: string): Generator<ListedModel | LeftOutModel> {
  for (const [name, entry] of Object.entries(list)) {
    // The first entry describes the fields; an entry that is another name for one has no facts of its own.
    if (name === 'sample_spec' || (isObject(entry) && typeof entry.alias_of === 'string')) continue
    if (!isObject(entry) || typeof entry.litellm_provider !== 'string') yield { model: name, leftOut: 'is not a readable entry' }
    else {
      const provider = entry.litellm_provider
      const read = readModel(name, provider, { entry, today })
      yield typeof read === 'string' ? { provider, model: withoutProvider(name, provider), leftOut: read } : read
    }
  }
}

function readModel(name: string, provider: string, { entry, today }: { entry: JsonObject; today: string }): ListedModel | LeftOut {
  if (!isModelName(name)) return 'is not a readable entry'
  const embeds = entry.mode === 'embedding'
  if (!embeds && !GENERATING.has(entry.mode)) return 'is neither a text nor an embedding model'
  const expiration = day(entry.deprecation_date)
  if (expiration !== undefined && expiration <= today) return 'is no longer served'
  const output = Array.isArray(entry.supported_output_modalities) ? outputModalities(entry.supported_output_modalities) : []
  // Music and speech have the mode "chat" as well, at a price per piece that is in another field.
  if (!embeds && output.length > 0 && !output.includes('text')) return 'is neither a text nor an embedding model'
  const model = withoutProvider(name, provider)
  const efforts = Array.isArray(entry.reasoning_effort_levels) ? effortsAmong(entry.reasoning_effort_levels) : undefined
  return {
    provider,
    model,
    kind: embeds ? 'embedding' : 'generate',
    expiration,
    context: embeds ? tokens(entry.max_input_tokens) : undefined,
    maxInput: embeds ? undefined : tokens(entry.max_input_tokens),
    maxOutput: embeds ? undefined : tokens(entry.max_output_tokens),
    input: listedInputs(entry),
    output: embeds || !output.includes('text') || output.length === 1 ? undefined : output,
    price: isStatedFree(model) ? 'free' : readPrice(entry, embeds),
    zeros: isStatedFree(model) ? undefined : zeroPrices(entry, embeds ? COSTS.slice(0, 1) : COSTS),
    efforts,
    effortOnly: efforts === undefined ? undefined : entry.supports_adaptive_thinking === true,
  }
}

/** Names begin with the provider's, but for those of some; `vertex_ai-language-models` begin with `vertex_ai`. */
function withoutProvider(name: string, provider: string): string {
  const [base] = provider.split('-')
  return [provider, base].reduce<string>((rest, prefix) => (rest.startsWith(`${prefix}/`) ? rest.slice(`${prefix}/`.length) : rest), name)
}

/** Undefined where the entry says nothing of it. */
function listedInputs(entry: JsonObject): ListedModel['input'] | undefined {
  const flags = [
    ['supports_vision', 'image'],
    ['supports_pdf_input', 'file'],
    ['supports_audio_input', 'audio'],
    ['supports_video_input', 'video'],
  ] as const
  const listed = Array.isArray(entry.supported_modalities) ? entry.supported_modalities : undefined
  if (listed === undefined && flags.every(([flag]) => entry[flag] === undefined)) return undefined
  return inputModalities([...(listed ?? []), ...flags.flatMap(([flag, modality]) => (entry[flag] === true ? [modality] : []))])
}

function readPrice(entry: JsonObject, embeds: boolean): PriceConfig | undefined {
  const tiers = asObjects(entry.tiered_pricing).sort((a, b) => rangeStart(a) - rangeStart(b))
  const { prompt, ...others } = withoutFallbacks(readPrices({ ...tiers[0], ...entry }, COSTS, MILLION))
  if (prompt === undefined) return undefined
  const units = { ...readPrices(entry, UNITS, 0), ...searchPrice(entry) }
  if (embeds) return { prompt, ...units }
  if (others.completion === undefined) return undefined
  const overrides = [...priceSteps(entry), ...tiers.slice(1).flatMap(tierOverride), ...offPeakHours(entry)].slice(0, MAX_OVERRIDES)
  return { prompt, ...others, ...units, ...(overrides.length === 0 ? {} : { overrides }) }
}

/** The prices above each length, such as those whose names end in `_above_200k_tokens`. */
function priceSteps(entry: JsonObject): OverrideConfig[] {
  const steps = new Set(
    Object.keys(entry)
      .flatMap((field) => STEP.exec(field)?.[1] ?? [])
      .map(Number),
  )
  return [...steps]
    .sort((a, b) => a - b)
    .flatMap((thousands) => {
      const suffix = `_above_${thousands}k_tokens`
      const prices = readPrices(
        entry,
        COSTS.map(([field, name]) => [`${field}${suffix}`, name] as const),
        MILLION,
      )
      return Object.keys(prices).length === 0 ? [] : [{ min_prompt_tokens: thousands * 1000, ...prices }]
    })
}

const rangeStart = ({ range }: JsonObject): number => (Array.isArray(range) && typeof range[0] === 'number' ? range[0] : 0)

/** `range` is the length of the prompt, from above its first number. */
function tierOverride(tier: JsonObject): OverrideConfig[] {
  const prices = readPrices(tier, COSTS, MILLION)
  const above = tokens(rangeStart(tier))
  return above === undefined || Object.keys(prices).length === 0 ? [] : [{ min_prompt_tokens: above, ...prices }]
}

/** Windows whose days cannot be read are left out: then the usual price stays. */
function offPeakHours({ off_peak_pricing: cheaper }: JsonObject): OverrideConfig[] {
  if (!isObject(cheaper)) return []
  const prices = readPrices(cheaper, COSTS, MILLION)
  return asObjects(cheaper.windows).flatMap(({ hours_utc: hours, weekdays }) => {
    const days = weekdays === undefined ? {} : parseDays(weekdays)
    return days === undefined ? [] : (Array.isArray(hours) ? hours : [hours]).flatMap((span) => parseWindow(span, { ...days, ...prices }))
  })
}

/** Days as ISO 8601 counts them, Monday first (docs.litellm.ai/docs/proxy/off_peak_pricing); undefined where one of them is none. */
function parseDays(listed: Json): Pick<OverrideConfig, 'days'> | undefined {
  if (!Array.isArray(listed) || !listed.every((day) => typeof day === 'number' && Number.isInteger(day) && day >= 1 && day <= 7))
    return undefined
  const days = WEEKDAYS.filter((_, day) => listed.includes(day === 0 ? 7 : day))
  return days.length === WEEKDAYS.length ? {} : days.length === 0 ? undefined : { days }
}

/** A window whose end is its start is the whole day. */
function parseWindow(span: Json | undefined, conditions: OverrideConfig): OverrideConfig[] {
  const [, fromHour, fromMinute, toHour, toMinute] = /^(\d\d):(\d\d)-(\d\d):(\d\d)$/.exec(typeof span === 'string' ? span : '') ?? []
  const [start, end] = [`${fromHour}${fromMinute}`, `${toHour}${toMinute}`]
  if (fromHour === undefined) return []
  if (start === end) return conditions.days === undefined ? [] : [conditions]
  return [{ utc_start: start, utc_end: end, ...conditions }]
}

function searchPrice({ search_context_cost_per_query: searches }: JsonObject): { web_search?: string } {
  return isObject(searches) ? readPrices(searches, [['search_context_size_medium', 'web_search']], 0) : {}
}

/**
 * The form of models.dev's `api.json`: providers by name, each with its models, prices in USD per million tokens. Fields as of
 * github.com/anomalyco/models.dev at commit f3fc692, packages/core/src/schema.ts (MIT).
 */
import { asObjects, isObject, type Json, type JsonObject } from '../../core/json.ts'
import { MAX_OVERRIDES } from '../../core/price.ts'
import {
  day,
  displayName,
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
  ['input', 'prompt'],
  ['output', 'completion'],
  ['reasoning', 'reasoning'],
  ['cache_read', 'cached'],
  ['cache_write', 'cache_write'],
  ['input_audio', 'audio'],
  ['output_audio', 'audio_output'],
] as const

/** The threshold of `context_over_200k`, which the list keeps for older readers beside `tiers`. */
const OLDER_STEP = 200_000

/** True where the file has this form: every provider names itself and has models. */
export function isModelsDev(list: JsonObject): boolean {
  const providers = Object.values(list)
  return providers.length > 0 && providers.every((provider) => isObject(provider) && isObject(provider.models))
}

export function* readModelsDev(list: JsonObject): Generator<ListedModel | LeftOutModel> {
  for (const [provider, { models }] of Object.entries(list as Record<string, { models: JsonObject }>)) {
    for (const [model, entry] of Object.entries(models)) {
      const read = isObject(entry) ? readModel(provider, model, entry) : 'is not a readable entry'
      yield typeof read === 'string' ? { provider, model, leftOut: read } : read
    }
  }
}

function readModel(provider: string, model: string, entry: JsonObject): ListedModel | LeftOut {
  if (!isModelName(model)) return 'is not a readable entry'
  // "no longer served by the provider's public API" (README, status)
  if (entry.status === 'deprecated') return 'is no longer served'
  const { input, output } = isObject(entry.modalities) ? entry.modalities : {}
  const reads = Array.isArray(input) ? input : ['text']
  const writes = outputModalities(Array.isArray(output) ? output : ['text'])
  // The list has no kind: embedding models write `text`, and their family or name says what they are.
  const embeds = /embed/i.test(`${typeof entry.family === 'string' ? entry.family : ''} ${model}`)
  if (!embeds && !writes.includes('text')) return 'is neither a text nor an embedding model'
  const limit = isObject(entry.limit) ? entry.limit : {}
  const { efforts, budget } = readReasoning(entry.reasoning_options)
  return {
    provider,
    model,
    kind: embeds ? 'embedding' : 'generate',
    name: displayName(entry.name),
    created: day(entry.release_date),
    context: tokens(limit.context),
    maxOutput: embeds ? undefined : tokens(limit.output),
    input: inputModalities(reads),
    output: embeds || writes.length === 1 ? undefined : writes,
    price: isStatedFree(model)
      ? 'free'
      : isObject(entry.cost)
        ? readPrice(entry.cost, { embeds, draws: writes.includes('image') })
        : undefined,
    zeros: isStatedFree(model) || !isObject(entry.cost) ? undefined : zeroPrices(entry.cost, embeds ? COSTS.slice(0, 1) : COSTS),
    efforts,
    effortOnly: efforts === undefined ? undefined : !budget,
  }
}

function readReasoning(options: Json | undefined): { efforts: readonly string[] | undefined; budget: boolean } {
  const listed = asObjects(options)
  const effort = listed.find(({ type }) => type === 'effort')
  return {
    efforts: Array.isArray(effort?.values) ? effortsAmong(effort.values) : undefined,
    budget: listed.some(({ type }) => type === 'budget_tokens'),
  }
}

function readPrice(cost: JsonObject, { embeds, draws }: { embeds: boolean; draws: boolean }): PriceConfig | undefined {
  const { prompt, ...others } = withoutFallbacks(readPrices(cost, COSTS, 0))
  if (prompt === undefined) return undefined
  if (embeds) return { prompt }
  if (others.completion === undefined) return undefined
  if (draws) {
    // Of models that write text and images the list has the price of an image's tokens: 30 for Gemini 2.5 Flash Image, whose text is 2.50.
    const { completion, ...known } = others
    return { prompt, ...known, image_output: completion }
  }
  const overrides = priceSteps(cost)
  return { prompt, ...others, ...(overrides.length === 0 ? {} : { overrides }) }
}

/** `tier.size` is the length of the prompt that has to be passed. */
function priceSteps(cost: JsonObject): OverrideConfig[] {
  const steps = asObjects(cost.tiers).flatMap((tier) => {
    const { size, type = 'context' } = isObject(tier.tier) ? tier.tier : {}
    const above = tokens(size)
    return above === undefined || type !== 'context' ? [] : [{ min_prompt_tokens: above, ...readPrices(tier, COSTS, 0) }]
  })
  if (steps.length > 0) return steps.sort((a, b) => a.min_prompt_tokens - b.min_prompt_tokens).slice(0, MAX_OVERRIDES)
  return isObject(cost.context_over_200k) ? [{ min_prompt_tokens: OLDER_STEP, ...readPrices(cost.context_over_200k, COSTS, 0) }] : []
}

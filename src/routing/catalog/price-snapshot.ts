/**
 * The price snapshot: what the data package `@pydantic/genai-prices` states of models at hosted providers, as of its release. Decision 15
 * says why this one. It is loaded with the first price that is looked up, so it costs nothing where the configuration names it nowhere.
 */
import { createRequire } from 'node:module'
import type { MatchLogic, ModelInfo, ModelPrice, Provider, TieredPrices } from '@pydantic/genai-prices'
import type { EndpointConfig } from '../../config/config.ts'
import { decimalText } from '../../core/money-text.ts'
import { type PagePrice, pagePrice } from './page-prices.ts'

type Package = typeof import('@pydantic/genai-prices')
type PriceConfig = Exclude<NonNullable<EndpointConfig['price']>, string>
type OverrideConfig = NonNullable<PriceConfig['overrides']>[number]
type Rates = Omit<OverrideConfig, 'min_prompt_tokens' | 'utc_start' | 'utc_end' | 'days' | 'not_on' | 'from'>

/** The day of the release that package.json pins. */
export const SNAPSHOT_DATE = '2026-09-23'

let loaded: Package | undefined

/** Loads the package now, so that the first request that needs a price does not wait. */
export function loadSnapshot(): Package {
  loaded ??= createRequire(import.meta.url)('@pydantic/genai-prices') as Package
  return loaded
}

/** Prices per million tokens. Cached audio and images have no price of their own here: they cost what cached text does. */
const PER_MILLION: Readonly<Record<string, keyof Rates | null>> = {
  input_mtok: 'prompt',
  output_mtok: 'completion',
  cache_read_mtok: 'cached',
  cache_write_mtok: 'cache_write',
  cache_write_1h_mtok: 'cache_write_1h',
  output_reasoning_mtok: 'reasoning',
  input_audio_mtok: 'audio',
  output_audio_mtok: 'audio_output',
  input_image_mtok: 'image_token',
  output_image_mtok: 'image_output',
  cache_audio_read_mtok: null,
  cache_image_read_mtok: null,
}
/** Prices per thousand. */
const PER_THOUSAND = { requests_kcount: 'request', web_searches_kcount: 'web_search' } as const
const FILE_SEARCHES = 'storage_searches_kcount'

/** A model at a provider, as its endpoint has it. */
export interface Priced {
  /** Of the provider. */
  readonly url: string | undefined
  /** The provider's own name of it. */
  readonly model: string
  readonly embeds: boolean
}

/**
 * Price of a model at the provider of this address; undefined where the snapshot does not know it, or has a price for it that ours
 * cannot express, such as one per minute of audio.
 */
export function snapshotPrice(wanted: Priced): PriceConfig | undefined {
  const { page, snapshot } = statedPrices(wanted)
  return page ? page.price : snapshot
}

/** Facts of the model: by the provider's page, which is right where they differ, and by the snapshot. */
export function statedPrices({ url, model, embeds }: Priced): { page: PagePrice | undefined; snapshot: PriceConfig | undefined } {
  const provider = url === undefined || MOVING.test(model) ? undefined : loadSnapshot().findProvider({ providerApiUrl: url })
  const found = provider && findModel(provider, model.toLowerCase())
  const price = found && listedPrice(found)
  return {
    page: provider && pagePrice(provider.id, model),
    snapshot: price && (embeds || price.completion !== undefined) ? price : undefined,
  }
}

/** A name that stands for whichever model is the newest: since the snapshot it may have become another one. */
const MOVING = /\blatest\b/

/** A dated release is the model itself, where the snapshot does not list it apart. */
const RELEASE = /[-@](?:20\d{6}|20\d{2}-\d{2}-\d{2})$/

/** Some providers serve the models of others at their prices, such as Azure those of OpenAI. */
function findModel(provider: Provider, name: string): ModelInfo | undefined {
  const others = (provider.fallback_model_providers ?? []).flatMap((providerId) => loadSnapshot().findProvider({ providerId }) ?? [])
  const models = [provider, ...others].flatMap((each) => each.models)
  const named = (wanted: string) => models.find(({ id, match }) => id.toLowerCase() === wanted || isNamed(match, wanted))
  return named(name) ?? named(name.replace(RELEASE, ''))
}

/** Names that only begin like a known one are of models that came later, at prices of their own. */
function isNamed(match: MatchLogic, name: string): boolean {
  if ('or' in match) return match.or.some((each) => isNamed(each, name))
  if ('equals' in match) return match.equals.toLowerCase() === name
  return 'starts_with' in match && match.starts_with.toLowerCase() === name
}

/** Of conditional prices the last whose condition holds counts: those before one that always holds, or has begun, never do. */
function listedPrice({ prices }: ModelInfo): PriceConfig | undefined {
  if (!Array.isArray(prices)) return converted(prices)
  const first = prices.findLastIndex(
    ({ constraint }) => !constraint || ('start_date' in constraint && constraint.start_date <= SNAPSHOT_DATE),
  )
  const [base, ...conditional] = prices.slice(Math.max(0, first))
  const price = base && converted(base.prices)
  if (!price) return undefined
  const overrides = [...(price.overrides ?? [])]
  for (const { constraint, prices: changed } of conditional) {
    const other = converted(changed)
    if (!other || !constraint) return undefined
    const condition =
      'start_date' in constraint
        ? { from: constraint.start_date }
        : { utc_start: shownClock(constraint.start_time), utc_end: shownClock(constraint.end_time) }
    const { overrides: steps = [], request: _, web_search: __, tools: ___, ...rates } = other
    overrides.push(...[rates, ...steps].map((each) => ({ ...each, ...condition })))
  }
  return { ...price, ...(overrides.length === 0 ? {} : { overrides }) } as PriceConfig
}

/** `01:00:00Z` as four digits. */
const shownClock = (time: string): string => time.slice(0, 5).replace(':', '')

function converted(prices: ModelPrice): PriceConfig | undefined {
  const rates: Rates = {}
  const units: Pick<PriceConfig, 'request' | 'web_search' | 'tools'> = {}
  const steps = new Map<number, OverrideConfig>()
  for (const [name, price] of Object.entries(prices)) {
    if (price === undefined) continue
    const kind = PER_MILLION[name]
    const unit = typeof price === 'number' ? unitPrice(name, price) : undefined
    if (unit) Object.assign(units, unit)
    else if (kind === undefined) return undefined
    else if (kind !== null) addRate(kind, price, { rates, steps })
  }
  const { prompt } = rates
  if (prompt === undefined) return undefined
  const overrides = [...steps.values()].sort((a, b) => (a.min_prompt_tokens ?? 0) - (b.min_prompt_tokens ?? 0))
  return { ...rates, prompt, ...units, ...(overrides.length === 0 ? {} : { overrides }) }
}

function unitPrice(name: string, price: number): Pick<PriceConfig, 'request' | 'web_search' | 'tools'> | undefined {
  const text = decimalText(price, -3)
  if (text === undefined) return undefined
  if (name === FILE_SEARCHES) return { tools: { file_search: text } }
  return Object.hasOwn(PER_THOUSAND, name) ? { [PER_THOUSAND[name as keyof typeof PER_THOUSAND]]: text } : undefined
}

/** A tier holds where the prompt has more tokens than its `start`, for all of them. */
function addRate(
  kind: keyof Rates,
  price: number | TieredPrices,
  { rates, steps }: { rates: Rates; steps: Map<number, OverrideConfig> },
): void {
  const { base, tiers } = typeof price === 'number' ? { base: price, tiers: [] } : price
  const text = decimalText(base)
  if (text !== undefined) rates[kind] = text
  for (const { start, price: above } of tiers) {
    const step = steps.get(start) ?? { min_prompt_tokens: start }
    const dearer = decimalText(above)
    steps.set(start, dearer === undefined ? step : { ...step, [kind]: dearer })
  }
}

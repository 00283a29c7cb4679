/** Builds a model with its endpoints from its entry in the configuration. */
import type { EndpointConfig, ModelConfig } from '../../config/config.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Rate } from '../../core/money.ts'
import { rateFromUsd, rateFromUsdPerMillion } from '../../core/money-text.ts'
import { PAID_TOOLS, type PriceOverride, type RateKind, type Rates } from '../../core/price.ts'
import { dayNumber, type PriceWindow, WEEKDAYS } from '../../core/price-window.ts'
import { TOKEN_KINDS } from '../../core/token-kinds.ts'
import { mergeQuirks } from '../../dialects/canon/quirks.ts'
import type { Credential } from '../../services/credentials/types.ts'
import { isSelective, MODEL_FLAGS } from '../criteria/index.ts'
import { snapshotPrice } from './price-snapshot.ts'
import type { ModelFacts } from './server-facts.ts'
import type { Endpoint, Model, Provider } from './types.ts'

const NO_SCORES: Model['scores'] = Object.freeze({})

/** `endpoints` is filled in once the model exists: the two point at each other. */
type Draft = Omit<Model, 'endpoints'> & { endpoints: Endpoint[] }

/** The wildcard that a model is made for, and what its `*` stands for. */
export interface Wildcard {
  readonly slug: string
  readonly tail: string
  /** True where the configuration states the kind of all names behind it. */
  readonly hasKind: boolean
}

/** Inputs of endpoints beside their own entries. */
export interface EndpointParts {
  readonly providers: ReadonlyMap<string, Provider>
  /** Statements of a provider's own list about a model. @param model the provider's name of it. */
  listed(provider: string, model: string): ModelFacts | undefined
  /** The credential of an endpoint with settings of its own. @param endpoint its id; that of the wildcard behind one. */
  findCredential(provider: string, endpoint: string, own: JsonObject): Credential | undefined
}

/** @param wildcard absent for a model that the configuration names. */
export function buildModel(slug: string, config: ModelConfig, parts: EndpointParts, wildcard?: Wildcard): Model {
  const draft: Draft = {
    slug,
    ...(wildcard === undefined ? {} : { wildcard: wildcard.slug, ...(wildcard.hasKind ? {} : { unknownKind: true }) }),
    name: config.name ?? slug,
    description: config.description ?? '',
    created: config.created === undefined ? 0 : Math.floor(Date.parse(config.created) / 1000),
    ...(config.expiration === undefined ? {} : { expiration: config.expiration }),
    kind: config.kind ?? 'generate',
    context: config.context,
    maxOutput: config.max_output,
    ...(config.default_max_output === undefined ? {} : { defaultMaxOutput: config.default_max_output }),
    input: config.input ?? ['text'],
    // A declared model of embeddings reads text unless it says more; what a name behind a wildcard reads is not known.
    ...(config.input === undefined && (config.kind !== 'embedding' || wildcard !== undefined) ? { anyInput: true } : {}),
    output: config.output ?? (config.kind === 'embedding' ? ['embeddings'] : ['text']),
    ...(config.long_input === undefined ? {} : { longInput: config.long_input }),
    scores: config.scores ?? NO_SCORES,
    flags: configFlags(config),
    endpoints: [],
  }
  for (const endpoint of config.endpoints) {
    const provider = parts.providers.get(endpoint.provider)
    if (!provider) continue
    const built = withListed(buildEndpoint(draft, provider, endpoint, wildcard), parts)
    const { credential: own } = endpoint
    draft.endpoints.push(own ? { ...built, credential: parts.findCredential(provider.slug, built.wildcardId ?? built.id, own) } : built)
  }
  return draft
}

function configFlags(config: Readonly<Record<string, unknown>>): Model['flags'] {
  return new Set(MODEL_FLAGS.flatMap(({ name }) => (config[name] === true ? [name] : [])))
}

/** The provider's list states the facts that the configuration leaves open. */
function withListed(endpoint: Endpoint, parts: EndpointParts): Endpoint {
  const facts = parts.listed(endpoint.provider.slug, endpoint.upstreamModel)
  if (!facts) return endpoint
  const { context = facts.context_length, quantization } = endpoint
  return { ...endpoint, context, quantization: quantization === 'unknown' ? (facts.quantization ?? quantization) : quantization }
}

function buildEndpoint(model: Model, provider: Provider, config: EndpointConfig, wildcard: Wildcard | undefined): Endpoint {
  const suffix = config.variant ?? config.tier
  const upstreamModel = wildcard === undefined ? config.model : config.model.replace('*', () => wildcard.tail)
  const endpoint: Endpoint = {
    id: endpointId(model.slug, provider.slug, suffix),
    provider,
    model,
    upstreamModel,
    price: declaredPrice(config.price, provider, upstreamModel, model.kind),
    context: config.context ?? model.context,
    maxOutput: config.max_output ?? model.maxOutput,
    quantization: config.quantization ?? 'unknown',
    variant: config.variant,
    tier: config.tier,
    scores: config.scores === undefined ? model.scores : { ...model.scores, ...config.scores },
    supported: config.supported_parameters && new Set(config.supported_parameters),
    credential: provider.credential,
    ...(config.price === 'snapshot' ? { snapshotPriced: true } : {}),
    ...(config.weight === undefined ? {} : { weight: config.weight }),
    ...(config.quirks === undefined ? {} : { quirks: mergeQuirks(provider.quirks, config.quirks) }),
    ...(wildcard === undefined ? {} : { wildcardId: endpointId(wildcard.slug, provider.slug, suffix) }),
  }
  return isSelective(endpoint) ? { ...endpoint, selective: true } : endpoint
}

/** `model@provider`, or `model@provider/variant`. */
export function endpointId(model: string, provider: string, suffix: string | undefined): string {
  return suffix === undefined ? `${model}@${provider}` : `${model}@${provider}/${suffix}`
}

/** A provider inside this process costs nothing unless priced. @param name the provider's own name of the model. */
export function declaredPrice(
  declared: EndpointConfig['price'],
  { baseUrl, snapshotUrl }: Pick<Provider, 'baseUrl' | 'snapshotUrl'>,
  name: string,
  kind: Model['kind'],
): Endpoint['price'] {
  const price =
    declared === 'snapshot'
      ? (snapshotPrice({ url: snapshotUrl ?? baseUrl, model: name, embeds: kind === 'embedding' }) ?? 'unpriced')
      : declared
  if (price === 'free' || price === 'unpriced') return price
  if (price === undefined) return baseUrl === undefined ? 'free' : 'unpriced'
  const { overrides } = price
  return {
    ...NO_RATES,
    ...tokenRates(price),
    request: unit(price.request),
    image: unit(price.image),
    webSearch: unit(price.web_search),
    container: unit(price.container),
    ...(price.own_searches === undefined ? {} : { ownSearches: price.own_searches }),
    ...(price.tools === undefined ? {} : toolRates(price.tools)),
    ...(price.inference_geo === undefined ? {} : { regions: parseFactors(price.inference_geo) }),
    ...(overrides === undefined || overrides.length === 0 ? {} : { overrides: overrides.map(parseOverride) }),
  }
}

type PriceConfig = Exclude<NonNullable<EndpointConfig['price']>, string>
type OverrideConfig = NonNullable<PriceConfig['overrides']>[number]

function toolRates(prices: NonNullable<PriceConfig['tools']>): Pick<Rates, 'tools' | 'drawing'> {
  const tools = Object.fromEntries(PAID_TOOLS.flatMap((tool) => (prices[tool] === undefined ? [] : [[tool, rateFromUsd(prices[tool])]])))
  const { image_generation: drawn } = prices
  if (drawn === undefined) return { tools }
  const perToken = (text: string): Rate => rateFromUsdPerMillion(text) ?? 0n
  return { tools, drawing: { prompt: perToken(drawn.prompt), completion: perToken(drawn.completion) } }
}

/** Factors of the price by region, in thousandths. */
function parseFactors(factors: Record<string, number>): ReadonlyMap<string, bigint> {
  return new Map(Object.entries(factors).map(([region, factor]) => [region, BigInt(Math.round(factor * 1000))]))
}

const unit = (text: string | undefined) => (text === undefined ? undefined : rateFromUsd(text))

/** All kinds in one order, so that every price is an object of one shape. */
const NO_RATES: Rates = {
  prompt: 0n,
  completion: 0n,
  ...Object.fromEntries(TOKEN_KINDS.filter(({ rate }) => rate !== 'prompt' && rate !== 'completion').map(({ rate }) => [rate, undefined])),
}

/** The stated rates per token, and no others: an override leaves what it does not state as it is. */
function tokenRates(price: PriceConfig | OverrideConfig): PriceOverride['rates'] {
  const rates: { -readonly [kind in RateKind]?: Rate } = {}
  for (const { rate: kind, price: name } of TOKEN_KINDS) {
    const text = price[name]
    const rate = text === undefined ? undefined : rateFromUsdPerMillion(text)
    if (rate !== undefined) rates[kind] = rate
  }
  return rates
}

function parseOverride(config: OverrideConfig): PriceOverride {
  const { min_prompt_tokens: above, from } = config
  const window = parseWindow(config)
  return {
    ...(above === undefined ? {} : { minPromptTokens: above }),
    ...(window === undefined ? {} : { window }),
    ...(from === undefined ? {} : { from: Date.parse(from) }),
    rates: tokenRates(config),
  }
}

function parseWindow({ utc_start: start, utc_end: end, days, not_on: exceptions }: OverrideConfig): PriceWindow | undefined {
  const hours = start === undefined || end === undefined ? undefined : { start: parseMinute(start), end: parseMinute(end) }
  if (hours === undefined && days === undefined) return undefined
  return {
    hours,
    days: days && new Set(days.map((name) => WEEKDAYS.indexOf(name))),
    notOn: exceptions && new Set(exceptions.map(dayNumber)),
  }
}

/** Minutes since midnight. @param clock HHMM. */
function parseMinute(clock: string): number {
  return Number(clock.slice(0, 2)) * 60 + Number(clock.slice(2))
}

/** One model with its endpoints, from its declaration. */
import type { EndpointConfig, ModelConfig } from '../config/types.ts'
import { rateFromUsd, rateFromUsdPerMillion } from '../core/money.ts'
import type { Endpoint, Model, Price, Provider } from './types.ts'

/** Output assumed for the hold where neither the request nor the model names a cap, in tokens. */
const DEFAULT_MAX_OUTPUT = 4096

const NO_SCORES: Model['scores'] = Object.freeze({})

/** `endpoints` is filled in once the model exists: the two point at each other. */
type Draft = Omit<Model, 'endpoints'> & { endpoints: Endpoint[] }

/**
 * @param tail what a wildcard's `*` stands for.
 */
export function buildModel(slug: string, config: ModelConfig, providers: ReadonlyMap<string, Provider>, tail?: string): Model {
  const outputs = [config.max_output, ...config.endpoints.map((endpoint) => endpoint.max_output)]
  const largest = outputs.reduce<number>((most, each) => Math.max(most, each ?? 0), 0)
  const draft: Draft = {
    slug,
    name: config.name ?? slug,
    description: config.description ?? '',
    created: config.created === undefined ? 0 : Math.floor(Date.parse(config.created) / 1000),
    kind: config.kind ?? 'generate',
    context: config.context,
    maxOutput: config.max_output,
    defaultMaxOutput: config.default_max_output ?? (largest === 0 ? DEFAULT_MAX_OUTPUT : Math.min(DEFAULT_MAX_OUTPUT, largest)),
    input: config.input ?? ['text'],
    output: config.output ?? ['text'],
    scores: config.scores ?? NO_SCORES,
    distillable: config.distillable ?? false,
    endpoints: [],
  }
  for (const endpoint of config.endpoints) {
    const provider = providers.get(endpoint.provider)
    if (provider) draft.endpoints.push(buildEndpoint(draft, provider, endpoint, tail))
  }
  return draft
}

function buildEndpoint(model: Model, provider: Provider, config: EndpointConfig, tail: string | undefined): Endpoint {
  return {
    id: endpointId(model.slug, provider.slug, config.variant ?? config.tier),
    provider,
    model,
    upstreamModel: tail === undefined ? config.model : config.model.replace('*', () => tail),
    price: priceOf(config.price, provider),
    context: config.context ?? model.context,
    maxOutput: config.max_output ?? model.maxOutput,
    quantization: config.quantization ?? 'unknown',
    variant: config.variant,
    tier: config.tier,
    scores: config.scores === undefined ? model.scores : { ...model.scores, ...config.scores },
    supported: config.supported_parameters && new Set(config.supported_parameters),
    ...(config.quirks === undefined ? {} : { quirks: { ...provider.quirks, ...config.quirks } }),
  }
}

/** `model@provider`, or `model@provider/variant`. */
export function endpointId(model: string, provider: string, suffix: string | undefined): string {
  return suffix === undefined ? `${model}@${provider}` : `${model}@${provider}/${suffix}`
}

/** A provider inside this process costs nothing unless priced. */
function priceOf(price: EndpointConfig['price'], provider: Provider): Endpoint['price'] {
  if (price === 'free') return 'free'
  if (price === undefined) return provider.baseUrl === undefined ? 'free' : 'unpriced'
  const token = (text: string | undefined) => (text === undefined ? undefined : rateFromUsdPerMillion(text))
  const unit = (text: string | undefined) => (text === undefined ? undefined : rateFromUsd(text))
  const rates: Price = {
    prompt: token(price.prompt) ?? 0n,
    completion: token(price.completion) ?? 0n,
    cached: token(price.cached),
    cacheWrite: token(price.cache_write),
    cacheWriteLong: token(price.cache_write_1h),
    reasoning: token(price.reasoning),
    imageOutput: token(price.image_output),
    audioOutput: token(price.audio_output),
    audio: token(price.audio),
    request: unit(price.request),
    image: unit(price.image),
    webSearch: unit(price.web_search),
  }
  return rates
}

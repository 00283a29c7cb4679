/** Models that a provider lists itself. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { endpointId, priceOf } from './endpoints.ts'
import { factsOfEntry, positive } from './server-facts.ts'
import type { Endpoint, Model, Provider } from './types.ts'

/** A provider's list is its own text, so what is taken from it is bounded. */
const MOST_MODELS = 2000
/** What fits behind `provider/` in a slug. */
const NAME = /^(?=.{1,180}$)[\w.+-]+(?:\/[\w.+-]+)*(?::[\w.+-]+)*$/

/** Input shown in lists where a server does not report what a model reads. */
const UNKNOWN_INPUT = ['text', 'image']

const NO_FLAGS: Model['flags'] = new Set()

/** What a provider lists. */
export interface Listing {
  /** `{ data: [{ id, created?, context_length?, … }] }`, the OpenAI form. */
  readonly list: JsonObject
  /** True where the provider's address is loopback or private: a server of the operator's own. */
  readonly local: boolean
}

/**
 * The models of a reply of `GET {base_url}/models`, each as `provider/name`. They are free at a server of the operator's own,
 * cost what the configuration says, else are without a price. Entries that are no model are passed over.
 */
export function discoveredModels(provider: Provider, { list, local }: Listing): Model[] {
  const { price = local ? 'free' : undefined } = provider.discovery ?? {}
  return [...listedModels(list)].map(([id, entry]) => discovered(provider, { id, entry, price }))
}

/** The entries of an OpenAI list by id, each once; what is no model is passed over. */
export function listedModels(listing: JsonObject): Map<string, JsonObject> {
  const entries: Json[] = Array.isArray(listing.data) ? listing.data.slice(0, MOST_MODELS) : []
  const models = new Map<string, JsonObject>()
  for (const entry of entries) {
    if (isObject(entry) && typeof entry.id === 'string' && NAME.test(entry.id) && !models.has(entry.id)) models.set(entry.id, entry)
  }
  return models
}

interface Found {
  readonly id: string
  readonly entry: JsonObject
  readonly price: 'free' | 'snapshot' | undefined
}

function discovered(provider: Provider, { id, entry, price }: Found): Model {
  const slug = `${provider.slug}/${id}`
  const { context_length: context, input_modalities: input, kind = 'generate', quantization } = factsOfEntry(entry)
  const endpoints: Endpoint[] = []
  const model: Model = {
    slug,
    name: `${provider.name}: ${id}`,
    description: '',
    created: positive(entry.created) ?? 0,
    kind,
    context,
    maxOutput: undefined,
    input: input ?? UNKNOWN_INPUT,
    ...(input === undefined ? { anyInput: true } : {}),
    output: kind === 'embedding' ? ['embeddings'] : ['text'],
    scores: {},
    flags: NO_FLAGS,
    endpoints,
  }
  endpoints.push({
    id: endpointId(slug, provider.slug, undefined),
    provider,
    model,
    upstreamModel: id,
    price: priceOf(price, provider, id, kind),
    context,
    maxOutput: undefined,
    quantization: quantization ?? 'unknown',
    variant: undefined,
    tier: undefined,
    supported: undefined,
    scores: {},
    credential: provider.credential,
  })
  return model
}

/** Models that a provider lists itself. */
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { endpointId } from './endpoints.ts'
import { factsOfEntry, positive } from './server-facts.ts'
import type { Endpoint, Model, Provider } from './types.ts'

/** A provider's list is its own text, so what is taken from it is bounded. */
const MOST_MODELS = 2000
/** What fits behind `provider/` in a slug. */
const NAME = /^(?=.{1,180}$)[\w.+-]+(?:\/[\w.+-]+)*(?::[\w.+-]+)*$/

/** Nothing is known of what it reads: better an image too many than one refused. */
const UNKNOWN_INPUT = ['text', 'image']

/**
 * The models of a reply of `GET {base_url}/models`, each as `provider/name` and free. Entries that are no model are passed over.
 * @param listing `{ data: [{ id, created?, context_length?, … }] }`, the OpenAI form.
 */
export function discoveredModels(provider: Provider, listing: JsonObject): Model[] {
  return [...listedModels(listing)].map(([id, entry]) => discovered(provider, id, entry))
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

function discovered(provider: Provider, id: string, entry: JsonObject): Model {
  const slug = `${provider.slug}/${id}`
  const { context_length: context, input_modalities: input = UNKNOWN_INPUT, kind = 'generate', quantization } = factsOfEntry(entry)
  const endpoints: Endpoint[] = []
  const model: Model = {
    slug,
    name: `${provider.name}: ${id}`,
    description: '',
    created: positive(entry.created) ?? 0,
    kind,
    context,
    maxOutput: undefined,
    defaultMaxOutput: Math.min(4096, context ?? 4096),
    input,
    output: kind === 'embedding' ? ['embeddings'] : ['text'],
    scores: {},
    distillable: false,
    endpoints,
  }
  endpoints.push({
    id: endpointId(slug, provider.slug, undefined),
    provider,
    model,
    upstreamModel: id,
    price: 'free',
    context,
    maxOutput: undefined,
    quantization: quantization ?? 'unknown',
    variant: undefined,
    tier: undefined,
    supported: undefined,
    scores: {},
  })
  return model
}

/** What a provider lists, in the OpenAI form; the caller owns time-outs and sizes. */
export type FetchListing = (provider: Provider) => Promise<JsonObject>

/**
 * Asks every provider with `discover: true` at once.
 * @returns what answered; a provider that fails is left out and told to `failed`.
 */
export async function discoverListings(
  providers: Iterable<Provider>,
  fetchListing: FetchListing,
  failed: (provider: Provider, error: unknown) => void,
): Promise<Map<string, JsonObject>> {
  const listings = new Map<string, JsonObject>()
  const ask = async (provider: Provider): Promise<void> => {
    try {
      listings.set(provider.slug, await fetchListing(provider))
    } catch (error) {
      failed(provider, error)
    }
  }
  await Promise.all([...providers].filter((provider) => provider.discover).map(ask))
  return listings
}

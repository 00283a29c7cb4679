/** Models that a provider lists itself. */
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { endpointId } from './endpoints.ts'
import type { Endpoint, Model, Provider } from './types.ts'

/** A provider's list is its own text, so what is taken from it is bounded. */
const MOST_MODELS = 2000
/** What fits behind `provider/` in a slug. */
const NAME = /^(?=.{1,180}$)[\w.+-]+(?:\/[\w.+-]+)*(?::[\w.+-]+)*$/

/**
 * The models of a reply of `GET {base_url}/models`, each as `provider/name` and free. Entries that are no model are passed over.
 * @param listing `{ data: [{ id, created?, context_length?, … }] }`, the OpenAI form.
 */
export function discoveredModels(provider: Provider, listing: JsonObject): Model[] {
  const entries: Json[] = Array.isArray(listing.data) ? listing.data.slice(0, MOST_MODELS) : []
  const models = new Map<string, Model>()
  for (const entry of entries) {
    if (!isObject(entry) || typeof entry.id !== 'string' || !NAME.test(entry.id)) continue
    if (!models.has(entry.id)) models.set(entry.id, discovered(provider, entry.id, entry))
  }
  return [...models.values()]
}

function discovered(provider: Provider, id: string, entry: JsonObject): Model {
  const slug = `${provider.slug}/${id}`
  const context = positive(entry.context_length) ?? positive(entry.max_model_len) ?? positive(entry.context_window)
  const endpoints: Endpoint[] = []
  const model: Model = {
    slug,
    name: `${provider.name}: ${id}`,
    description: '',
    created: positive(entry.created) ?? 0,
    kind: 'generate',
    context,
    maxOutput: undefined,
    defaultMaxOutput: Math.min(4096, context ?? 4096),
    input: ['text', 'image'],
    output: ['text'],
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
    quantization: 'unknown',
    variant: undefined,
    tier: undefined,
    supported: undefined,
    scores: {},
  })
  return model
}

function positive(value: Json | undefined): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined
}

/** Fetches `GET {base_url}/models` of a provider; the caller owns time-outs and sizes. */
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

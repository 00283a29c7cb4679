/** Models that a provider lists itself, and when the lists are fetched: at the start, on an interval, and when a provider comes back. */

import type { Clock, Timer } from '../../core/clock.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { declaredPrice, endpointId } from './endpoints.ts'
import { factsOfEntry, positive } from './server-facts.ts'
import type { Endpoint, Model, Provider } from './types.ts'

/** A provider's list is its own text, so what is taken from it is bounded. */
const MAX_MODELS = 2000
/** Names that fit behind `provider/` in a slug. Servers call a model by the path that they loaded it from, so a slash may lead. */
const NAME = /^\/?(?=.{1,180}$)[\w.+-]+(?:\/[\w.+-]+)*(?::[\w.+-]+)*$/
/** Ids that a warning names. */
const MAX_NAMED = 8
const MAX_NAMED_LENGTH = 200

/** Input shown in lists where a server does not report what a model reads. */
const UNKNOWN_INPUT = ['text', 'image']

const NO_FLAGS: Model['flags'] = new Set()

/** Models that a provider lists. */
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
  const entries: Json[] = Array.isArray(listing.data) ? listing.data.slice(0, MAX_MODELS) : []
  const models = new Map<string, JsonObject>()
  for (const entry of entries) {
    if (isObject(entry) && typeof entry.id === 'string' && NAME.test(entry.id) && !models.has(entry.id)) models.set(entry.id, entry)
  }
  return models
}

/** Entries of a list that cannot be used: ids of another form than names of models have, and entries without any. */
export function unusableEntries(listing: JsonObject): string[] {
  const entries: Json[] = Array.isArray(listing.data) ? listing.data : []
  const ids = entries.map((entry) => (isObject(entry) && typeof entry.id === 'string' ? entry.id : JSON.stringify(entry)))
  return ids.filter((id) => !NAME.test(id)).map((id) => id.slice(0, MAX_NAMED_LENGTH))
}

interface Found {
  readonly id: string
  readonly entry: JsonObject
  readonly price: 'free' | 'snapshot' | undefined
}

/** A model of unknown kind is one that generates text, with a twin for embeddings: the server decides. */
function discovered(provider: Provider, found: Found): Model {
  const { kind } = factsOfEntry(found.entry)
  if (kind !== undefined) return discoveredAs(provider, found, kind)
  const asEmbedding = discoveredAs(provider, found, 'embedding', { unknownKind: true })
  return discoveredAs(provider, found, 'generate', { unknownKind: true, asEmbedding })
}

function discoveredAs(
  provider: Provider,
  { id, entry, price }: Found,
  kind: Model['kind'],
  twin: Pick<Model, 'unknownKind' | 'asEmbedding'> = {},
): Model {
  const slug = `${provider.slug}/${id.replace(/^\//, '')}`
  const { context_length: context, input_modalities: input, quantization } = factsOfEntry(entry)
  const endpoints: Endpoint[] = []
  const model: Model = {
    slug,
    name: `${provider.name}: ${id}`,
    description: '',
    created: positive(entry.created) ?? 0,
    kind,
    ...twin,
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
    price: declaredPrice(price, provider, id, kind),
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

/** Parts of a list from which the catalogue is made: times of a request and statistics of the server (llama.cpp, infinity) are no change. */
function catalogueFacts({ list, local }: Listing): string {
  return JSON.stringify([local, [...listedModels(list)].map(([id, entry]) => [id, factsOfEntry(entry)])])
}

/** Receives lists that cannot be used. */
export interface DiscoveryReports {
  /** @param isFirst false where it has failed since its last list. */
  readonly failed: (provider: Provider, error: unknown, isFirst: boolean) => void
  /**
   * Called once for entries of a list that cannot be used.
   * @param others how many there are beside those that are named.
   */
  readonly passedOver: (provider: Provider, entries: readonly string[], others: number) => void
}

interface DiscoveryOptions extends DiscoveryReports {
  readonly clock: Clock
  /** Rejects where the provider does not answer; has time-outs of its own. */
  readonly fetch: (provider: Provider) => Promise<Listing>
  /** Called when a list is new or has changed. */
  readonly changed: () => void
  /** Those to begin with. */
  readonly listings?: ReadonlyMap<string, Listing> | undefined
}

/** Milliseconds until a provider that does not answer is called again. */
const AWAY_MS = 15_000

interface Watched {
  readonly provider: Provider
  timer: Timer | undefined
  fetching: Promise<void> | undefined
  /** Of the last list, to see changes. */
  text: string
  /** Entries that have been warned of. */
  readonly warned: Set<string>
  isFailing: boolean
}

export class Discovery {
  /** By slug of the provider. A provider that stops answering keeps its last list: requests then show what is wrong. */
  readonly listings: Map<string, Listing>
  private readonly watched = new Map<string, Watched>()
  private readonly options: DiscoveryOptions

  constructor(options: DiscoveryOptions) {
    this.options = options
    this.listings = new Map(options.listings)
  }

  /** Fetches the lists of these providers now and from now on, and of no others. Resolves when each has answered or failed. */
  async watch(providers: Iterable<Provider>): Promise<void> {
    const before = new Map(this.watched)
    this.close()
    for (const provider of providers) {
      if (!provider.discover) continue
      // A list of another address, or one that another key was given, is not this provider's.
      const old = before.get(provider.slug)
      const same = old !== undefined && JSON.stringify(old.provider) === JSON.stringify(provider)
      if (!same) this.listings.delete(provider.slug)
      const { text, warned, isFailing } = same ? old : { text: '', warned: new Set<string>(), isFailing: false }
      this.watched.set(provider.slug, { provider, timer: undefined, fetching: undefined, text, warned, isFailing })
    }
    for (const slug of this.listings.keys()) if (!this.watched.has(slug)) this.listings.delete(slug)
    await Promise.all([...this.watched.values()].map((each) => this.ask(each)))
  }

  /** Fetches the list of one provider now: it serves again after an outage, perhaps other models than before. */
  again(slug: string): void {
    const watched = this.watched.get(slug)
    if (watched) void this.ask(watched)
  }

  close(): void {
    for (const { timer } of this.watched.values()) timer?.cancel()
    this.watched.clear()
  }

  private ask(watched: Watched): Promise<void> {
    watched.fetching ??= this.fetchOnce(watched).finally(() => {
      watched.fetching = undefined
    })
    return watched.fetching
  }

  private async fetchOnce(watched: Watched): Promise<void> {
    const { provider } = watched
    watched.timer?.cancel()
    let next = provider.discovery?.every ?? AWAY_MS
    try {
      this.take(watched, await this.options.fetch(provider))
    } catch (error) {
      this.options.failed(provider, error, !watched.isFailing)
      watched.isFailing = true
      next = Math.min(next, AWAY_MS)
    }
    if (this.isCurrent(watched)) watched.timer = this.options.clock.after(next, () => void this.ask(watched))
  }

  private take(watched: Watched, listing: Listing): void {
    if (!this.isCurrent(watched)) return
    watched.isFailing = false
    this.warnAbout(watched, listing)
    const text = catalogueFacts(listing)
    if (text === watched.text) return
    watched.text = text
    this.listings.set(watched.provider.slug, listing)
    this.options.changed()
  }

  private warnAbout({ provider, warned }: Watched, { list }: Listing): void {
    const entries = unusableEntries(list).filter((id) => !warned.has(id) && warned.size < MAX_MODELS)
    for (const id of entries) warned.add(id)
    const named = entries.slice(0, MAX_NAMED)
    if (named.length > 0) this.options.passedOver(provider, named, entries.length - named.length)
  }

  /** False for an answer that comes after the provider was replaced, or after the end. */
  private isCurrent(watched: Watched): boolean {
    return this.watched.get(watched.provider.slug) === watched
  }
}

/** Builds the catalogue from the configuration and finds models by slug. */
import { LRUCache } from 'lru-cache'
import type { Config, ModelConfig, ProviderConfig } from '../../config/config.ts'
import type { JsonObject } from '../../core/json.ts'
import { compareVersions, familyMember, isLatestSlug, latestSlug } from '../../core/model-family.ts'
import { type CredentialLookup, credentialOnTop } from '../../services/credentials/settings.ts'
import { discoveredModels, type Listing, listedModels } from './discovery.ts'
import { buildModel, type EndpointParts } from './endpoints.ts'
import { loadSnapshot } from './price-snapshot.ts'
import { factsOfEntry } from './server-facts.ts'
import type { Model, Provider } from './types.ts'

export interface Found {
  model: Model
  /** Suffix of the slug that no model's own slug holds, such as `nitro` or `floor:online`. */
  variant?: string
  /** `latest`: the slug stands for the newest model of a family. */
  strategy?: 'latest'
}

/** Kinds of model that a file can declare. */
type DeclaredKind = NonNullable<ModelConfig['kind']>

/** Model of a slug without its aliases and variant suffixes. */
export interface Bare {
  slug: string
  variant?: string
}

export interface Catalog {
  /** By slug. */
  readonly providers: ReadonlyMap<string, Provider>
  /** Declared and discovered models without wildcards, in order of the file. */
  readonly models: readonly Model[]
  /** The same by slug. */
  readonly bySlug: ReadonlyMap<string, Model>
  /** Other slugs, with the slugs that they stand for. */
  readonly aliases: ReadonlyMap<string, string>
  /**
   * Exact slug, then alias, then the newest of a family, then without variant suffixes, then a bare name, then a wildcard.
   * @param kind of the operation: what a name behind a wildcard is that declares no kind.
   */
  find(slug: string, kind?: DeclaredKind): Found | undefined
  /** Slug behind aliases and variant suffixes; the model may not exist. */
  bare(slug: string): Bare
}

/** Suffixes that change how a model is routed (docs/contract.md#model-names); any other belongs to a name. */
const VARIANTS: ReadonlySet<string> = new Set(['free', 'extended', 'thinking', 'nitro', 'floor', 'exacto', 'online'])

/** Clients of one provider name a model by its dated release. */
const DATE = /-20\d{6}$/

/** Callers choose the names behind a wildcard, so what is made for them is bounded. */
const MAX_MADE = 1000
const MAX_SLUG_LENGTH = 256
/** Aliases and suffixes of one slug; the loader refuses circles. */
const MAX_STEPS = 32

/**
 * @param listings what providers list, by slug, for providers with `discover: true`.
 * @param credentials absent where no provider is going to be called.
 */
export function buildCatalog(config: Config, listings: ReadonlyMap<string, Listing> = new Map(), credentials?: CredentialLookup): Catalog {
  return new BuiltCatalog(config, listings, credentials)
}

class BuiltCatalog implements Catalog {
  readonly providers: ReadonlyMap<string, Provider>
  readonly models: readonly Model[]
  readonly aliases: ReadonlyMap<string, string>
  readonly findCredential: EndpointParts['findCredential']
  readonly listed: EndpointParts['listed']
  readonly bySlug = new Map<string, Model>()
  /** By author. */
  private readonly wildcards = new Map<string, ModelConfig>()
  /** Models by bare name: the part of the slug behind the author, then what providers call them. */
  private readonly byName = new Map<string, Model>()
  /** The newest model of each family by its `~author/family-latest`. */
  private readonly latest = new Map<string, Model>()
  private readonly made = new LRUCache<string, Model>({ max: MAX_MADE })

  constructor(config: Config, listings: ReadonlyMap<string, Listing>, credentials: CredentialLookup | undefined) {
    this.providers = new Map(config.providers.map((provider) => [provider.slug, buildProvider(provider, credentials)]))
    this.findCredential = endpointCredentials(config, credentials)
    this.listed = listedFacts(this.providers, listings)
    this.aliases = new Map(Object.entries(config.aliases))
    for (const [slug, model] of Object.entries(config.models)) {
      if (slug.endsWith('/*')) {
        this.wildcards.set(slug.slice(0, -2), model)
        if (model.endpoints.some(({ price }) => price === 'snapshot')) loadSnapshot()
        // Looked up now, so that it outlives the reload, whichever names are called.
        buildModel(slug, model, this)
      } else this.bySlug.set(slug, buildModel(slug, model, this))
    }
    for (const provider of this.providers.values()) {
      const listing = provider.discover ? listings.get(provider.slug) : undefined
      for (const model of listing ? discoveredModels(provider, listing) : []) {
        if (!this.bySlug.has(model.slug)) this.bySlug.set(model.slug, model)
      }
    }
    this.models = [...this.bySlug.values()]
    this.nameModels()
    this.nameFamilies()
  }

  find(slug: string, kind: DeclaredKind = 'generate'): Found | undefined {
    const exact = this.bySlug.get(slug)
    if (exact) return { model: exact }
    const { slug: bare, variant } = this.bare(slug)
    const newest = isLatestSlug(bare) ? this.latest.get(bare) : undefined
    const model =
      newest ?? this.bySlug.get(bare) ?? this.byName.get(bare) ?? this.byName.get(bare.replace(DATE, '')) ?? this.fromWildcard(bare, kind)
    if (!model) return undefined
    const found: Found = { model }
    if (variant !== undefined) found.variant = variant
    if (newest || isLatestSlug(slug.replace(/:.*/, ''))) found.strategy = 'latest'
    return found
  }

  bare(slug: string): Bare {
    let bare = slug
    let variant: string | undefined
    for (let step = 0; step < MAX_STEPS; step++) {
      if (this.bySlug.has(bare)) break
      const target = this.aliases.get(bare)
      const colon = bare.lastIndexOf(':')
      const suffix = bare.slice(colon + 1)
      if (target !== undefined) bare = target
      else if (colon > 0 && VARIANTS.has(suffix)) {
        variant = variant === undefined ? suffix : `${suffix}:${variant}`
        bare = bare.slice(0, colon)
      } else break
    }
    return variant === undefined ? { slug: bare } : { slug: bare, variant }
  }

  /** By day of release, then by version; of two that are equal in both the first in the file. */
  private nameFamilies(): void {
    for (const model of this.models) {
      const slug = model.kind === 'generate' ? latestSlug(model.slug) : undefined
      const rival = slug === undefined ? undefined : this.latest.get(slug)
      if (slug !== undefined && (!rival || isNewer(model, rival))) this.latest.set(slug, model)
    }
  }

  /**
   * Of two models with one name the first in the file has it, so that an alias or an order can decide. A provider's name is that of the model
   * whose first endpoint has it, before one that only falls back on that.
   */
  private nameModels(): void {
    const name = (bare: string, model: Model): void => {
      if (!bare.includes('/') && !this.byName.has(bare)) this.byName.set(bare, model)
    }
    for (const model of this.models) name(model.slug.slice(model.slug.indexOf('/') + 1), model)
    const most = this.models.reduce((longest, { endpoints }) => Math.max(longest, endpoints.length), 0)
    for (let place = 0; place < most; place++)
      for (const model of this.models) {
        const endpoint = model.endpoints[place]
        if (endpoint) name(endpoint.upstreamModel, model)
      }
  }

  private fromWildcard(slug: string, kind: DeclaredKind): Model | undefined {
    const slash = slug.indexOf('/')
    const author = slug.slice(0, slash)
    const config = slash < 1 || slug.length > MAX_SLUG_LENGTH || slug.includes('*') ? undefined : this.wildcards.get(author)
    if (!config || slash === slug.length - 1 || DOT_SEGMENT.test(slug)) return undefined
    const name = `${kind} ${slug}`
    let model = this.made.get(name)
    if (!model) {
      model = buildModel(slug, { kind, ...config }, this, {
        slug: `${author}/*`,
        tail: slug.slice(slash + 1),
        hasKind: config.kind !== undefined,
      })
      this.made.set(name, model)
    }
    return model
  }
}

/**
 * Some providers take the model in the path of the address, where `.` and `..` lead to other resources of the same host with the
 * operator's key (RFC 3986 section 5.2.4): no model is called so.
 */
const DOT_SEGMENT = /(?:^|[/\\])\.{1,2}(?:[/\\]|$)/

function isNewer(model: Model, rival: Model): boolean {
  return model.created > rival.created || (model.created === rival.created && compareVersions(member(model), member(rival)) > 0)
}

const member = (model: Model) => familyMember(model.slug.slice(model.slug.indexOf('/') + 1))

function buildProvider({ credential, ...config }: ProviderConfig, credentials: CredentialLookup | undefined): Provider {
  const own = credential && credentials?.of({ provider: config.slug }, { ...credential, connection: config.connection })
  return Object.freeze({ ...config, ...(own === undefined ? {} : { credential: own }) })
}

/** @returns finds what the list of a provider with `discover` states of a model. */
function listedFacts(providers: ReadonlyMap<string, Provider>, listings: ReadonlyMap<string, Listing>): EndpointParts['listed'] {
  const lists = new Map<string, ReadonlyMap<string, JsonObject>>()
  for (const [slug, { list }] of listings) if (providers.get(slug)?.discover) lists.set(slug, listedModels(list))
  return (provider, model) => {
    const entry = lists.get(provider)?.get(model)
    return entry && factsOfEntry(entry)
  }
}

/** @returns finds the credential of an endpoint that has settings of its own. */
function endpointCredentials({ providers }: Config, credentials: CredentialLookup | undefined): EndpointParts['findCredential'] {
  const bases = new Map(providers.map((provider) => [provider.slug, provider]))
  return (provider, endpoint, own) => {
    const { credential, connection } = bases.get(provider) ?? {}
    const settings = credentialOnTop(own, credential)
    return settings && credentials?.of({ provider, endpoint }, { ...settings, connection })
  }
}

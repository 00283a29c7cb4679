/** From a slug to models to the endpoints that may serve, each exclusion with its reason. */
import { badField, Fault, unknownModel } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { requestedTier } from '../../core/service-tiers.ts'
import type { GatewayFields, PluginEntry } from '../../dialects/canon/request-fields.ts'
import type { Endpoint, Model } from '../../routing/catalog/types.ts'
import {
  allowsModel,
  filterEndpoints,
  type MergedPreferences,
  mergePreferences,
  NO_PREFERENCES,
  noEndpointFault,
  type PreferenceSide,
  type Removed,
  type RouteNeeds,
  requestSides,
  type Tier,
} from '../../routing/index.ts'
import type { ChainDependencies, ChainSettings, PluginSetting } from '../dependencies.ts'
import { type Accepted, type Aimed, type Guarded, narrow, type Routed } from '../exchange.ts'
import { type Bound, type BoundTerms, boundFor } from '../guard/guardrail-terms.ts'
import type { Layer, Service } from '../layer.ts'
import type { Advisor, Demand, Variant } from '../records.ts'
import { refusingModels } from '../refusing-limit.ts'
import { inputModalities, parseTier, priceMoment } from '../request/client-request.ts'
import { havingIds } from '../request/provider-ids.ts'
import { advisorBar, advisorsIn, policyBar } from './advisors.ts'
import { withCacheFill } from './cache-only.ts'
import { DialectAbility, sentTo } from './dialect-ability.ts'
import { findBinding } from './drained.ts'
import { hoistSearch, hoistTools, isSpareType, leaveToProviders, needsHoisting, offersShared, sparesTools } from './hoisted-tools.ts'
import { offersSearch, settleSearch } from './native-search.ts'
import { withOwnKeys } from './own-keys.ts'
import { NOT_READ, readInputs, without } from './read-inputs.ts'
import { type NamedRouter, rememberModel, routableModels, routeModels, routerNamed, usable } from './router-models.ts'
import { withThread } from './threads.ts'
import { EMBEDDING, GENERATING, ofKind, ofShownKinds, unknown, type Wanted, wrongKind } from './wanted-kind.ts'

/** Dependencies of the choice of models. */
type ResolveDependencies = Pick<ChainDependencies, 'byok' | 'upstreams' | 'health' | 'sessions' | 'clock' | 'modelKinds'>

/** The way past the layers for compaction, plugins and tools, for requests of which these have nothing to do. */
export interface DirectWay {
  readonly plan: Service<Guarded>
  /** Plugins that may act on a request which names none. */
  readonly implied: readonly PluginSetting[]
}

/** @param direct undefined where guardrails read requests, or where every request goes through all layers. */
export function resolveLayer(
  settings: ChainSettings,
  dependencies: ResolveDependencies,
  direct: DirectWay | undefined,
): Layer<Accepted, Routed> {
  return (through) => {
    const next: Service<Routed> = direct
      ? (exchange) => (isDirect(exchange, direct.implied) ? direct.plan(exchange) : through(exchange))
      : through
    return function handle(exchange) {
      const found = findModels(exchange, settings)
      const isKnown = !found.models.some((model) => model.unknownKind)
      const choice = isKnown ? found : ofShownKinds(found, wantedBy(exchange), dependencies.modelKinds)
      const { hasOtherTools, mayHoldMedia, client } = exchange.request
      const mayBeNeeded = hasOtherTools || mayHoldMedia || client.nativeTools !== undefined
      const ability = mayBeNeeded ? new DialectAbility(exchange, settings.catalog, dependencies.upstreams) : undefined
      const bound = settings.guardrails.length > 0 ? boundFor(settings.guardrails, exchange.auth.key) : UNBOUND
      const aimed = Object.assign(exchange, { demand: resolveDemand(exchange, choice, { bound, ability, settings }) })
      const { upstreams, sessions } = dependencies
      const bounds = { ability, terms: bound.terms, plugins: settings.plugins, upstreams, sessions }
      const { models, router } = choice
      if (!router)
        return next(settled(Object.assign(aimed, { route: { models, endpoints: serving(aimed, modelEndpoints(models), bounds) } })))
      const routable = routableModels(aimed, settings.catalog).filter((model) => !dependencies.modelKinds.lacks(model, 'generate'))
      const endpoints = usable(aimed, serving(aimed, modelEndpoints([...new Set([...routable, ...models])]), bounds))
      const { memory, route } = routeModels(aimed, router, { models: routable, endpoints, fallbacks: models }, dependencies)
      const routed = settled(Object.assign(aimed, { route }))
      if (!memory) return next(routed)
      return next(routed).then((reply) => {
        rememberModel(routed, memory, reply, dependencies.sessions)
        return reply
      })
    }
  }

  /** Searches and tools that the providers of all endpoints have are left to them. */
  function settled(routed: Routed): Routed {
    const owned = dependencies.byok.isEmpty ? routed : withOwnKeys(routed, dependencies.byok)
    const pinned = owned.run.pinned ? narrow(owned, havingIds(owned.route.endpoints, owned.run.pinned)) : owned
    const { body, client, hasOtherTools, edited } = pinned.request
    const threaded = body.thread === undefined ? pinned : withThread(pinned)
    const exchange = client.fillsCache?.(body) ? withCacheFill(threaded, dependencies.upstreams) : threaded
    if (!hasOtherTools && !edited) return exchange
    if (offersSearch(exchange)) settleSearch(exchange, settings.plugins, dependencies.upstreams)
    if (offersShared(exchange)) leaveToProviders(exchange, dependencies.upstreams)
    return exchange
  }
}

/** An exchange begins without anything that guardrails have found. */
function isDirect(exchange: Routed, implied: readonly PluginSetting[]): exchange is Guarded {
  const { request, demand } = exchange
  if (request.compaction !== undefined || request.hasOtherTools || request.edited || demand.plugins.length > 0) return false
  for (const setting of implied) if (mayBeImplied(exchange, setting)) return false
  return true
}

/** Without a look at the request by the plugin itself. */
export function mayBeImplied({ request, demand, route }: Routed, { plugin, defaults }: PluginSetting): boolean {
  const { impliedBy } = plugin
  if (defaults.enabled === true || !impliedBy) return true
  const { media, strategy, context } = impliedBy
  if (media && !request.mayHoldMedia) return false
  if (strategy !== undefined && strategy !== demand.strategy) return false
  return context === undefined || (route.models[0]?.context ?? Number.POSITIVE_INFINITY) <= context
}

const UNBOUND: Bound = { terms: undefined, budgets: [], requireParameters: false }
const NO_ADVISORS: readonly Advisor[] = []

interface Bounded {
  bound: Bound
  ability: DialectAbility | undefined
  settings: ChainSettings
}

function resolveDemand(exchange: Accepted, choice: ModelChoice, { bound, ability, settings }: Bounded): Demand {
  const { requested, strategy, variant, plugins, models, router } = choice
  const { gateway } = exchange.request
  const preferences = joinPreferences(exchange, variant)
  return {
    requested,
    strategy,
    variant,
    serviceTier: gateway.serviceTier === undefined ? undefined : parseTier(gateway.serviceTier),
    plugins,
    models: router ? [] : models,
    preferences: bound.requireParameters ? { ...preferences, require_parameters: true } : preferences,
    budgets: bound.budgets,
    advisors: ability?.isNeeded ? advisorsIn(exchange, settings.catalog) : NO_ADVISORS,
  }
}

function modelEndpoints(models: readonly Model[]): readonly Endpoint[] {
  return models.length === 1 && models[0] ? models[0].endpoints : models.flatMap((model) => model.endpoints)
}

const NO_SIDES: readonly PreferenceSide[] = []

/** Merges the preferences of policies, request, variant, key and account. */
function joinPreferences({ request: { gateway }, auth: { key }, head, decision }: Accepted, variant: Variant): MergedPreferences {
  const { provider } = head.config
  const { sides = NO_SIDES } = decision ?? {}
  const isStated = gateway.provider || gateway.presetProvider || gateway.route || variant.sort || key.provider || provider
  if (!isStated && sides.length === 0) return NO_PREFERENCES
  return mergePreferences([
    ...sides,
    ...requestSides({ provider: gateway.provider, route: gateway.route, variantSort: variant.sort }),
    { from: 'preset', preferences: gateway.presetProvider },
    { from: 'key', preferences: key.provider },
    { from: 'account', preferences: provider },
  ])
}

/** Constraints beside the preferences. */
interface Bounds {
  /** Absent where every dialect can express the request. */
  ability: DialectAbility | undefined
  terms: BoundTerms | undefined
  plugins: readonly PluginSetting[]
  upstreams: ChainDependencies['upstreams']
  sessions: ChainDependencies['sessions']
  /** No endpoint takes all kinds of input: plugins read what they can. */
  reading?: boolean
}

function serving(exchange: Aimed, all: readonly Endpoint[], bounds: Bounds): readonly Endpoint[] {
  const { ability, terms, plugins, upstreams, sessions } = bounds
  if (ability?.isNeeded && needsHoisting(exchange) && hoistSearch(exchange, plugins, all))
    return serving(exchange, all, { ...bounds, ability: ability.anew() })
  const needsParameters =
    exchange.demand.preferences.require_parameters === true ||
    all.some(({ supported, quirks, provider }) => supported !== undefined || (quirks ?? provider.quirks).body?.drop !== undefined) ||
    namesVerbosity(exchange.request.body)
  const inputs = exchange.request.mayHoldMedia && !exchange.request.client.embedding ? inputModalities(exchange) : undefined
  const { always, otherwise } = inputs ? readInputs(exchange, plugins) : NOT_READ
  const read = bounds.reading ? new Set([...always, ...otherwise]) : always
  const needs: RouteNeeds = {
    provider: exchange.demand.preferences,
    maxOutput: exchange.request.need.cap,
    // Of embeddings each input is looked at by itself, once the endpoints are known.
    input: inputs && without(inputs, read),
    output: Array.isArray(exchange.request.body.modalities) ? otherModalities(exchange.request.body.modalities) : undefined,
    used: needsParameters ? exchange.request.canonical().used : undefined,
    drained: all.some(({ weight }) => weight === 0) ? findBinding(exchange, all, sessions) : undefined,
    effort: needsParameters ? exchange.request.canonical().reasoning?.effort : undefined,
    sent: needsParameters ? (endpoint) => sentTo(endpoint, upstreams) : undefined,
    unable: ability?.isNeeded ? (endpoint) => ability.lacks(endpoint) : undefined,
    serviceTier: exchange.demand.serviceTier,
    priceMoment: exchange.demand.preferences.max_price ? priceMoment(exchange, all) : undefined,
    barred:
      (terms || exchange.demand.advisors.length > 0 || undefined) &&
      ((endpoint) => terms?.bar(endpoint, terms.priced ? priceMoment(exchange, all) : undefined) ?? advisorBar(exchange, endpoint, terms)),
    denied: exchange.decision?.readsEndpoints ? policyBar(exchange, exchange.decision) : undefined,
    tiers:
      !exchange.demand.variant.tiers ||
      exchange.demand.preferences.order?.length ||
      requestedTier(exchange.request.gateway.serviceTier) === 'default'
        ? undefined
        : exchange.demand.variant.tiers,
  }
  const { kept, removed } = isOpen(all, needs) ? { kept: all, removed: NONE } : filterEndpoints(all, needs)
  exchange.history.removed = removed
  if (kept.length === 0) {
    if (!bounds.reading && otherwise.size > 0 && removed.some(({ filter }) => filter === 'input_modality'))
      return serving(exchange, all, { ...bounds, reading: true })
    if (ability && removed.some(({ filter }) => filter === 'dialect')) {
      const found = hoistSearch(exchange, plugins, all)
      if (hoistTools(exchange) || found) return serving(exchange, all, { ...bounds, ability: ability.anew() })
      const spared = sparesTools(exchange) ? ability.sparing(isSpareType) : undefined
      if (spared) return serving(exchange, all, { ...bounds, ability: spared })
      throw ability.fault(removed, exchange.demand)
    }
    const slugs = exchange.demand.models.map((model) => model.slug)
    throw noEndpointFault(slugs.length > 0 ? slugs : [exchange.demand.requested], removed)
  }
  return kept
}

const NONE: readonly Removed[] = []

/** True where the request wants nothing of its endpoints, nor they of it. */
function isOpen(all: readonly Endpoint[], needs: RouteNeeds): boolean {
  if (needs.provider !== NO_PREFERENCES) return false
  for (const name in needs) if (name !== 'provider' && needs[name as keyof RouteNeeds] !== undefined) return false
  for (const { selective } of all) if (selective) return false
  return true
}

/** Of the parameters that filter softly the only one that a dialect may have no field for. */
function namesVerbosity({ verbosity, text }: JsonObject): boolean {
  return verbosity !== undefined || (text !== undefined && isObject(text) && text.verbosity !== undefined)
}

/** Kinds of output beside text. */
function otherModalities(modalities: readonly unknown[]): string[] {
  return modalities.filter((one): one is string => typeof one === 'string' && one !== 'text')
}

/** Models that the slugs of the request stand for. */
interface ModelChoice extends Pick<Demand, 'requested' | 'strategy' | 'variant' | 'plugins'> {
  /** The primary one first, then those to fall back on; with a router only the latter. */
  readonly models: readonly Model[]
  /** Set where the primary slug stands for a choice among models, which is made once the filters are known. */
  readonly router?: NamedRouter
}

type Settings = Pick<ChainSettings, 'catalog' | 'plugins'>

/**
 * The models that a request may be served by, and what the slug says of strategy and variant.
 * @throws Fault 400 without a model or for one of another kind (404 of embeddings), 404 for one that is not there, 403 where the key may use none.
 */
function findModels(exchange: Accepted, settings: Settings): ModelChoice {
  const gateway = namedFields(exchange)
  const wanted = wantedBy(exchange)
  const first = gateway.model ?? gateway.models[0] ?? exchange.auth.key.levels?.textModel ?? exchange.head.config.defaultModel
  if (first === undefined) throw badField('model', 'is required: no default model is configured')
  const requested = gateway.requested ?? first
  const found = lookUp(settings, first, wanted)
  const router = found ? undefined : routerNamed(first, exchange.head.brand, settings)
  if (router && wanted === EMBEDDING) throw wrongKind(first, 'chooses among models that generate text', wanted)
  if (router) return routed(exchange, gateway, { requested, router, settings })
  const { model, variant, strategy } =
    found?.model.kind === wanted.kind ? found : ofKind(wanted, first, found ?? unknown(first, exchange, settings.catalog.models))
  const suffixes = variant === undefined ? NO_SUFFIX : parseSuffixes(first, variant, exchange)
  const alias = model.slug !== first && !first.startsWith(`${model.slug}:`)
  const fallbacks = gateway.model === undefined ? gateway.models.length - 1 : gateway.models.length
  const demand = {
    requested,
    strategy: strategy ?? (fallbacks > 0 ? 'fallback' : alias ? 'alias' : 'direct'),
    variant: suffixes.variant,
    plugins: suffixes.online ? withSearch(gateway.plugins) : gateway.plugins,
  }
  exchange.run.ctx.model = model.slug
  const models = gateway.models.length > 0 ? withFallbacks([model], gateway, { exchange, settings }) : [model]
  const { allowedModels } = exchange.auth.key
  if (!allowedModels) return { ...demand, models }
  const allowed = models.filter(({ slug }) => allowsModel(allowedModels, slug))
  if (allowed.length === 0) {
    const message = `This key may not use ${models.map(({ slug }) => slug).join(', ')}`
    throw new Fault('forbidden', { message, metadata: { limit: refusingModels(exchange.auth.key) } })
  }
  return { ...demand, models: allowed }
}

/** Fields of the request that name its models; where a policy names another model, that stands in the place of all of them. */
function namedFields({ request: { gateway }, decision, head }: Accepted): GatewayFields {
  if (decision?.model === undefined) return gateway
  const requested = gateway.requested ?? gateway.model ?? gateway.models[0] ?? head.config.defaultModel
  return { ...gateway, requested, model: decision.model, models: [] }
}

interface RouterChoice {
  readonly requested: string
  readonly router: NamedRouter
  readonly settings: Settings
}

function routed(exchange: Accepted, gateway: GatewayFields, { requested, router, settings }: RouterChoice): ModelChoice {
  if (gateway.model === undefined && gateway.models.length > 0) throw routerInList(0)
  const suffixes = router.suffixes === undefined ? NO_SUFFIX : parseSuffixes(requested, router.suffixes, exchange)
  const models = withFallbacks([], gateway, { exchange, settings })
  return {
    requested,
    strategy: router.router.strategy,
    variant: suffixes.variant,
    plugins: suffixes.online ? withSearch(gateway.plugins) : gateway.plugins,
    models: models.filter(({ slug }) => allowsModel(exchange.auth.key.allowedModels, slug)),
    router,
  }
}

/** The models of `models`, each once; the first of them where it is the primary one already leads the list. */
function withFallbacks(
  models: Model[],
  gateway: GatewayFields,
  { exchange, settings }: { exchange: Accepted; settings: Settings },
): Model[] {
  const { brand } = exchange.head
  const wanted = wantedBy(exchange)
  for (const [i, slug] of gateway.models.entries()) {
    if (i === 0 && gateway.model === undefined) continue
    if (slug.startsWith('@')) throw badField(`models[${i}]`, 'expected a model: a preset is named by `model` or `preset`')
    const found = lookUp(settings, slug, wanted)
    if (!found && routerNamed(slug, brand, settings)) throw routerInList(i)
    const { model } = ofKind(wanted, slug, found ?? unknown(slug, exchange, settings.catalog.models))
    if (!models.includes(model)) models.push(model)
  }
  return models
}

function routerInList(i: number): Fault {
  return badField(`models[${i}]`, 'expected a model: one that stands for a choice among models can only be named by `model`')
}

const wantedBy = ({ request }: Accepted): Wanted => (request.client.embedding ? EMBEDDING : GENERATING)

type Found = NonNullable<ReturnType<ChainSettings['catalog']['find']>>

/** Nearly all requests name a model by its very slug. */
function lookUp({ catalog }: Settings, slug: string, { kind }: Wanted): Found | undefined {
  const model = catalog.bySlug.get(slug)
  return model ? { model } : catalog.find(slug, kind)
}

/** Meaning of the suffixes of a slug. */
interface Suffixes {
  readonly variant: Variant
  /** `:online`: another way to name the plugin `web`. */
  readonly online: boolean
}

const NO_SUFFIX: Suffixes = { variant: {}, online: false }

/**
 * Suffixes that change the order (docs/contract.md#model-names). Static ones are listings of their own: not listed, not found.
 * @param suffixes chained by colons, such as `floor:exacto`; the first that sorts decides.
 */
function parseSuffixes(slug: string, suffixes: string, { request }: Accepted): Suffixes {
  let variant: Variant = {}
  let online = false
  for (const suffix of suffixes.split(':')) {
    const known = VARIANTS[suffix]
    if (suffix === 'online' && !request.client.embedding) {
      online = true
      continue
    }
    if (!known) throw unknownModel(slug)
    variant = { ...known, ...variant }
  }
  return { variant, online }
}

/** An entry of the request's own says how to search, or that it is not wanted. */
function withSearch(plugins: readonly PluginEntry[]): readonly PluginEntry[] {
  return plugins.some(({ id }) => id === 'web') ? plugins : [...plugins, { id: 'web' }]
}

const VARIANTS: Readonly<Record<string, Variant>> = {
  nitro: { sort: 'throughput', tiers: new Set<Tier>(['priority']) },
  floor: { sort: 'price', tiers: new Set<Tier>(['flex']) },
  exacto: { sort: 'exacto' },
}

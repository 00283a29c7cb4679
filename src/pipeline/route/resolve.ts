/** From a slug to models to the endpoints that may serve, each exclusion with its reason. */
import { isObject, type JsonObject } from '../../core/json.ts'
import type { Endpoint, Model } from '../../routing/catalog/types.ts'
import {
  filterEndpoints,
  type MergedPreferences,
  mergePreferences,
  NO_PREFERENCES,
  noEndpointFault,
  requestSides,
  tokensAt,
} from '../../routing/index.ts'
import type { ChainDependencies, ChainSettings, PluginSetting } from '../dependencies.ts'
import { type Accepted, type Advisor, type Aimed, advance, type Routed, type Variant, type Wish } from '../exchange.ts'
import { type Bound, type BoundTerms, boundFor } from '../guard/guardrail-terms.ts'
import type { Layer } from '../layer.ts'
import { isLimited } from '../money/hold.ts'
import { unpriced } from '../money/turn-cost.ts'
import { advisorBar, advisorsIn } from './advisors.ts'
import { DialectAbility, sentTo } from './dialect-ability.ts'
import { hoistSearch, hoistTools, isSpareType, leaveToProviders, needsHoisting, offersShared, sparesTools } from './hoisted-tools.ts'
import { findModels, type ModelChoice } from './model-choice.ts'
import { offersSearch, settleSearch } from './native-search.ts'
import { callerCap, contextNeed, contextOf, inputModalities, priceMoment, tierOf } from './needs.ts'
import { rememberModel, routableModels, routeModels } from './router-models.ts'

interface ReadInputs {
  /** Whatever an endpoint takes. */
  readonly always: ReadonlySet<string>
  /** Where no endpoint takes them. */
  readonly otherwise: ReadonlySet<string>
}

const NOT_READ: ReadInputs = { always: new Set(), otherwise: new Set() }

/**
 * Kinds of input that a plugin turns into words: endpoints that do not take them may serve all the same.
 * What plugins would do about the inputs of a request, by the operator's settings and the request's own.
 */
function readInputs(
  {
    wish: {
      plugins: entries,
      models: [first],
    },
  }: Aimed,
  plugins: readonly PluginSetting[],
): ReadInputs {
  let found: { always: Set<string>; otherwise: Set<string> } | undefined
  for (const { plugin, defaults } of plugins) {
    const { reads } = plugin
    if (!reads) continue
    const entry = entries.find(({ id }) => id === plugin.id)
    // To name a plugin is to switch it on.
    const settings = entry ? { ...defaults, enabled: true, ...entry } : defaults
    const when = settings.enabled === false ? 'never' : reads.when(settings)
    if (when === 'never') continue
    found ??= { always: new Set(), otherwise: new Set() }
    // The model that the caller named first is not to be skipped in favour of a fallback.
    const now = when === 'always' || (first !== undefined && !first.input.includes(reads.input))
    found[now ? 'always' : 'otherwise'].add(reads.input)
  }
  return found ?? NOT_READ
}

/** @returns undefined where nothing is left. */
function without(inputs: ReadonlySet<string> | undefined, read: ReadonlySet<string>): ReadonlySet<string> | undefined {
  if (!inputs || read.size === 0) return inputs
  const left = new Set([...inputs].filter((input) => !read.has(input)))
  return left.size > 0 ? left : undefined
}

/** Dependencies of the choice of models. */
type ResolveDependencies = Pick<ChainDependencies, 'upstreams' | 'health' | 'sessions' | 'clock'>

export function resolveLayer(settings: ChainSettings, dependencies: ResolveDependencies): Layer<Accepted, Routed> {
  return (next) =>
    function handle(exchange) {
      const choice = findModels(exchange, settings)
      const { hasOtherTools, mayHoldMedia, client } = exchange.request
      const mayBeNeeded = hasOtherTools || mayHoldMedia || client.nativeTools !== undefined
      const ability = mayBeNeeded ? new DialectAbility(exchange, settings.catalog, dependencies.upstreams) : undefined
      const bound = settings.guardrails.length > 0 ? boundFor(settings.guardrails, exchange.auth.key) : UNBOUND
      const aimed = advance(exchange, 'wish', wishOf(exchange, choice, { bound, ability, settings }))
      const bounds = { ability, terms: bound.terms, plugins: settings.plugins, upstreams: dependencies.upstreams }
      const { models, router } = choice
      if (!router) return next(settled(advance(aimed, 'route', { models, endpoints: serving(aimed, endpointsOf(models), bounds) })))
      const routable = routableModels(aimed, settings.catalog)
      const endpoints = usable(aimed, serving(aimed, endpointsOf([...new Set([...routable, ...models])]), bounds))
      const { memory, route } = routeModels(aimed, router, { models: routable, endpoints, fallbacks: models }, dependencies)
      const routed = settled(advance(aimed, 'route', route))
      if (!memory) return next(routed)
      return next(routed).then((reply) => {
        rememberModel(routed, memory, reply, dependencies.sessions)
        return reply
      })
    }

  /** Searches and tools that the providers of all endpoints have are left to them. */
  function settled(exchange: Routed): Routed {
    const { hasOtherTools, edited } = exchange.request
    if (!hasOtherTools && !edited) return exchange
    if (offersSearch(exchange)) settleSearch(exchange, settings.plugins, dependencies.upstreams)
    if (offersShared(exchange)) leaveToProviders(exchange, dependencies.upstreams)
    return exchange
  }
}

const UNBOUND: Bound = { terms: undefined, budgets: [], requireParameters: false }
const NO_ADVISORS: readonly Advisor[] = []

interface Bounded {
  bound: Bound
  ability: DialectAbility | undefined
  settings: ChainSettings
}

function wishOf(exchange: Accepted, choice: ModelChoice, { bound, ability, settings }: Bounded): Wish {
  const { requested, strategy, variant, plugins, models, router } = choice
  const preferences = preferencesOf(exchange, variant, settings)
  return {
    requested,
    strategy,
    variant,
    plugins,
    models: router ? [] : models,
    preferences: bound.requireParameters ? { ...preferences, require_parameters: true } : preferences,
    budgets: bound.budgets,
    advisors: ability?.isNeeded ? advisorsIn(exchange, settings.catalog) : NO_ADVISORS,
  }
}

function endpointsOf(models: readonly Model[]): readonly Endpoint[] {
  return models.length === 1 && models[0] ? models[0].endpoints : models.flatMap((model) => model.endpoints)
}

/**
 * Endpoints that take a request of this length and that the key can pay, so that no router chooses in vain.
 * All of them where none is left: a plugin may shorten the request yet, and the plan says best what is wrong.
 */
function usable(exchange: Aimed, endpoints: readonly Endpoint[]): readonly Endpoint[] {
  let smallest = Number.POSITIVE_INFINITY
  for (const endpoint of endpoints) smallest = Math.min(smallest, contextOf(endpoint))
  const need = contextNeed(exchange, smallest)
  const limited = isLimited(exchange.auth.key, exchange.wish.budgets)
  const kept = endpoints.filter(
    (endpoint) => tokensAt(endpoint, need) <= contextOf(endpoint) && !(limited && unpriced(exchange, endpoint) !== undefined),
  )
  return kept.length > 0 ? kept : endpoints
}

/** Merges the preferences of request, variant, key and account. */
function preferencesOf({ request: { gateway }, auth: { key } }: Accepted, variant: Variant, settings: ChainSettings): MergedPreferences {
  if (!gateway.provider && !gateway.presetProvider && !gateway.route && !variant.sort && !key.provider && !settings.provider)
    return NO_PREFERENCES
  return mergePreferences([
    ...requestSides({ provider: gateway.provider, route: gateway.route, variantSort: variant.sort }),
    { from: 'preset', preferences: gateway.presetProvider },
    { from: 'key', preferences: key.provider },
    { from: 'account', preferences: settings.provider },
  ])
}

/** What decides beside the preferences. */
interface Bounds {
  /** Absent where every dialect can express the request. */
  ability: DialectAbility | undefined
  terms: BoundTerms | undefined
  plugins: readonly PluginSetting[]
  upstreams: ChainDependencies['upstreams']
  /** No endpoint takes all kinds of input: plugins read what they can. */
  reading?: boolean
}

function serving(exchange: Aimed, all: readonly Endpoint[], bounds: Bounds): readonly Endpoint[] {
  const { ability, terms, plugins, upstreams } = bounds
  if (ability?.isNeeded && needsHoisting(exchange) && hoistSearch(exchange, plugins, all))
    return serving(exchange, all, { ...bounds, ability: ability.anew() })
  const needsParameters =
    exchange.wish.preferences.require_parameters === true ||
    all.some(({ supported, quirks, provider }) => supported !== undefined || (quirks ?? provider.quirks).body?.drop !== undefined) ||
    namesVerbosity(exchange.request.body)
  const inputs = exchange.request.client.embedding ? undefined : inputModalities(exchange)
  const { always, otherwise } = inputs ? readInputs(exchange, plugins) : NOT_READ
  const read = bounds.reading ? new Set([...always, ...otherwise]) : always
  const { kept, removed } = filterEndpoints(all, {
    provider: exchange.wish.preferences,
    maxOutput: callerCap(exchange),
    // Of embeddings each input is looked at by itself, once the endpoints are known.
    input: without(inputs, read),
    output: outputModalities(exchange),
    used: needsParameters ? exchange.request.canonical().used : undefined,
    effort: needsParameters ? exchange.request.canonical().reasoning?.effort : undefined,
    sent: needsParameters ? (endpoint) => sentTo(endpoint, upstreams) : undefined,
    unable: ability?.isNeeded ? (endpoint) => ability.lacks(endpoint) : undefined,
    serviceTier: tierOf(exchange.request.gateway.serviceTier),
    priceMoment: exchange.wish.preferences.max_price ? priceMoment(exchange, all) : undefined,
    barred:
      (terms || exchange.wish.advisors.length > 0 || undefined) &&
      ((endpoint) => terms?.bar(endpoint, terms.priced ? priceMoment(exchange, all) : undefined) ?? advisorBar(exchange, endpoint, terms)),
    tiers:
      exchange.wish.preferences.order?.length || exchange.request.gateway.serviceTier === 'default'
        ? undefined
        : exchange.wish.variant.tiers,
  })
  exchange.trail.removed = removed
  if (kept.length === 0) {
    if (!bounds.reading && otherwise.size > 0 && removed.some(({ filter }) => filter === 'input_modality'))
      return serving(exchange, all, { ...bounds, reading: true })
    if (ability && removed.some(({ filter }) => filter === 'dialect')) {
      const found = hoistSearch(exchange, plugins, all)
      if (hoistTools(exchange) || found) return serving(exchange, all, { ...bounds, ability: ability.anew() })
      const spared = sparesTools(exchange) ? ability.sparing(isSpareType) : undefined
      if (spared) return serving(exchange, all, { ...bounds, ability: spared })
      throw ability.fault(removed, exchange.wish)
    }
    const slugs = exchange.wish.models.map((model) => model.slug)
    throw noEndpointFault(slugs.length > 0 ? slugs : [exchange.wish.requested], removed)
  }
  return kept
}

/** Of the parameters that filter softly the only one that a dialect may have no field for. */
function namesVerbosity({ verbosity, text }: JsonObject): boolean {
  return verbosity !== undefined || (isObject(text) && text.verbosity !== undefined)
}

function outputModalities(exchange: Aimed): string[] | undefined {
  const { modalities } = exchange.request.body
  return Array.isArray(modalities) ? modalities.filter((one): one is string => typeof one === 'string' && one !== 'text') : undefined
}

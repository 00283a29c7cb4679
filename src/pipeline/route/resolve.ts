/** From a slug to models to the endpoints that may serve, each exclusion with its reason. */

import { isObject, type JsonObject } from '../../core/json.ts'
import type { Read, Resolved } from '../../plugin-api/exchange.ts'
import type { Endpoint, Model } from '../../routing/catalog/types.ts'
import {
  filterEndpoints,
  type MergedPreferences,
  mergePreferences,
  NO_PREFERENCES,
  noEndpointFault,
  requestSides,
} from '../../routing/index.ts'
import type { Exchange } from '../exchange.ts'
import { type BoundTerms, bindGuardrails } from '../guard/guardrail-terms.ts'
import { isLimited } from '../money/guardrail-budgets.ts'
import { unpriced } from '../money/provider-fees.ts'
import type { ChainParts, ChainSettings, PluginSetting } from '../parts.ts'
import { type At, advance, type Layer } from '../reply.ts'
import { advisorBar, advisorsIn } from './advisors.ts'
import { DialectAbility } from './dialect-ability.ts'
import { hoistSearch, needsHoisting } from './hoisted-search.ts'
import { hoistTools, leaveToProviders, offersShared } from './hoisted-tools.ts'
import { findModels } from './model-choice.ts'
import { offersSearch, settleSearch } from './native-search.ts'
import { callerCap, contextNeed, contextOf, inputModalities, priceMoment, tierOf } from './needs.ts'
import { NOT_READ, readInputs, without } from './read-inputs.ts'
import { rememberModel } from './router-memory.ts'
import { routableModels, routeModels } from './router-models.ts'

/** The working parts that a choice of models may ask. */
type Parts = Pick<ChainParts, 'upstreams' | 'health' | 'sessions' | 'clock'>

export function resolve(settings: ChainSettings, parts: Parts): Layer<At<Read>, At<Resolved>> {
  return (next) =>
    function resolved(exchange) {
      const { models, router } = findModels(exchange, settings)
      exchange.preferences = preferencesOf(exchange, settings)
      const terms = settings.guardrails.length > 0 ? bindGuardrails(exchange, settings.guardrails) : undefined
      const ability = new DialectAbility(exchange, settings.catalog, parts.upstreams)
      const bounds = { ability, terms, plugins: settings.plugins }
      if (ability.asked) exchange.advisors = advisorsIn(exchange, settings.catalog)
      if (router) {
        const routable = routableModels(exchange, settings.catalog)
        const endpoints = usable(exchange, serving(exchange, endpointsOf([...new Set([...routable, ...models])]), bounds))
        const memory = routeModels(exchange, router, { models: routable, endpoints, fallbacks: models }, parts)
        if (offersSearch(exchange)) settleSearch(exchange, settings.plugins, parts.upstreams)
        if (offersShared(exchange)) leaveToProviders(exchange, parts.upstreams)
        if (!memory) return next(advance<Resolved>(exchange))
        return next(advance<Resolved>(exchange)).then((reply) => {
          rememberModel(exchange, memory, reply, parts.sessions)
          return reply
        })
      }
      exchange.models = models
      exchange.endpoints = serving(exchange, endpointsOf(models), bounds)
      if (offersSearch(exchange)) settleSearch(exchange, settings.plugins, parts.upstreams)
      if (offersShared(exchange)) leaveToProviders(exchange, parts.upstreams)
      return next(advance<Resolved>(exchange))
    }
}

function endpointsOf(models: readonly Model[]): readonly Endpoint[] {
  return models.length === 1 ? models[0].endpoints : models.flatMap((model) => model.endpoints)
}

/**
 * Endpoints that take a request of this length and that the key can pay, so that no router chooses in vain.
 * All of them where none is left: a plugin may shorten the request yet, and the plan says best what is wrong.
 */
function usable(exchange: Exchange, endpoints: readonly Endpoint[]): readonly Endpoint[] {
  let smallest = Number.POSITIVE_INFINITY
  for (const endpoint of endpoints) smallest = Math.min(smallest, contextOf(endpoint))
  const need = contextNeed(exchange, smallest)
  const limited = isLimited(exchange.key, exchange.budgets)
  const kept = endpoints.filter((endpoint) => need <= contextOf(endpoint) && !(limited && unpriced(exchange, endpoint) !== undefined))
  return kept.length > 0 ? kept : endpoints
}

/** What request, variant, key and account ask for together. */
function preferencesOf({ gateway, variant, key }: Exchange, settings: ChainSettings): MergedPreferences {
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
  ability: DialectAbility
  terms: BoundTerms | undefined
  plugins: readonly PluginSetting[]
  /** No endpoint takes all kinds of input: plugins read what they can. */
  reading?: boolean
}

function serving(exchange: Exchange, all: readonly Endpoint[], bounds: Bounds): readonly Endpoint[] {
  const { ability, terms, plugins } = bounds
  if (ability.asked && needsHoisting(exchange) && hoistSearch(exchange, plugins, all))
    return serving(exchange, all, { ...bounds, ability: ability.anew() })
  const needsParameters =
    exchange.preferences.require_parameters === true ||
    all.some(({ supported, quirks, provider }) => supported !== undefined || (quirks ?? provider.quirks).drop !== undefined) ||
    namesVerbosity(exchange.body)
  const inputs = exchange.client.embedding ? undefined : inputModalities(exchange)
  const { always, otherwise } = inputs ? readInputs(exchange, plugins) : NOT_READ
  const read = bounds.reading ? new Set([...always, ...otherwise]) : always
  const { kept, removed } = filterEndpoints(all, {
    provider: exchange.preferences,
    maxOutput: callerCap(exchange),
    // Of embeddings each input is looked at by itself, once the endpoints are known.
    input: without(inputs, read),
    output: outputModalities(exchange),
    used: needsParameters ? exchange.request().used : undefined,
    sent: needsParameters ? (endpoint) => ability.sent(endpoint) : undefined,
    unable: ability.asked ? (endpoint) => ability.lacks(endpoint) : undefined,
    serviceTier: tierOf(exchange.gateway.serviceTier),
    priceMoment: exchange.preferences.max_price ? priceMoment(exchange, all) : undefined,
    barred:
      (terms || exchange.advisors.length > 0 || undefined) &&
      ((endpoint) => terms?.bar(endpoint, terms.priced ? priceMoment(exchange, all) : undefined) ?? advisorBar(exchange, endpoint, terms)),
    tiers: exchange.preferences.order?.length || exchange.gateway.serviceTier === 'default' ? undefined : exchange.variant.tiers,
  })
  exchange.removed = removed
  if (kept.length === 0) {
    if (!bounds.reading && otherwise.size > 0 && removed.some(({ filter }) => filter === 'input_modality'))
      return serving(exchange, all, { ...bounds, reading: true })
    if (removed.some(({ filter }) => filter === 'dialect')) {
      const found = hoistSearch(exchange, plugins, all)
      if (hoistTools(exchange) || found) return serving(exchange, all, { ...bounds, ability: ability.anew() })
      throw ability.fault(removed)
    }
    const slugs = exchange.models.map((model) => model.slug)
    throw noEndpointFault(slugs.length > 0 ? slugs : [exchange.requested], removed)
  }
  return kept
}

/** Of the parameters that filter softly the only one that a dialect may have no field for. */
function namesVerbosity({ verbosity, text }: JsonObject): boolean {
  return verbosity !== undefined || (isObject(text) && text.verbosity !== undefined)
}

function outputModalities(exchange: Exchange): string[] | undefined {
  const { modalities } = exchange.body
  return Array.isArray(modalities) ? modalities.filter((one): one is string => typeof one === 'string' && one !== 'text') : undefined
}

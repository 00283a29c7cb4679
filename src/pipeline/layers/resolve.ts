/** 6. From a slug to models to the endpoints that may serve, each exclusion with its reason. */

import type { Endpoint } from '../../catalog/types.ts'
import type { Read, Resolved } from '../../plugin-api/exchange.ts'
import { filterEndpoints, mergePreferences, NO_PREFERENCES, noEndpointFault } from '../../routing/index.ts'
import { DialectAbility } from '../dialect-ability.ts'
import type { Exchange } from '../exchange.ts'
import { findModels } from '../model-choice.ts'
import { callerCap, inputModalities, tierOf } from '../needs.ts'
import type { ChainParts, ChainSettings } from '../parts.ts'
import { type At, advance, type Layer } from '../reply.ts'

export function resolve(settings: ChainSettings, upstreams: ChainParts['upstreams']): Layer<At<Read>, At<Resolved>> {
  return (next) =>
    function resolved(exchange) {
      const models = findModels(exchange, settings)
      exchange.models = models
      const asked = exchange.gateway.provider ?? exchange.key.provider ?? settings.provider
      const merged = !asked
        ? NO_PREFERENCES
        : mergePreferences([
            { from: 'request', preferences: exchange.gateway.provider },
            { from: 'key', preferences: exchange.key.provider },
            { from: 'account', preferences: settings.provider },
          ])
      const { sort } = exchange.variant
      exchange.preferences = sort && !merged.sort ? { ...merged, sort } : merged
      const all = models.length === 1 ? models[0].endpoints : models.flatMap((model) => model.endpoints)
      exchange.endpoints = serving(exchange, all, new DialectAbility(exchange, settings.catalog, upstreams))
      return next(advance<Resolved>(exchange))
    }
}

function serving(exchange: Exchange, all: readonly Endpoint[], ability: DialectAbility): readonly Endpoint[] {
  const needsParameters = all.some((endpoint) => endpoint.supported !== undefined) || exchange.preferences.require_parameters === true
  const { kept, removed } = filterEndpoints(all, {
    provider: exchange.preferences,
    maxOutput: callerCap(exchange),
    input: inputModalities(exchange),
    output: outputModalities(exchange),
    used: needsParameters ? exchange.request().used : undefined,
    sent: needsParameters ? (endpoint) => ability.sent(endpoint) : undefined,
    unable: ability.asked ? (endpoint) => ability.lacks(endpoint) : undefined,
    serviceTier: tierOf(exchange.gateway.serviceTier),
    tiers: exchange.preferences.order?.length || exchange.gateway.serviceTier === 'default' ? undefined : exchange.variant.tiers,
  })
  if (kept.length === 0) {
    if (removed.some(({ filter }) => filter === 'dialect')) throw ability.fault(removed)
    throw noEndpointFault(
      exchange.models.map((model) => model.slug),
      removed,
    )
  }
  return kept
}

function outputModalities(exchange: Exchange): string[] | undefined {
  const { modalities } = exchange.body
  return Array.isArray(modalities) ? modalities.filter((one): one is string => typeof one === 'string' && one !== 'text') : undefined
}

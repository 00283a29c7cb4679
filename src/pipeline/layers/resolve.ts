/** 6. From a slug to models to the endpoints that may serve, each exclusion with its reason. */

import type { Endpoint, Model } from '../../catalog/types.ts'
import { badField, Fault } from '../../core/faults.ts'
import type { Read, Resolved } from '../../plugin-api/exchange.ts'
import { allowsModel, filterEndpoints, mergePreferences, NO_PREFERENCES, noEndpointFault, type Tier } from '../../routing/index.ts'
import { DialectAbility } from '../dialect-ability.ts'
import type { Exchange, Variant } from '../exchange.ts'
import { callerCap, inputModalities, tierOf } from '../needs.ts'
import type { ChainParts, ChainSettings, ModelLookup } from '../parts.ts'
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

function findModels(exchange: Exchange, settings: ChainSettings): Model[] {
  const { gateway, key } = exchange
  const first = gateway.model ?? gateway.models[0] ?? settings.defaultModel
  if (first === undefined) throw badField('model', 'is required: no default model is configured')
  exchange.requested = first
  const slugs = gateway.model === undefined ? gateway.models.slice(1) : gateway.models
  const found = findModel(first, settings.catalog)
  if (found.variant !== undefined) exchange.variant = variantOf(first, found.variant)
  const alias = found.model.slug !== first && !first.startsWith(`${found.model.slug}:`)
  exchange.strategy = found.strategy ?? (slugs.length > 0 ? 'fallback' : alias ? 'alias' : 'direct')
  exchange.ctx.model = found.model.slug
  const models = [found.model]
  for (const slug of slugs) {
    const { model } = findModel(slug, settings.catalog)
    if (!models.includes(model)) models.push(model)
  }
  const { allowedModels } = key
  if (!allowedModels) return models
  const allowed = models.filter((model) => allowsModel(allowedModels, model.slug))
  if (allowed.length === 0)
    throw new Fault('forbidden', { message: `This key may not use ${models.map((model) => model.slug).join(', ')}` })
  return allowed
}

function findModel(slug: string, catalog: ModelLookup): ReturnType<ModelLookup['find']> & object {
  const found = catalog.find(slug)
  if (!found)
    throw slug.includes('/') || slug.startsWith('@')
      ? modelNotFound(slug)
      : badField('model', 'expected a model slug of the form author/name')
  if (found.model.kind !== 'generate') {
    throw new Fault('bad_request', {
      message: `model: ${slug} does not generate text; it is an ${found.model.kind} model`,
      availability: { code: 'wrong_endpoint', retryable: false, requested_models: [slug], docs_url: '/docs' },
    })
  }
  return found
}

function modelNotFound(slug: string): Fault {
  return new Fault('model_not_found', {
    message: `No such model: ${slug}`,
    availability: { code: 'model_not_found', retryable: false, requested_models: [slug], docs_url: '/docs' },
  })
}

/**
 * Suffixes that change the order (contract section 2.4). Static ones are listings of their own: not listed, not found.
 * @param suffixes chained by colons, such as `floor:exacto`; the first that sorts decides.
 */
function variantOf(slug: string, suffixes: string): Variant {
  let variant: Variant = {}
  for (const suffix of suffixes.split(':')) {
    const known = VARIANTS[suffix]
    if (suffix === 'online') throw badField('model', `the variant :online needs the plugin web, which this version does not have`)
    if (!known) throw modelNotFound(slug)
    variant = { ...known, ...variant }
  }
  return variant
}

const VARIANTS: Readonly<Record<string, Variant>> = {
  nitro: { sort: 'throughput', tiers: new Set<Tier>(['priority']) },
  floor: { sort: 'price', tiers: new Set<Tier>(['flex']) },
  exacto: { sort: 'exacto' },
}

function outputModalities(exchange: Exchange): string[] | undefined {
  const { modalities } = exchange.body
  return Array.isArray(modalities) ? modalities.filter((one): one is string => typeof one === 'string' && one !== 'text') : undefined
}

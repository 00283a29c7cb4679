/** From the slugs of a request to models: names, variants, and what the key may use. */
import type { Model } from '../catalog/types.ts'
import { badField, Fault } from '../core/faults.ts'
import { allowsModel, type Tier } from '../routing/index.ts'
import type { Exchange, Variant } from './exchange.ts'
import type { ChainSettings, ModelLookup } from './parts.ts'

/**
 * The models that a request may be served by, the primary one first; sets what the slug says of strategy and variant.
 * @throws Fault 400 without a model or for one that does not generate, 404 for one that is not there, 403 where the key may use none.
 */
export function findModels(exchange: Exchange, settings: ChainSettings): Model[] {
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

/** From the slugs of a request to models: names, variants, router models, and what the key may use. */
import type { Model } from '../catalog/types.ts'
import { badField, Fault } from '../core/faults.ts'
import { allowsModel, type Tier } from '../routing/index.ts'
import type { Exchange, Variant } from './exchange.ts'
import type { ChainSettings } from './parts.ts'
import { type NamedRouter, routerNamed } from './router-models.ts'

/** What the slugs come to. */
export interface ModelChoice {
  /** The primary one first, then those to fall back on; with a router only the latter. */
  readonly models: readonly Model[]
  /** Set where the primary slug stands for a choice among models, which is made once the filters are known. */
  readonly router?: NamedRouter
}

type Settings = Pick<ChainSettings, 'catalog' | 'defaultModel' | 'plugins'>

/**
 * The models that a request may be served by; sets what the slug says of strategy and variant.
 * @throws Fault 400 without a model or for one that does not generate, 404 for one that is not there, 403 where the key may use none.
 */
export function findModels(exchange: Exchange, settings: Settings): ModelChoice {
  const { gateway } = exchange
  const first = gateway.model ?? gateway.models[0] ?? settings.defaultModel
  if (first === undefined) throw badField('model', 'is required: no default model is configured')
  exchange.requested = gateway.asked ?? first
  const found = settings.catalog.find(first)
  const router = found ? undefined : routerNamed(first, exchange.brand, settings)
  if (router) return routed(exchange, router, settings)
  const { model, variant, strategy } = generating(first, found)
  if (variant !== undefined) exchange.variant = variantOf(first, variant)
  const alias = model.slug !== first && !first.startsWith(`${model.slug}:`)
  const fallbacks = gateway.model === undefined ? gateway.models.length - 1 : gateway.models.length
  exchange.strategy = strategy ?? (fallbacks > 0 ? 'fallback' : alias ? 'alias' : 'direct')
  exchange.ctx.model = model.slug
  const models = withFallbacks([model], exchange, settings)
  const { allowedModels } = exchange.key
  if (!allowedModels) return { models }
  const allowed = models.filter(({ slug }) => allowsModel(allowedModels, slug))
  if (allowed.length === 0) throw new Fault('forbidden', { message: `This key may not use ${models.map(({ slug }) => slug).join(', ')}` })
  return { models: allowed }
}

function routed(exchange: Exchange, router: NamedRouter, settings: Settings): ModelChoice {
  if (exchange.gateway.model === undefined && exchange.gateway.models.length > 0) throw routerInList(0)
  if (router.suffixes !== undefined) exchange.variant = variantOf(exchange.requested, router.suffixes)
  exchange.strategy = router.router.strategy
  const models = withFallbacks([], exchange, settings)
  return { models: models.filter(({ slug }) => allowsModel(exchange.key.allowedModels, slug)), router }
}

/** The models of `models`, each once; the first of them where it is the primary one already leads the list. */
function withFallbacks(models: Model[], exchange: Exchange, settings: Settings): Model[] {
  const { gateway, brand } = exchange
  for (let i = gateway.model === undefined ? 1 : 0; i < gateway.models.length; i++) {
    const slug = gateway.models[i]
    if (slug.startsWith('@')) throw badField(`models[${i}]`, 'expected a model: a preset is named by `model` or `preset`')
    const found = settings.catalog.find(slug)
    if (!found && routerNamed(slug, brand, settings)) throw routerInList(i)
    const { model } = generating(slug, found)
    if (!models.includes(model)) models.push(model)
  }
  return models
}

function routerInList(i: number): Fault {
  return badField(`models[${i}]`, 'expected a model: one that stands for a choice among models can only be named by `model`')
}

type Found = NonNullable<ReturnType<ChainSettings['catalog']['find']>>

function generating(slug: string, found: Found | undefined): Found {
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

/** From the slugs of a request to models: names, variants, router models, and what the key may use. */

import { badField, DOCS_URL, Fault, type FaultCode, unknownModel } from '../../core/faults.ts'
import type { PluginEntry } from '../../dialects/canon/request-fields.ts'
import type { Model, ModelKind } from '../../routing/catalog/types.ts'
import { allowsModel, type Tier } from '../../routing/index.ts'
import type { ChainSettings } from '../dependencies.ts'
import type { Accepted, Variant, Wish } from '../exchange.ts'
import { type NamedRouter, routerNamed } from './router-models.ts'

/** What the slugs come to. */
export interface ModelChoice extends Pick<Wish, 'requested' | 'strategy' | 'variant' | 'plugins'> {
  /** The primary one first, then those to fall back on; with a router only the latter. */
  readonly models: readonly Model[]
  /** Set where the primary slug stands for a choice among models, which is made once the filters are known. */
  readonly router?: NamedRouter
}

type Settings = Pick<ChainSettings, 'catalog' | 'defaultModel' | 'plugins'>

/**
 * The models that a request may be served by, and what the slug says of strategy and variant.
 * @throws Fault 400 without a model or for one of another kind (404 of embeddings), 404 for one that is not there, 403 where the key may use none.
 */
export function findModels(exchange: Accepted, settings: Settings): ModelChoice {
  const {
    request: { gateway },
  } = exchange
  const wanted = exchange.request.client.embedding ? EMBEDDING : GENERATING
  const first = gateway.model ?? gateway.models[0] ?? settings.defaultModel
  if (first === undefined) throw badField('model', 'is required: no default model is configured')
  const requested = gateway.requested ?? first
  const found = settings.catalog.find(first, wanted.kind)
  const router = found ? undefined : routerNamed(first, exchange.head.brand, settings)
  if (router && wanted === EMBEDDING) throw wrongKind(first, 'chooses among models that generate text', wanted)
  if (router) return routed(exchange, requested, router, settings)
  const { model, variant, strategy } = ofKind(wanted, first, found)
  const suffixes = variant === undefined ? NO_SUFFIX : suffixesOf(first, variant, exchange)
  const alias = model.slug !== first && !first.startsWith(`${model.slug}:`)
  const fallbacks = gateway.model === undefined ? gateway.models.length - 1 : gateway.models.length
  const wish = {
    requested,
    strategy: strategy ?? (fallbacks > 0 ? 'fallback' : alias ? 'alias' : 'direct'),
    variant: suffixes.variant,
    plugins: pluginsWith(gateway.plugins, suffixes),
  }
  exchange.run.ctx.model = model.slug
  const models = withFallbacks([model], exchange, settings)
  const { allowedModels } = exchange.auth.key
  if (!allowedModels) return { ...wish, models }
  const allowed = models.filter(({ slug }) => allowsModel(allowedModels, slug))
  if (allowed.length === 0) throw new Fault('forbidden', { message: `This key may not use ${models.map(({ slug }) => slug).join(', ')}` })
  return { ...wish, models: allowed }
}

function routed(exchange: Accepted, requested: string, router: NamedRouter, settings: Settings): ModelChoice {
  const { gateway } = exchange.request
  if (gateway.model === undefined && gateway.models.length > 0) throw routerInList(0)
  const suffixes = router.suffixes === undefined ? NO_SUFFIX : suffixesOf(requested, router.suffixes, exchange)
  const models = withFallbacks([], exchange, settings)
  return {
    requested,
    strategy: router.router.strategy,
    variant: suffixes.variant,
    plugins: pluginsWith(gateway.plugins, suffixes),
    models: models.filter(({ slug }) => allowsModel(exchange.auth.key.allowedModels, slug)),
    router,
  }
}

/** The models of `models`, each once; the first of them where it is the primary one already leads the list. */
function withFallbacks(models: Model[], exchange: Accepted, settings: Settings): Model[] {
  const {
    request: { gateway },
    head: { brand },
  } = exchange
  const wanted = exchange.request.client.embedding ? EMBEDDING : GENERATING
  for (const [i, slug] of gateway.models.entries()) {
    if (i === 0 && gateway.model === undefined) continue
    if (slug.startsWith('@')) throw badField(`models[${i}]`, 'expected a model: a preset is named by `model` or `preset`')
    const found = settings.catalog.find(slug, wanted.kind)
    if (!found && routerNamed(slug, brand, settings)) throw routerInList(i)
    const { model } = ofKind(wanted, slug, found)
    if (!models.includes(model)) models.push(model)
  }
  return models
}

function routerInList(i: number): Fault {
  return badField(`models[${i}]`, 'expected a model: one that stands for a choice among models can only be named by `model`')
}

type Found = NonNullable<ReturnType<ChainSettings['catalog']['find']>>

/** Kinds of model that an operation may call, with the fault of any other (contract section 0, row 12). */
interface Wanted {
  readonly kind: 'generate' | 'embedding'
  readonly wrong: FaultCode
}

const GENERATING: Wanted = { kind: 'generate', wrong: 'bad_request' }
const EMBEDDING: Wanted = { kind: 'embedding', wrong: 'model_not_found' }

/** Operations by the kind of model that they call, for callers who took the wrong one. */
const OPERATIONS: Partial<Record<ModelKind, string>> = { generate: '/v1/chat/completions', embedding: '/v1/embeddings' }

function ofKind(wanted: Wanted, slug: string, found: Found | undefined): Found {
  // A bare name too: agents send the provider's own, and Claude Code sends a request again six times after a 400 about it.
  if (!found) throw unknownModel(slug)
  const { kind } = found.model
  if (kind === wanted.kind) return found
  const is = kind === 'generate' ? 'is a model that generates text' : `does not generate text; it is an ${kind} model`
  throw wrongKind(slug, is, wanted, OPERATIONS[kind])
}

function wrongKind(slug: string, is: string, wanted: Wanted, operation = OPERATIONS.generate): Fault {
  return new Fault(wanted.wrong, {
    message: `model: ${slug} ${is}`,
    metadata: { field: 'model' },
    availability: {
      code: 'wrong_endpoint',
      retryable: false,
      requested_models: [slug],
      docs_url: DOCS_URL,
      ...(operation === undefined ? {} : { constraint: { field: 'model', detail: `served by ${operation}` } }),
    },
  })
}

/** What the suffixes of a slug say. */
interface Suffixes {
  readonly variant: Variant
  /** `:online`: another way to name the plugin `web`. */
  readonly online: boolean
}

const NO_SUFFIX: Suffixes = { variant: {}, online: false }

/**
 * Suffixes that change the order (contract section 2.4). Static ones are listings of their own: not listed, not found.
 * @param suffixes chained by colons, such as `floor:exacto`; the first that sorts decides.
 */
function suffixesOf(slug: string, suffixes: string, { request }: Accepted): Suffixes {
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
function pluginsWith(plugins: readonly PluginEntry[], { online }: Suffixes): readonly PluginEntry[] {
  return online && !plugins.some(({ id }) => id === 'web') ? [...plugins, { id: 'web' }] : plugins
}

const VARIANTS: Readonly<Record<string, Variant>> = {
  nitro: { sort: 'throughput', tiers: new Set<Tier>(['priority']) },
  floor: { sort: 'price', tiers: new Set<Tier>(['flex']) },
  exacto: { sort: 'exacto' },
}

/**
 * Slugs such as `router/auto` that stand for a choice among models: which plugin answers, what it is shown, what it chose. A conversation
 * with one stays on the model that it was given, as one with a model stays on its endpoint.
 */
import { type PriceMoment, ratesAt } from '../../core/price.ts'
import type { ModelRouter, RouterView } from '../../plugin-api/index.ts'
import type { Endpoint, Model } from '../../routing/catalog/types.ts'
import { allowsModel, hasRoom, type StickySessions } from '../../routing/index.ts'
import { endpointPace } from '../../routing/standing.ts'
import type { ChainDependencies, ChainSettings, PluginSetting } from '../dependencies.ts'
import type { Aimed } from '../exchange.ts'
import type { Reply } from '../layer.ts'
import { isLimited } from '../money/hold.ts'
import { unpriced } from '../money/tool-fees.ts'
import { strayPromise } from '../plugins/invalid-values.ts'
import { ExchangeView, mergeConfig } from '../plugins/view.ts'
import type { Route } from '../records.ts'
import { contextNeed, inputModalities, priceMoment, smallestContext } from '../request/client-request.ts'
import { conversationName, mayStay } from './conversation.ts'

export interface NamedRouter {
  readonly setting: PluginSetting
  readonly router: ModelRouter
  /** The part of the slug behind the brand word and its slash, without variants. */
  readonly name: string
  /** Variants of the slug, chained by colons. */
  readonly suffixes: string | undefined
}

/** @param slug as sent, or an alias of such a slug. @returns undefined for any other slug. */
export function routerNamed(
  slug: string,
  brand: string,
  { catalog, plugins }: Pick<ChainSettings, 'catalog' | 'plugins'>,
): NamedRouter | undefined {
  const { slug: bare, variant } = catalog.bare(slug)
  if (!bare.startsWith(`${brand}/`)) return undefined
  const name = bare.slice(brand.length + 1)
  for (const setting of plugins) {
    const { router } = setting.plugin
    if (router?.names.includes(name)) return { setting, router, name, suffixes: variant }
  }
  return undefined
}

/** Models that a router may choose from, in catalogue order. */
export function routableModels({ auth: { key } }: Aimed, { models }: ChainSettings['catalog']): Model[] {
  return models.filter(({ kind, slug }) => kind === 'generate' && allowsModel(key.allowedModels, slug))
}

/** Choices of a router. */
interface Offer {
  readonly models: readonly Model[]
  /** Endpoints of these models, and of those to fall back on, that the hard filters leave. */
  readonly endpoints: readonly Endpoint[]
  /** Models that the request itself names to fall back on. */
  readonly fallbacks: readonly Model[]
}

/**
 * Has the plugin choose, and adds its stage.
 * @returns models and endpoints, and what to remember the choice by once it has served.
 * @throws Fault 400 for settings of the plugin that do not fit, 404 where no model does.
 */
export function routeModels(
  exchange: Aimed,
  named: NamedRouter,
  offer: Offer,
  dependencies: Pick<ChainDependencies, 'health' | 'clock' | 'sessions'>,
): { route: Route; memory: RouterMemory | undefined } {
  const { setting, router, name } = named
  const served = byModel(offer.endpoints)
  const models = readers(
    exchange,
    offer.models.filter((model) => served.has(model)),
  )
  const memory = routerMemory(exchange, name, offer.endpoints, dependencies.sessions)
  const sticky = stickyModel(exchange, memory, models, dependencies.sessions)
  const view = buildView({ named, served, models, sticky, moment: priceMoment(exchange, offer.endpoints) }, dependencies)
  const choice = router.choose(new ExchangeView(exchange), mergeConfig(setting, exchange.demand.plugins), view)
  if (strayPromise(choice)) throw new TypeError(`${setting.plugin.id} gave a promise, expected a choice`)
  const chosen = [...new Set([...choice.models, ...offer.fallbacks])]
  const [first] = chosen
  if (!first) throw new TypeError(`${setting.plugin.id} chose no model`)
  exchange.run.ctx.model = first.slug
  exchange.history.pluginIds = [setting.plugin.id]
  exchange.history.stages.push({
    type: 'plugin',
    name: setting.plugin.id,
    ...(choice.summary === undefined ? {} : { summary: choice.summary }),
    ...(choice.data === undefined ? {} : { data: choice.data }),
  })
  return { route: { models: chosen, endpoints: chosen.flatMap((model) => served.get(model) ?? []) }, memory }
}

/** A choice is made among models that declare to read what the request holds; among undeclared ones only where there is none. */
function readers(exchange: Aimed, models: readonly Model[]): readonly Model[] {
  const media = inputModalities(exchange)
  if (!media) return models
  const declared = models.filter(({ anyInput, input }) => !anyInput && [...media].every((each) => input.includes(each)))
  return declared.length > 0 ? declared : models
}

function byModel(endpoints: readonly Endpoint[]): Map<Model, Endpoint[]> {
  const served = new Map<Model, Endpoint[]>()
  for (const endpoint of endpoints) {
    const group = served.get(endpoint.model)
    if (group) group.push(endpoint)
    else served.set(endpoint.model, [endpoint])
  }
  return served
}

interface Seen {
  readonly named: NamedRouter
  readonly models: readonly Model[]
  readonly served: ReadonlyMap<Model, readonly Endpoint[]>
  readonly sticky: Model | undefined
  readonly moment: PriceMoment | undefined
}

function buildView({ named, models, served, sticky, moment }: Seen, dependencies: Pick<ChainDependencies, 'health' | 'clock'>): RouterView {
  const { name, suffixes } = named
  return {
    models,
    name,
    variants: new Set(suffixes?.split(':')),
    sticky,
    speed: (model) => fastest(served.get(model) ?? [], dependencies),
    price: (model) => cheapest(served.get(model) ?? [], moment),
    random: () => dependencies.clock.random(),
  }
}

/** Output tokens per second, median of late. */
function fastest(endpoints: readonly Endpoint[], { health }: Pick<ChainDependencies, 'health'>): number | undefined {
  let best: number | undefined
  for (const endpoint of endpoints) {
    const speed = endpointPace(health, endpoint)
    if (speed !== undefined && (best === undefined || speed > best)) best = speed
  }
  return best
}

/** Attodollars per token in a dollar per million tokens. */
const PER_MILLION = 1e12

function cheapest(endpoints: readonly Endpoint[], moment: PriceMoment | undefined): ReturnType<RouterView['price']> {
  let best: ReturnType<RouterView['price']>
  for (const { price } of endpoints) {
    if (price === 'free') return { prompt: 0, completion: 0 }
    if (price === 'unpriced') continue
    const { prompt, completion } = ratesAt(price, moment)
    const each = { prompt: Number(prompt) / PER_MILLION, completion: Number(completion) / PER_MILLION }
    if (!best || each.prompt + each.completion < best.prompt + best.completion) best = each
  }
  return best
}

/** A conversation that may stay on one model. */
interface RouterMemory {
  /** Stands where the pins of endpoints have a model; no model has such a slug. */
  readonly place: string
  readonly name: string
  /** The caller named it; else it stays only where a cache has shown to pay. */
  readonly named: boolean
}

/** @param name of the router. @param endpoints that the choice is among. @returns undefined where nothing is to be remembered. */
function routerMemory(exchange: Aimed, name: string, endpoints: readonly Endpoint[], sessions: StickySessions): RouterMemory | undefined {
  if (!mayStay(exchange.demand.preferences, endpoints)) return undefined
  const conversation = conversationName(exchange.request, endpoints, sessions.commonSecret)
  return conversation && { place: `router:${name}`, name: conversation.name, named: conversation.named }
}

/** The model that served this conversation last, while it is remembered and among those given. */
function stickyModel(
  { auth: { key } }: Aimed,
  memory: RouterMemory | undefined,
  models: readonly Model[],
  sessions: StickySessions,
): Model | undefined {
  const slug = memory && sessions.get(key.identity, memory.place, memory.name)
  return slug === undefined ? undefined : models.find((model) => model.slug === slug)
}

/** Call when the reply has ended: a success pins the model that served, a failure leaves the pin as it is. */
export function rememberModel(
  { auth: { key }, run: { committedEndpoint } }: Aimed,
  memory: RouterMemory,
  { turn }: Reply,
  sessions: StickySessions,
): void {
  if (!committedEndpoint || turn.fault || turn.aborted) return
  if (!memory.named && (turn.usage?.cached ?? 0) === 0) return
  sessions.set({ key: key.identity, model: memory.place, session: memory.name, endpoint: committedEndpoint.model.slug })
}

/**
 * Endpoints that take a request of this length and that the key can pay, so that no router chooses in vain.
 * All of them where none is left: a plugin may shorten the request yet, and the plan says best what is wrong.
 */
export function usable(exchange: Aimed, endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const need = contextNeed(exchange, smallestContext(endpoints))
  const limited = isLimited(exchange.auth.key, exchange.demand.budgets)
  const kept = endpoints.filter((endpoint) => hasRoom(endpoint, need) && !(limited && unpriced(exchange, endpoint) !== undefined))
  return kept.length > 0 ? kept : endpoints
}

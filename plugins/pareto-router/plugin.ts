import { Fault, type Model, type Plugin, type Read, type RouterChoice, type RouterView } from '../../src/plugin-api/index.ts'
import { type ParetoConfig, type PriceSource, parseConfig } from './config.ts'
import { frontierFirst } from './frontier.ts'
import { codingScore, scoreTier, tierFor } from './tiers.ts'

/** The primary model and two fallbacks. */
const MAX_MODELS = 3
/** Parts of prompt tokens for one part of completion tokens in a weighted price. */
const PROMPT_PARTS = 3

export const paretoRouter: Plugin<ParetoConfig> = {
  id: 'pareto-router',
  parse: parseConfig,
  router: { names: ['pareto-code'], strategy: 'pareto', choose },
}

/** @throws Fault 404 where no model is there, or none fits `max_price`. */
function choose({ gateway }: Read, config: ParetoConfig, view: RouterView): RouterChoice {
  const { maxPrice } = config
  const { order, data } = maxPrice === undefined ? byTier(config, view) : byPrice(maxPrice, config, view)
  if (order.length === 0) throw noMatch(gateway.model, config)
  const { sticky } = view
  const kept = sticky && order.includes(sticky) ? sticky : undefined
  const models = (kept ? [kept, ...order.filter((model) => model !== kept)] : order).slice(0, MAX_MODELS)
  const [first] = models
  if (!first) throw noMatch(gateway.model, config)
  return { models, data, summary: `${first.slug}, coding score ${codingScore(first)}, out of ${order.length}` }
}

interface Order {
  order: Model[]
  data: RouterChoice['data']
}

/** The tier's models, cheapest first; with the variant `nitro` fastest first. What is not known comes last. */
function byTier({ minCodingScore }: ParetoConfig, view: RouterView): Order {
  const { tier, members } = tierFor(view.models, scoreTier(minCodingScore))
  const price = (model: Model): number => priceSum(view.price(model)) ?? Number.POSITIVE_INFINITY
  const slowness = (model: Model): number => (view.variants.has('nitro') ? -(view.speed(model) ?? 0) : 0)
  const order = members
    .map((model) => ({ model, slowness: slowness(model), price: price(model), score: codingScore(model) }))
    .sort((a, b) => a.slowness - b.slowness || ascending(a.price, b.price) || b.score - a.score)
    .map(({ model }) => model)
  return { order, data: { tier } }
}

function byPrice(maxPrice: number, { priceSource }: ParetoConfig, view: RouterView): Order {
  const offers = view.models.flatMap((model) => {
    const price = inputPrice(view.price(model), priceSource)
    return price === undefined || price > maxPrice ? [] : [{ model, price }]
  })
  return { order: frontierFirst(offers), data: { max_price: maxPrice, price_source: priceSource } }
}

type Price = ReturnType<RouterView['price']>

/** USD per million tokens. */
function inputPrice(price: Price, source: PriceSource): number | undefined {
  if (price === undefined || source === 'prompt') return price?.prompt
  return (PROMPT_PARTS * price.prompt + price.completion) / (PROMPT_PARTS + 1)
}

function priceSum(price: Price): number | undefined {
  return price && price.prompt + price.completion
}

/** As a difference, but sound for two infinities. */
function ascending(a: number, b: number): number {
  return a === b ? 0 : a - b
}

function noMatch(requested: string | undefined, { maxPrice, path }: ParetoConfig): Fault {
  const field = `${path}.max_price`
  const detail = maxPrice === undefined ? 'no model can serve this request' : `no model costs ${maxPrice} USD per million tokens or less`
  return new Fault('model_not_found', {
    message: `no models match: ${detail}`,
    availability: {
      code: maxPrice === undefined ? 'no_endpoints' : 'constraint_filtered',
      retryable: false,
      requested_models: requested === undefined ? [] : [requested],
      ...(maxPrice === undefined ? {} : { constraint: { field, detail } }),
    },
  })
}

import {
  badField,
  type Endpoint,
  Fault,
  type JsonObject,
  type Model,
  type Plugin,
  type Price,
  type Read,
  type RouterChoice,
  type RouterView,
} from '../../src/plugin-api/index.ts'

/** The primary model and two fallbacks. */
const MAX_MODELS = 3

export const freeRouter: Plugin<undefined> = {
  id: 'free-router',
  parse,
  router: { names: ['free'], strategy: 'free', choose },
}

/** There is nothing to set. @throws Fault 400 naming `path.enabled`. */
function parse({ enabled = true }: JsonObject, path: string): undefined {
  if (typeof enabled !== 'boolean') throw badField(`${path}.enabled`, 'expected true or false')
  return undefined
}

/** @throws Fault 404 where no model is free. */
function choose({ gateway }: Read, _: undefined, view: RouterView): RouterChoice {
  const free = view.models.filter((model) => isFree(model))
  if (free.length === 0) throw noMatch(gateway.model)
  const kept = view.sticky ? free.indexOf(view.sticky) : -1
  const models: Model[] = kept < 0 ? [] : free.splice(kept, 1)
  const count = free.length + models.length
  while (models.length < MAX_MODELS && free.length > 0) models.push(...free.splice(Math.floor(view.random() * free.length), 1))
  const [first] = models
  if (!first) throw noMatch(gateway.model)
  return { models, summary: `${first.slug}, out of ${count}` }
}

/** Every endpoint of it costs nothing: else a fallback inside the model would be charged. */
function isFree({ endpoints }: Model): boolean {
  return endpoints.length > 0 && endpoints.every(({ price }) => costsNothing(price))
}

function costsNothing(price: Endpoint['price']): boolean {
  return price === 'free' || (price !== 'unpriced' && priceRates(price).every((rate) => rate === 0n))
}

/** At any hour and for prompts of any length, with the fees of the provider's own tools. */
function priceRates({ overrides = [], tools = {}, drawing, regions: _, ...own }: Price): Price['prompt'][] {
  return [own, tools, drawing ?? {}, ...overrides.map(({ rates }) => rates)].flatMap((rates) =>
    Object.values(rates).filter((rate) => rate !== undefined),
  )
}

function noMatch(requested: string | undefined): Fault {
  return new Fault('model_not_found', {
    message: 'no models match: none that can serve this request is free',
    availability: {
      code: 'no_endpoints',
      retryable: false,
      requested_models: requested === undefined ? [] : [requested],
    },
  })
}

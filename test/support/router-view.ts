/** Models, views and requests for tests of the plugins that choose among models. */
import { Fault } from '../../src/core/faults.ts'
import type {
  CanonicalRequest,
  Endpoint,
  JsonObject,
  Model,
  ModelRouter,
  Plugin,
  Price,
  Read,
  RouterView,
} from '../../src/plugin-api/index.ts'

/** Attodollars per token in a dollar per million tokens. */
const PER_MILLION = 1_000_000_000_000n

/** Facts of a model in a test; prices in USD per million tokens, by default 1 for the prompt and nothing for the completion. */
export interface ModelFacts {
  slug: string
  scores?: Record<string, number>
  prompt?: number
  completion?: number
  /** In place of one endpoint at the price above. */
  prices?: Endpoint['price'][]
  /** Tokens per second. */
  speed?: number
}

/** A price of whole dollars per million tokens. */
export function promptPrice(prompt: number, completion: number, more: Partial<Price> = {}): Price {
  return { prompt: BigInt(prompt) * PER_MILLION, completion: BigInt(completion) * PER_MILLION, ...more }
}

export function createModel({ slug, scores = {}, prices = ['free'] }: ModelFacts): Model {
  const endpoints: Endpoint[] = []
  const model: Model = {
    slug,
    name: slug,
    description: '',
    created: 0,
    kind: 'generate',
    context: 100_000,
    maxOutput: undefined,
    input: ['text'],
    output: ['text'],
    scores,
    flags: new Set(),
    endpoints,
  }
  for (const [i, price] of prices.entries()) endpoints.push({ id: `${slug}@p${i}`, model, price } as Endpoint)
  return model
}

export interface ViewOptions {
  variants?: string[]
  /** Slug of the model that the conversation was given last. */
  sticky?: string | undefined
  random?: () => number
  name?: string
}

/** A view on models; a price of NaN is unknown. */
export function createView(facts: readonly ModelFacts[], options: ViewOptions = {}): RouterView {
  const byModel = new Map(facts.map((each) => [createModel(each), each]))
  const models = [...byModel.keys()]
  return {
    models,
    name: options.name ?? 'auto',
    variants: new Set(options.variants),
    sticky: models.find((model) => model.slug === options.sticky),
    speed: (model) => byModel.get(model)?.speed,
    price: (model) => {
      const { prompt = 1, completion = 0 } = byModel.get(model) ?? {}
      return Number.isNaN(prompt) ? undefined : { prompt, completion }
    },
    random: options.random ?? (() => 0),
  }
}

export interface Asked {
  request?: Partial<CanonicalRequest>
  body?: JsonObject
  model?: string
  /** In place of a request: reading it fails with this. */
  failure?: Error
}

/** A request of one user message, as far as these plugins look at it. */
export function createRead(text: string, { request = {}, body = {}, model = 'router/auto', failure }: Asked = {}): Read {
  const canonical: CanonicalRequest = {
    items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text }] }],
    tools: [],
    sampling: {},
    stream: false,
    used: new Set(),
    ...request,
  }
  return {
    body,
    gateway: { model, models: [], plugins: [], echoUpstreamBody: false },
    request: () => {
      if (failure) throw failure
      return canonical
    },
  } as unknown as Read
}

/** The part of a plugin that chooses; a plugin without one is a mistake of the test. */
export function pluginRouter<Config>(plugin: Plugin<Config>): ModelRouter<Config> {
  if (!plugin.router) throw new Error(`${plugin.id} chooses no model`)
  return plugin.router
}

/** The fault that `act` throws; anything else is a mistake of the test. */
export function catchFault(act: () => unknown): Fault {
  try {
    act()
  } catch (problem) {
    if (problem instanceof Fault) return problem
    throw problem
  }
  throw new Error('nothing was thrown')
}

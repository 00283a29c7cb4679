/** Providers, models and endpoints made from the few facts that a test cares about. */

import { rateFromUsdPerMillion } from '../../src/core/money-text.ts'
import type { Endpoint, Model, Price, Provider } from '../../src/routing/catalog/types.ts'
import type { Band, Health } from '../../src/routing/order.ts'

export function provider(slug: string, facts: Partial<Provider> = {}): Provider {
  return {
    slug,
    name: slug.toUpperCase(),
    dialect: 'openai-chat',
    baseUrl: `http://${slug}.test/v1`,
    headers: {},
    timeouts: { connect: 1, firstByte: 1, firstByteWhole: 1, idle: 1, total: 1 },
    onAbort: 'cancel',
    priceTime: 'start',
    dataCollection: 'deny',
    zdr: true,
    about: {},
    user: 'pass',
    traceContext: 'none',
    quirks: {},
    discover: false,
    ...facts,
  }
}

export function usdPerMillion(prompt: string, completion = '0'): Price {
  const rate = (text: string) => {
    const value = rateFromUsdPerMillion(text)
    if (value === undefined) throw new Error(`no price: ${text}`)
    return value
  }
  return { prompt: rate(prompt), completion: rate(completion) }
}

export type EndpointFacts = Partial<Omit<Endpoint, 'provider' | 'model'>> & { provider?: Provider }

/** One model with one endpoint for each entry; a string is short for a provider of that name. */
export function model(slug: string, endpoints: readonly (string | EndpointFacts)[], facts: Partial<Model> = {}): Model {
  const list: Endpoint[] = []
  const made: Model = {
    slug,
    name: slug,
    description: '',
    created: 0,
    kind: 'generate',
    context: undefined,
    maxOutput: undefined,
    input: ['text'],
    output: ['text'],
    scores: {},
    flags: new Set(),
    ...facts,
    endpoints: list,
  }
  for (const entry of endpoints) {
    const { provider: at = provider('acme'), ...own } = typeof entry === 'string' ? { provider: provider(entry) } : entry
    const suffix = [own.variant, own.tier].filter((part) => part !== undefined)
    list.push({
      id: `${[`${slug}@${at.slug}`, ...suffix].join('/')}`,
      provider: at,
      model: made,
      upstreamModel: slug,
      price: usdPerMillion('1'),
      context: made.context,
      maxOutput: made.maxOutput,
      quantization: 'unknown',
      variant: undefined,
      tier: undefined,
      supported: undefined,
      credential: undefined,
      scores: {},
      ...own,
    })
  }
  return made
}

export interface KnownHealth {
  outage?: readonly string[]
  resting?: readonly string[]
  /** Milliseconds until each is due. */
  ejected?: Readonly<Record<string, number>>
  band?: Readonly<Record<string, Band>>
  toolSuccess?: Readonly<Record<string, number>>
  /** Seconds and tokens per second, the same at every percentile, by provider slug. */
  latency?: Readonly<Record<string, number>>
  throughput?: Readonly<Record<string, number>>
  /** Calls that run there. */
  running?: Readonly<Record<string, number>>
}

/** Health by provider slug, or by whatever else names an endpoint. */
export function health(known: KnownHealth = {}, name: (endpoint: Endpoint) => string = ({ provider: { slug } }) => slug): Health {
  return {
    recentOutage: (endpoint) => known.outage?.includes(name(endpoint)) === true,
    resting: (endpoint) => known.resting?.includes(name(endpoint)) === true,
    ejected: (endpoint) => known.ejected?.[name(endpoint)] !== undefined,
    dueIn: (endpoint) => known.ejected?.[name(endpoint)] ?? 0,
    band: (endpoint) => known.band?.[name(endpoint)] ?? 0,
    toolSuccess: (endpoint) => known.toolSuccess?.[name(endpoint)],
    latency: (endpoint) => known.latency?.[name(endpoint)],
    throughput: (endpoint) => known.throughput?.[name(endpoint)],
    running: (endpoint) => known.running?.[name(endpoint)] ?? 0,
  }
}

export function slugs(endpoints: readonly Endpoint[]): string[] {
  return endpoints.map((endpoint) => endpoint.provider.slug)
}

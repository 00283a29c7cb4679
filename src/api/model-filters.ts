/** Filters and orders of the model lists (docs/contract.md#lists-and-records). A model without the requested figure does not match, and sorts last. */

import { badField } from '../core/faults.ts'
import { slugAuthor } from '../core/model-family.ts'
import { modelEntry } from '../routing/catalog/entry.ts'
import type { Endpoint, Model } from '../routing/catalog/types.ts'
import { MODEL_QUERIES } from '../routing/criteria/index.ts'
import type { Health } from '../routing/order.ts'
import { endpointPace } from '../routing/standing.ts'
import type { ModelUse } from './model-use.ts'
import { amount, choice, flag, integer, list, text } from './parameters.ts'

const DAY_SECONDS = 86_400
const USD_PER_MILLION = 1e6

const SORTS = [
  'newest',
  'pricing-low-to-high',
  'pricing-high-to-low',
  'context-high-to-low',
  'throughput-high-to-low',
  'latency-low-to-high',
  'most-popular',
  'top-weekly',
  'intelligence-high-to-low',
  'coding-high-to-low',
  'agentic-high-to-low',
] as const
type Sort = (typeof SORTS)[number]

const parts = (name: string, description: string, example: string) => list(name, `${description}; separated by commas.`, example)

const search = text('q', 'A part of the slug or the name.', {}, 'e')
export const outputModalities = parts('output_modalities', 'Output modalities: `text` by default, `all` for every model', 'text')
const inputModalities = parts('input_modalities', 'Input modalities', 'text')
const supportedParameters = parts('supported_parameters', 'Parameters that the model supports', 'temperature')
const leastContext = integer('context', 'Tokens of context, at least.', { least: 1, example: 1 })
const PRICE_BOUNDS = [
  {
    kind: 'prompt',
    least: amount('min_price', 'USD per million input tokens, at least.', 0),
    most: amount('max_price', 'USD per million input tokens, at most.', 100),
  },
  {
    kind: 'completion',
    least: amount('min_output_price', 'USD per million output tokens, at least.', 0),
    most: amount('max_output_price', 'USD per million output tokens, at most.', 500),
  },
] as const
const authors = parts('model_authors', 'Authors: the part before the slash', 'sim')
const providers = parts('providers', 'Providers that serve the model', 'sim')
const ofCriteria = MODEL_QUERIES.map(({ name, text, matches }) => ({ matches, wanted: flag(name, text, 'false') }))
const leastAge = integer('min_age_days', 'Days since the release, at least.', { example: 0 })
const mostAge = integer('max_age_days', 'Days since the release, at most.', { example: 3650 })
const sorting = choice('sort', 'Models without the figure come last.', SORTS, 'newest')

export const MODEL_FILTERS = [
  ...[search, outputModalities, inputModalities, supportedParameters, leastContext],
  ...PRICE_BOUNDS.flatMap(({ least, most }) => [least, most]),
  ...[authors, providers],
  ...ofCriteria.map(({ wanted }) => wanted),
  ...[leastAge, mostAge, sorting],
]

/** Figures to sort by that the catalogue does not have. */
export interface Figures {
  readonly health?: Health
  /** Of the last week. */
  readonly use?: ModelUse
}

/** True if the query sorts by use, which needs the ledger. @throws Fault 400 for an unknown order. */
export function sortsByUse(query: URLSearchParams): boolean {
  const sort = sorting.read(query)
  return sort === 'most-popular' || sort === 'top-weekly'
}

/** Filters by figures that no catalogue here holds. Ignoring them would return models that do not match. */
const UNKNOWN_FIGURES = ['category', 'arch', 'region', 'use_rss'] as const

type Test = (model: Model) => boolean

/**
 * The filters of a query, as one test.
 * @param nowSeconds Unix time, for the ages.
 * @throws Fault 400 naming the parameter.
 */
export function modelTest(query: URLSearchParams, nowSeconds: number): Test {
  for (const name of UNKNOWN_FIGURES) {
    if (query.get(name)) throw badField(name, 'this catalogue does not record it')
  }
  const tests = [...byText(query), ...byAbility(query), ...byPrice(query), ...byAge(query, nowSeconds)]
  return (model) => tests.every((test) => test(model))
}

/** `output_modalities` alone: the default is text, `all` takes every model. */
export function outputTest(query: URLSearchParams): Test {
  const wanted = outputModalities.read(query) ?? ['text']
  return wanted.includes('all') ? () => true : (model) => wanted.every((one) => model.output.includes(one))
}

/** @throws Fault 400 for an order that this catalogue cannot make. */
export function sortModels(models: readonly Model[], query: URLSearchParams, figures: Figures): readonly Model[] {
  const sort = sorting.read(query)
  if (sort === undefined) return models
  const figure = sortFigure(sort, figures)
  return models
    .map((model) => ({ model, figure: figure(model) }))
    .sort((a, b) => (a.figure === b.figure ? 0 : a.figure - b.figure))
    .map((entry) => entry.model)
}

function byText(query: URLSearchParams): Test[] {
  const tests: Test[] = []
  const q = search.read(query)?.trim().toLowerCase()
  if (q) tests.push((model) => model.slug.toLowerCase().includes(q) || model.name.toLowerCase().includes(q))
  const named = authors.read(query)
  if (named) tests.push((model) => named.includes(slugAuthor(model.slug).toLowerCase()))
  const slugs = providers.read(query)
  if (slugs) {
    const isNamed = ({ provider }: Endpoint) => slugs.includes(provider.slug.toLowerCase()) || slugs.includes(provider.name.toLowerCase())
    tests.push((model) => model.endpoints.some(isNamed))
  }
  return tests
}

function byAbility(query: URLSearchParams): Test[] {
  const tests: Test[] = []
  const parameters = supportedParameters.read(query)
  if (parameters) {
    tests.push((model) => {
      const supported = modelEntry(model).supported_parameters as readonly string[]
      return parameters.every((name) => supported.includes(name))
    })
  }
  const input = inputModalities.read(query)
  if (input) tests.push((model) => input.every((one) => model.input.includes(one)))
  const context = leastContext.read(query)
  if (context !== undefined) tests.push((model) => modelContext(model) >= context)
  for (const { matches, wanted } of ofCriteria) {
    const isWanted = wanted.read(query)
    if (isWanted !== undefined) tests.push((model) => matches(model, isWanted))
  }
  return tests
}

function byPrice(query: URLSearchParams): Test[] {
  const tests: Test[] = []
  for (const { kind, least, most } of PRICE_BOUNDS) {
    const min = least.read(query)
    const max = most.read(query)
    if (min === undefined && max === undefined) continue
    tests.push((model) => {
      const price = modelPrice(model, kind)
      return price !== undefined && price >= (min ?? 0) && price <= (max ?? Number.POSITIVE_INFINITY)
    })
  }
  return tests
}

function byAge(query: URLSearchParams, nowSeconds: number): Test[] {
  const least = leastAge.read(query)
  const most = mostAge.read(query)
  if (least === undefined && most === undefined) return []
  return [
    (model) => {
      const days = (nowSeconds - model.created) / DAY_SECONDS
      return model.created > 0 && days >= (least ?? 0) && days <= (most ?? Number.POSITIVE_INFINITY)
    },
  ]
}

/** A number that is smaller the further up the model stands. */
function sortFigure(sort: Sort, { health, use }: Figures): (model: Model) => number {
  const last = Number.POSITIVE_INFINITY
  switch (sort) {
    case 'newest':
      return (model) => (model.created > 0 ? -model.created : last)
    case 'context-high-to-low':
      return (model) => (modelContext(model) > 0 ? -modelContext(model) : last)
    case 'pricing-low-to-high':
      return (model) => averagePrice(model) ?? last
    case 'pricing-high-to-low':
      return (model) => -(averagePrice(model) ?? -last)
    case 'latency-low-to-high':
      return (model) => Math.min(...model.endpoints.map((endpoint) => health?.latency(endpoint, 'p50') ?? last), last)
    case 'throughput-high-to-low':
      return (model) => Math.min(...model.endpoints.map((endpoint) => -((health && endpointPace(health, endpoint)) ?? -last)), last)
    case 'most-popular':
      return ({ slug }) => -(use?.get(slug)?.requests ?? -last)
    case 'top-weekly':
      return ({ slug }) => -(use?.get(slug)?.tokens ?? -last)
    case 'intelligence-high-to-low':
      return ({ scores }) => -(scores.general ?? -last)
    case 'coding-high-to-low':
      return ({ scores }) => -(scores.coding ?? -last)
    case 'agentic-high-to-low':
      return ({ scores }) => -(scores.tools ?? -last)
  }
}

function modelContext(model: Model): number {
  const context = modelEntry(model).context_length
  return typeof context === 'number' ? context : 0
}

/** USD per million tokens as the list shows it; undefined where there is no price. */
function modelPrice(model: Model, kind: 'prompt' | 'completion'): number | undefined {
  const pricing = modelEntry(model).pricing as { [kind: string]: string }
  const perToken = Number(pricing[kind])
  // The nearest nano-dollar, so that a requested 0.25 matches a listed 0.25.
  return perToken >= 0 ? Math.round(perToken * USD_PER_MILLION * 1e9) / 1e9 : undefined
}

function averagePrice(model: Model): number | undefined {
  const prompt = modelPrice(model, 'prompt')
  const completion = modelPrice(model, 'completion')
  return prompt === undefined || completion === undefined ? undefined : (prompt + completion) / 2
}

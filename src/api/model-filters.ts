/** Filters and orders of the model lists (docs/contract.md#lists-and-records). A model without the requested figure does not match, and sorts last. */

import { badField } from '../core/faults.ts'
import { authorOf } from '../core/model-family.ts'
import { modelEntry } from '../routing/catalog/entry.ts'
import type { Endpoint, Model } from '../routing/catalog/types.ts'
import { MODEL_QUERIES } from '../routing/criteria/index.ts'
import type { Health } from '../routing/order.ts'
import { paceOf } from '../routing/standing.ts'
import type { ModelUse } from './model-use.ts'
import { choiceOf, integerOf, listOf, numberOf } from './query.ts'

const DAY_SECONDS = 86_400
const USD_PER_MILLION = 1e6

export const SORTS = [
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

/** What the orders go by beside the catalogue. */
export interface Figures {
  readonly health?: Health
  /** Of the last week. */
  readonly use?: ModelUse
}

/** Whether the query sorts by use, which needs the ledger. @throws Fault 400 for an order that there is not. */
export function sortsByUse(query: URLSearchParams): boolean {
  const sort = choiceOf(query, 'sort', SORTS)
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
  const wanted = listOf(query, 'output_modalities') ?? ['text']
  return wanted.includes('all') ? () => true : (model) => wanted.every((one) => model.output.includes(one))
}

/** @throws Fault 400 for an order that this catalogue cannot make. */
export function sortModels(models: readonly Model[], query: URLSearchParams, figures: Figures): readonly Model[] {
  const sort = choiceOf(query, 'sort', SORTS)
  if (sort === undefined) return models
  const figure = figureOf(sort, figures)
  return models
    .map((model) => ({ model, figure: figure(model) }))
    .sort((a, b) => (a.figure === b.figure ? 0 : a.figure - b.figure))
    .map((entry) => entry.model)
}

function byText(query: URLSearchParams): Test[] {
  const tests: Test[] = []
  const q = query.get('q')?.trim().toLowerCase()
  if (q) tests.push((model) => model.slug.toLowerCase().includes(q) || model.name.toLowerCase().includes(q))
  const authors = listOf(query, 'model_authors')
  if (authors) tests.push((model) => authors.includes(authorOf(model.slug).toLowerCase()))
  const providers = listOf(query, 'providers')
  if (providers) {
    const named = ({ provider }: Endpoint) =>
      providers.includes(provider.slug.toLowerCase()) || providers.includes(provider.name.toLowerCase())
    tests.push((model) => model.endpoints.some(named))
  }
  return tests
}

function byAbility(query: URLSearchParams): Test[] {
  const tests: Test[] = []
  const parameters = listOf(query, 'supported_parameters')
  if (parameters) {
    tests.push((model) => {
      const supported = modelEntry(model).supported_parameters as readonly string[]
      return parameters.every((name) => supported.includes(name))
    })
  }
  const input = listOf(query, 'input_modalities')
  if (input) tests.push((model) => input.every((one) => model.input.includes(one)))
  const context = integerOf(query, 'context', 1, Number.MAX_SAFE_INTEGER)
  if (context !== undefined) tests.push((model) => contextOf(model) >= context)
  for (const { name, matches } of MODEL_QUERIES) {
    const wanted = choiceOf(query, name, ['true', 'false'])
    if (wanted) tests.push((model) => matches(model, wanted === 'true'))
  }
  return tests
}

function byPrice(query: URLSearchParams): Test[] {
  const tests: Test[] = []
  const bounds = [
    ['prompt', 'min_price', 'max_price'],
    ['completion', 'min_output_price', 'max_output_price'],
  ] as const
  for (const [kind, least, most] of bounds) {
    const min = numberOf(query, least)
    const max = numberOf(query, most)
    if (min === undefined && max === undefined) continue
    tests.push((model) => {
      const price = priceOf(model, kind)
      return price !== undefined && price >= (min ?? 0) && price <= (max ?? Number.POSITIVE_INFINITY)
    })
  }
  return tests
}

function byAge(query: URLSearchParams, nowSeconds: number): Test[] {
  const least = integerOf(query, 'min_age_days', 0, Number.MAX_SAFE_INTEGER)
  const most = integerOf(query, 'max_age_days', 0, Number.MAX_SAFE_INTEGER)
  if (least === undefined && most === undefined) return []
  return [
    (model) => {
      const days = (nowSeconds - model.created) / DAY_SECONDS
      return model.created > 0 && days >= (least ?? 0) && days <= (most ?? Number.POSITIVE_INFINITY)
    },
  ]
}

/** A number that is smaller the further up the model stands. */
function figureOf(sort: Sort, { health, use }: Figures): (model: Model) => number {
  const last = Number.POSITIVE_INFINITY
  switch (sort) {
    case 'newest':
      return (model) => (model.created > 0 ? -model.created : last)
    case 'context-high-to-low':
      return (model) => (contextOf(model) > 0 ? -contextOf(model) : last)
    case 'pricing-low-to-high':
      return (model) => averagePrice(model) ?? last
    case 'pricing-high-to-low':
      return (model) => -(averagePrice(model) ?? -last)
    case 'latency-low-to-high':
      return (model) => Math.min(...model.endpoints.map((endpoint) => health?.latency(endpoint, 'p50') ?? last), last)
    case 'throughput-high-to-low':
      return (model) => Math.min(...model.endpoints.map((endpoint) => -((health && paceOf(health, endpoint)) ?? -last)), last)
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

function contextOf(model: Model): number {
  const context = modelEntry(model).context_length
  return typeof context === 'number' ? context : 0
}

/** USD per million tokens as the list shows it; undefined where there is no price. */
function priceOf(model: Model, kind: 'prompt' | 'completion'): number | undefined {
  const pricing = modelEntry(model).pricing as { [kind: string]: string }
  const perToken = Number(pricing[kind])
  // The nearest nano-dollar, so that a requested 0.25 matches a listed 0.25.
  return perToken >= 0 ? Math.round(perToken * USD_PER_MILLION * 1e9) / 1e9 : undefined
}

function averagePrice(model: Model): number | undefined {
  const prompt = priceOf(model, 'prompt')
  const completion = priceOf(model, 'completion')
  return prompt === undefined || completion === undefined ? undefined : (prompt + completion) / 2
}

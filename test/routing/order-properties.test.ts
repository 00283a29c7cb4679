import fc from 'fast-check'
import t from 'tap'
import { present } from '../../src/core/json.ts'
import { rateFromUsdPerMillion } from '../../src/core/money-text.ts'
import type { Endpoint, Price } from '../../src/routing/catalog/types.ts'
import { type Filtered, filterEndpoints } from '../../src/routing/filters.ts'
import type { OrderPreferences } from '../../src/routing/order.ts'
import { orderEndpoints } from '../../src/routing/order.ts'
import { property } from '../support/seed.ts'
import type { KnownHealth } from './catalogue.ts'
import { health, model, provider, usdPerMillion } from './catalogue.ts'

const SLUGS = ['a', 'b', 'c', 'd', 'e']
const endpointId = (endpoint: Endpoint): string => endpoint.id
const PROVIDERS = SLUGS.map((slug) => provider(slug))
const NOBODY = ['nobody']

const price: fc.Arbitrary<Endpoint['price']> = fc.oneof(
  fc.constantFrom<'free' | 'unpriced'>('free', 'unpriced'),
  fc.tuple(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 5 })).map(([a, b]) => usdPerMillion(String(a), String(b))),
)
const tier = fc.constantFrom(undefined, undefined, 'flex' as const, 'priority' as const)
const weight = fc.constantFrom(undefined, undefined, undefined, 0, 1, 2.5, 80)
const place = fc.record({
  at: fc.nat(4),
  price,
  tier,
  weight,
  score: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
})
const suffix = (tag: string | undefined) => tag ?? 'base'
const scored = (tools: number | undefined): Record<string, number> => (tools === undefined ? {} : { tools })
/** Up to three models, each with endpoints that differ in provider or tier. */
const catalogue = fc
  .array(fc.uniqueArray(place, { maxLength: 8, selector: (one) => `${one.at}/${suffix(one.tier)}` }), { minLength: 1, maxLength: 3 })
  .map((models) =>
    models.flatMap(
      (places, m) =>
        model(
          `a/m${m}`,
          places.map((one) => ({
            provider: PROVIDERS[one.at],
            price: one.price,
            tier: one.tier,
            weight: one.weight,
            scores: scored(one.score),
          })),
        ).endpoints,
    ),
  )

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 })
const facts = fc.record({
  outage: fc.boolean(),
  resting: fc.boolean(),
  ejected: fc.option(fc.integer({ min: 1, max: 30_000 }), { nil: undefined, freq: 3 }),
  band: fc.constantFrom(0 as const, 0 as const, 1 as const, 2 as const),
  toolSuccess: maybe(fc.double({ min: 0, max: 1, noNaN: true })),
  latency: maybe(fc.double({ min: 0, max: 60, noNaN: true })),
  throughput: maybe(fc.double({ min: 0.001, max: 1e6, noNaN: true })),
  running: maybe(fc.nat(9)),
})
type Facts = typeof facts extends fc.Arbitrary<infer F> ? F : never
/** Known figures of each endpoint, by its place in the list; more than any list is long. */
const known = fc.array(facts, { minLength: 24, maxLength: 24 })

function knownHealth(list: readonly Endpoint[], all: readonly Facts[]): KnownHealth {
  const ids = list.map(endpointId)
  const where = (holds: (at: number) => boolean) => ids.filter((_, at) => holds(at))
  const values = <T>(pick: (at: number) => T | undefined): Record<string, T> => {
    const found: Record<string, T> = {}
    for (const [at, id] of ids.entries()) {
      const value = pick(at)
      if (value !== undefined) found[id] = value
    }
    return found
  }
  return {
    outage: where((at) => all[at].outage),
    resting: where((at) => all[at].resting),
    ejected: values((at) => all[at].ejected),
    band: values((at) => all[at].band),
    toolSuccess: values((at) => all[at].toolSuccess),
    latency: values((at) => all[at].latency),
    throughput: values((at) => all[at].throughput),
    running: values((at) => all[at].running),
  }
}

const sort = fc.constantFrom<OrderPreferences['sort']>(
  undefined,
  undefined,
  null,
  'price',
  'latency',
  'throughput',
  'exacto',
  'least_busy',
  { by: 'price', partition: 'none' },
  { partition: 'none' },
  { by: 'latency', partition: 'model' },
  {},
)
const goal = fc.option(fc.oneof(fc.double({ min: 0, max: 9, noNaN: true }), fc.constant({ p50: 3, p99: 5 })), { nil: null, freq: 1 })
const preferences = fc
  .record({
    order: fc.option(fc.shuffledSubarray([...SLUGS, 'a/flex', 'b/priority', ...NOBODY]), { nil: null, freq: 1 }),
    allow_fallbacks: fc.constantFrom(undefined, null, true, false),
    sort,
    preferred_max_latency: goal,
    preferred_min_throughput: goal,
    route: fc.constantFrom(undefined, null, 'fallback' as const, 'sort' as const),
    sticky: fc.constantFrom(undefined, 'a/m0@a', 'a/m1@b', 'a/m0@gone'),
    serviceTier: fc.constantFrom(undefined, undefined, 'flex' as const, 'priority' as const),
    tools: fc.constantFrom(undefined, false, true),
  })
  .map((fields) => present(fields))
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

function check(name: string, holds: (list: Endpoint[], state: KnownHealth, prefs: OrderPreferences, point: number) => boolean): void {
  t.test(name, (t) => {
    fc.assert(
      fc.property(catalogue, known, preferences, chance, (list, all, prefs, point) => holds(list, knownHealth(list, all), prefs, point)),
      property(400, 5_000),
    )
    t.pass('held in every run')
    t.end()
  })
}

const arrange = (list: readonly Endpoint[], prefs: OrderPreferences, state: KnownHealth, point: number): Endpoint[] =>
  orderEndpoints(list, prefs, () => point, health(state, endpointId))
const ids = (list: readonly Endpoint[]): string => list.map(endpointId).sort().join()
const isEjected = (state: KnownHealth, endpoint: Endpoint): boolean => state.ejected?.[endpoint.id] !== undefined
const partition = ({ sort: by, route }: OrderPreferences): string =>
  (typeof by === 'object' ? by?.partition : undefined) ?? (route === 'sort' ? 'none' : 'model')

check('property: an order is a permutation of the candidates, or the top of it without fallbacks', (list, state, prefs, point) => {
  const whole = arrange(list, { ...prefs, allow_fallbacks: true }, state, point)
  if (ids(whole) !== ids(list)) return false
  const top = arrange(list, { ...prefs, allow_fallbacks: false }, state, point)
  if (new Set(top).size !== top.length || !top.every((endpoint) => list.includes(endpoint))) return false
  if (prefs.order?.length) return true
  const groups = partition(prefs) === 'none' ? Math.min(1, list.length) : new Set(list.map((endpoint) => endpoint.model)).size
  return top.length === groups
})

check('property: ejected endpoints come last of all, by when they are due', (list, state, prefs, point) => {
  const got = arrange(list, prefs, state, point)
  const first = got.findIndex((endpoint) => isEjected(state, endpoint))
  if (first < 0) return true
  const due = got.slice(first).map((endpoint) => state.ejected?.[endpoint.id] ?? -1)
  return due.every((ms, at) => ms >= 0 && (at === 0 || due[at - 1] <= ms))
})

check("property: the caller's order is kept, but for who is ejected", (list, state, prefs, point) => {
  const wanted = ['c', 'nobody', 'a', 'e']
  const [only] = new Set(list.map((endpoint) => endpoint.model))
  const one = list.filter((endpoint) => endpoint.model === only)
  const got = arrange(one, { ...prefs, order: wanted, allow_fallbacks: true }, state, point).filter(
    (endpoint) => !isEjected(state, endpoint),
  )
  const places = got.map((endpoint) => wanted.indexOf(endpoint.provider.slug)).map((at) => (at < 0 ? wanted.length : at))
  return places.every((at, i) => i === 0 || places[i - 1] <= at)
})

check(
  'property: by default whoever is unstable comes after all that are stable, and only the first is drawn',
  (list, state, prefs, point) => {
    const [only] = new Set(list.map((endpoint) => endpoint.model))
    const one = list.filter((endpoint) => endpoint.model === only && !isEjected(state, endpoint))
    const plain = { preferred_max_latency: prefs.preferred_max_latency, tools: prefs.tools }
    const got = arrange(one, plain, state, point)
    const unstable = got.map(({ id }) => state.outage?.includes(id) || state.resting?.includes(id))
    const stableFirst = !unstable.some((bad, at) => bad && unstable.slice(at).includes(false))
    const other = arrange(one, plain, state, 0)
    const [drawn] = got
    const rest = (list: readonly Endpoint[]) =>
      list
        .filter((endpoint) => endpoint !== drawn && endpoint !== other[0])
        .map(endpointId)
        .join()
    return stableFirst && rest(got) === rest(other)
  },
)

const FLAWED = ['outage', 'resting'] as const
const isWell = (state: KnownHealth, { id }: Endpoint): boolean =>
  state.ejected?.[id] === undefined && (state.band?.[id] ?? 0) === 0 && !FLAWED.some((flaw) => state[flaw]?.includes(id))
const ofFirstModel = (list: readonly Endpoint[]): Endpoint[] => list.filter(({ model }) => model === list[0]?.model)

check(
  'property: of endpoints that are well each is first as often as its weight says, and a drained one never',
  (list, state, { tools }) => {
    const one = ofFirstModel(list)
    const well = one.filter((endpoint) => isWell(state, endpoint))
    const total = well.reduce((sum, endpoint) => sum + (endpoint.weight ?? 1), 0)
    if (!one.some((endpoint) => (endpoint.weight ?? 0) > 0) || total === 0) return true
    const POINTS = 400
    const firsts = new Map<string, number>()
    for (let at = 0; at < POINTS; at++) {
      const [first] = arrange(one, { tools }, state, (at + 0.5) / POINTS)
      if (!isWell(state, first)) return false
      firsts.set(first.id, (firsts.get(first.id) ?? 0) + 1)
    }
    return well.every((endpoint) => Math.abs((firsts.get(endpoint.id) ?? 0) - (POINTS * (endpoint.weight ?? 1)) / total) <= 1)
  },
)

check('property: the least busy of those that are well is first, by its weight', (list, state, _prefs, point) => {
  const one = ofFirstModel(list)
  const well = one.filter((endpoint) => isWell(state, endpoint))
  const load = ({ id, weight = 1 }: Endpoint): number => (weight === 0 ? Number.POSITIVE_INFINITY : (state.running?.[id] ?? 0) / weight)
  const got = arrange(one, { sort: 'least_busy' }, state, point)
  return well.length === 0 || load(got[0]) === Math.min(...well.map(load))
})

check("property: an operator's order that names none of a model's endpoints is as if it were not there", (list, state, prefs, point) => {
  const without = { ...prefs, order: null }
  const foreign = { ...prefs, order: NOBODY, order_from: 'account' }
  const [one, other] = [without, foreign].map((wanted) => arrange(list, wanted, state, point).map(endpointId).join())
  return one === other
})

check('property: thresholds only reorder', (list, state, prefs, point) => {
  const fallbacks = { ...prefs, allow_fallbacks: true }
  const without = { ...fallbacks, preferred_max_latency: null, preferred_min_throughput: null }
  return ids(arrange(list, fallbacks, state, point)) === ids(arrange(list, without, state, point))
})

t.test('property: filters and order together keep to only, ignore and the price ceiling', (t) => {
  const lists = fc.record({ only: fc.subarray(SLUGS), ignore: fc.subarray(SLUGS), ceiling: fc.integer({ min: 0, max: 5 }) })
  let chosen = 0
  fc.assert(
    fc.property(catalogue, known, preferences, lists, chance, (list, all, prefs, { only, ignore, ceiling }, point) => {
      const filtered: Filtered = filterEndpoints(list, {
        provider: {
          only: only.length > 0 ? [{ from: 'request', slugs: only }] : [],
          ignore: [{ from: 'request', slugs: ignore }],
          max_price: { prompt: ceiling },
          ...present({ order: prefs.order, allow_fallbacks: prefs.allow_fallbacks }),
        },
      })
      const got = arrange(filtered.kept, prefs, knownHealth(list, all), point)
      chosen += got.length
      const limit = rateFromUsdPerMillion(String(ceiling)) ?? -1n
      const within = (cost: Price | 'free' | 'unpriced') => cost === 'free' || (cost !== 'unpriced' && cost.prompt <= limit)
      return got.every(
        (endpoint) =>
          (only.length === 0 || only.includes(endpoint.provider.slug)) &&
          !ignore.includes(endpoint.provider.slug) &&
          within(endpoint.price),
      )
    }),
    property(400, 5_000),
  )
  t.ok(chosen > 100, `${chosen} endpoints chosen`)
  t.end()
})

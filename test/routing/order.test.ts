import t from 'tap'
import type { Endpoint } from '../../src/routing/catalog/types.ts'
import type { OrderPreferences } from '../../src/routing/order.ts'
import { orderEndpoints } from '../../src/routing/order.ts'
import { FakeClock } from '../support/clock.ts'
import { every } from '../support/every.ts'
import type { EndpointFacts, KnownHealth } from './catalogue.ts'
import { health, model, provider, slugs, usdPerMillion } from './catalogue.ts'

const priced = (prices: Readonly<Record<string, string>>): EndpointFacts[] =>
  Object.entries(prices).map(([slug, prompt]) => ({ provider: provider(slug), price: usdPerMillion(prompt) }))
const endpoints = (prices: Readonly<Record<string, string>>): readonly Endpoint[] => model('a/m', priced(prices)).endpoints
const order = (list: readonly Endpoint[], prefs: OrderPreferences, known: KnownHealth = {}, chance = () => 0): string[] =>
  slugs(orderEndpoints(list, prefs, chance, health(known)))

/** Pearson's statistic of how often each endpoint came first in 10,000 draws, against weights by price. */
function chiSquare(prices: Readonly<Record<string, string>>, weight: (price: number) => number, prefs: OrderPreferences = {}): number {
  const list = endpoints(prices)
  const clock = new FakeClock(42)
  const counts = new Map<string, number>()
  for (let i = 0; i < 10_000; i++) {
    const [first] = order(list, prefs, {}, () => clock.random())
    counts.set(first, (counts.get(first) ?? 0) + 1)
  }
  const entries = Object.entries(prices)
  const total = entries.reduce((sum, [, price]) => sum + weight(Number(price)), 0)
  return entries.reduce((sum, [slug, price]) => {
    const expected = (10_000 * weight(Number(price))) / total
    return sum + ((counts.get(slug) ?? 0) - expected) ** 2 / expected
  }, 0)
}

t.test('the first is drawn with weight 1/price², 10,000 draws at p > 0.01', async (t) => {
  // The 99 % points of the chi-square distribution with 1, 2 and 4 degrees of freedom.
  const law = (price: number) => 1 / price ** 2
  t.ok(chiSquare({ one: '1', three: '3' }, law) < 6.635)
  t.ok(chiSquare({ a: '2', b: '1', c: '3' }, law) < 9.21)
  t.ok(chiSquare({ a: '0.5', b: '0.8', c: '0.5', d: '2', e: '0.71' }, law) < 13.277)
  t.ok(chiSquare({ a: '2', b: '1', c: '3' }, law, { tools: true }) < 9.21, 'tools change nothing as long as nothing is known')
  t.ok(chiSquare({ a: '2', b: '1', c: '3' }, (price) => 1 / price) > 500, 'another law is refuted')
  const list = endpoints({ one: '1', three: '3' })
  t.same(
    order(list, {}, {}, () => 0.899),
    ['one', 'three'],
  )
  t.same(
    order(list, {}, {}, () => 0.901),
    ['three', 'one'],
  )
  t.same(
    order(list, {}, {}, () => 0.999999999999),
    ['three', 'one'],
  )
})

t.test('the contract example: the unstable one comes last, the first is drawn among the rest', async (t) => {
  const list = endpoints({ a: '1', b: '2', c: '3' })
  t.same(
    order(list, {}, { outage: ['b'] }, () => 0),
    ['a', 'c', 'b'],
  )
  t.same(
    order(list, {}, { outage: ['b'] }, () => 0.95),
    ['c', 'a', 'b'],
  )
  t.same(
    order(list, {}, { outage: ['a', 'b', 'c'] }, () => 0),
    ['a', 'b', 'c'],
    'nobody is removed',
  )
  t.same(
    order(list, {}, { resting: ['a'] }, () => 0),
    ['b', 'c', 'a'],
  )
})

t.test('free ones draw among themselves; a price nobody knows comes last', async (t) => {
  const list = model('a/m', [
    { provider: provider('paid') },
    { provider: provider('free1'), price: 'free' },
    { provider: provider('riddle'), price: 'unpriced' },
    { provider: provider('free2'), price: usdPerMillion('0') },
  ]).endpoints
  t.same(
    order(list, {}, {}, () => 0.49),
    ['free1', 'free2', 'paid', 'riddle'],
  )
  t.same(
    order(list, {}, {}, () => 0.51),
    ['free2', 'free1', 'paid', 'riddle'],
  )
  t.same(order(list.slice(2, 3), {}), ['riddle'])
  const riddles = model('a/m', [
    { provider: provider('r1'), price: 'unpriced' },
    { provider: provider('r2'), price: 'unpriced' },
  ]).endpoints
  t.same(
    order(riddles, {}, {}, () => 0.9),
    ['r2', 'r1'],
  )
  t.same(order(list, { sort: 'price' }), ['free1', 'free2', 'paid', 'riddle'])
})

t.test('order comes first, without providers that do not serve, then the rest by price', async (t) => {
  const list = endpoints({ a: '3', b: '2', c: '1', d: '4' })
  const unasked = () => {
    throw new Error('no draw under order')
  }
  t.same(order(list, { order: ['d', 'nobody', 'a'] }, {}, unasked), ['d', 'a', 'c', 'b'])
  t.same(order(list, { order: ['d', 'a'] }, { outage: ['d', 'c'] }, unasked), ['d', 'a', 'b', 'c'], 'an outage moves only the rest')
  t.same(order(list, { order: ['d', 'a'], allow_fallbacks: false }, {}, unasked), ['d', 'a'])
  t.same(order(list, { order: ['nobody'], allow_fallbacks: false }, {}, unasked), [], 'no rest without fallbacks')
  t.same(order(list.slice(0, 1), { order: ['nobody'], allow_fallbacks: false }), [])
  t.same(order(list, { order: ['d', 'd'], sort: 'price' }, {}, unasked), ['d', 'c', 'b', 'a'])
  t.same(order(list, { order: ['d'], sticky: 'a/m@a' }), ['d', 'c', 'b', 'a'], 'no stickiness under order')
})

t.test('sort puts unknown speeds last, and breaks ties by price', async (t) => {
  const list = endpoints({ a: '3', b: '2', c: '1', d: '4' })
  const known = { latency: { a: 0.5, d: 0.2, b: 0.5 }, throughput: { a: 10, d: 90 } }
  t.same(order(list, { sort: 'price' }, { outage: ['c'] }), ['c', 'b', 'a', 'd'], 'the cheapest always first')
  t.same(order(list, { sort: 'latency' }, known), ['d', 'b', 'a', 'c'])
  t.same(order(list, { sort: 'throughput' }, known), ['d', 'a', 'c', 'b'])
  t.same(order(list, { sort: { by: 'throughput' } }, known), ['d', 'a', 'c', 'b'])
  t.same(order(list, { sort: { by: null } }, known), ['c', 'b', 'a', 'd'], 'no key is no sort')
  t.same(order(list, { sort: 'price', allow_fallbacks: false }), ['c'])
  t.same(order(list, { sort: 'price' }, { resting: ['c'] }), ['b', 'a', 'd', 'c'], 'who asked for rest gets it')
})

t.test('partitions several models, and reads route as the older name', async (t) => {
  const dear = model('a/first', priced({ a: '5', b: '6' })).endpoints
  const cheap = model('a/second', priced({ c: '1', d: '9' })).endpoints
  const both = [...dear, ...cheap]
  t.same(order(both, { sort: 'price' }), ['a', 'b', 'c', 'd'])
  t.same(order(both, { sort: { by: 'price', partition: 'model' } }), ['a', 'b', 'c', 'd'])
  t.same(order(both, { sort: { by: 'price', partition: 'none' } }), ['c', 'a', 'b', 'd'])
  t.same(order(both, { sort: 'price', route: 'sort' }), ['c', 'a', 'b', 'd'])
  t.same(order(both, { sort: 'price', route: 'fallback' }), ['a', 'b', 'c', 'd'])
  t.same(order(both, { sort: { by: 'price', partition: 'model' }, route: 'sort' }), ['a', 'b', 'c', 'd'], 'the new name wins')
  t.same(order(both, { sort: 'price', allow_fallbacks: false }), ['a', 'c'], "each model's top endpoint")
  t.same(order(both, { sort: { by: 'price', partition: 'none' }, allow_fallbacks: false }), ['c'])
})

t.test('thresholds reorder and never remove', async (t) => {
  const list = endpoints({ a: '1', b: '2', c: '3' })
  const known = { latency: { a: 3, b: 1 }, throughput: { a: 100, b: 20 } }
  t.same(order(list, { preferred_max_latency: 2 }, known), ['b', 'c', 'a'])
  t.same(order(list, { preferred_max_latency: { p50: 5, p99: 2 } }, known), ['b', 'c', 'a'], 'all given cutoffs must hold')
  t.same(order(list, { preferred_min_throughput: 50 }, known), ['a', 'c', 'b'])
  t.same(order(list, { preferred_min_throughput: 50, preferred_max_latency: 2 }, known), ['c', 'a', 'b'])
  t.same(order(list, { preferred_max_latency: 2 }, { ...known, outage: ['b', 'c'] }), ['a', 'b', 'c'], 'an outage weighs more')
  t.same(order(list, { preferred_max_latency: 2, sort: 'price' }, known), ['b', 'c', 'a'])
})

t.test('uptime bands: below 95 % after the others, below 80 % last, among the stable and among the unstable', async (t) => {
  const list = endpoints({ a: '1', b: '2', c: '3', d: '4' })
  const never = () => {
    throw new Error('nobody to draw between')
  }
  t.same(
    order(list, {}, { band: { a: 1 } }, () => 0),
    ['b', 'c', 'd', 'a'],
  )
  t.same(order(list, {}, { band: { a: 2, b: 1, c: 1 } }, never), ['d', 'b', 'c', 'a'])
  t.same(order(list, {}, { band: { a: 2, b: 1 }, outage: ['d', 'b'] }, never), ['c', 'a', 'd', 'b'], 'an outage weighs more')
  t.same(order(list, { preferred_max_latency: 1 }, { band: { a: 1, b: 2 }, latency: { c: 2 } }, never), ['d', 'a', 'c', 'b'])
  t.same(order(list, { sort: 'price' }, { band: { a: 1, b: 2 } }, never), ['a', 'c', 'd', 'b'], 'a sort yields to the last resort alone')
  t.same(order(list, { order: ['b'] }, { band: { a: 1, b: 2 } }, never), ['b', 'c', 'd', 'a'])
})

t.test('ejected endpoints come after everything else, the one due soonest first', async (t) => {
  const list = endpoints({ a: '1', b: '2', c: '3', d: '4' })
  const known = { ejected: { a: 900, c: 100 }, outage: ['b', 'd'], resting: ['b'] }
  t.same(order(list, {}, known), ['b', 'd', 'c', 'a'])
  t.same(order(list, { tools: true }, known), ['b', 'd', 'c', 'a'])
  await every(t, 'every sort', async (t) => {
    for (const sort of ['price', 'latency', 'throughput', 'exacto'] as const)
      t.same(order(list, { sort }, known).slice(2), ['c', 'a'], sort)
  })
  t.same(order(list, { order: ['a', 'd', 'c', 'b'] }, known), ['d', 'b', 'c', 'a'], "the caller's list as well")
  t.same(order(list, { order: ['a', 'd'], allow_fallbacks: false }, known), ['d', 'a'])
  t.same(order(list, { sticky: 'a/m@a' }, known), ['b', 'd', 'c', 'a'])
  t.same(order(list, {}, { ejected: { a: 9, b: 1, c: 5, d: 3 } }), ['b', 'd', 'c', 'a'], 'all of them are still tried')
  t.same(order(list, { allow_fallbacks: false }, { ejected: { a: 9 } }), ['b'])
  const both = [...model('a/first', priced({ a: '1', b: '2' })).endpoints, ...model('a/second', priced({ c: '1', d: '2' })).endpoints]
  t.same(order(both, {}, { ejected: { a: 9 } }), ['b', 'c', 'd', 'a'], 'another model is better than an ejected endpoint')
})

t.test('exacto and tools: quality by speed, tool calls and score, the draw only between the best', async (t) => {
  const list = endpoints({ a: '3', b: '2', c: '1', d: '4' })
  const never = () => {
    throw new Error('nobody to draw between')
  }
  const speeds = { throughput: { a: 10, b: 60, c: 30, d: 90 } }
  await every(t, 'every prefs', async (t) => {
    for (const prefs of [{ tools: true }, { sort: 'exacto' as const }, { sort: { by: 'exacto' as const } }]) {
      t.same(order(list, prefs, speeds, never), ['d', 'b', 'c', 'a'])
      t.same(order(list, prefs, { ...speeds, outage: ['d'] }, never), ['b', 'c', 'a', 'd'], 'trouble is no quality')
      const sure = { ...speeds, toolSuccess: { a: 1, b: 0.8, c: 0.98, d: 0.5 } }
      t.same(order(list, prefs, sure, never), ['c', 'a', 'b', 'd'], 'sure tool calls weigh more than speed')
    }
  })
  t.same(order(list, { tools: true, sort: 'price' }, speeds, never), ['c', 'b', 'a', 'd'], 'sort: price opts out')
  t.same(order(list, { tools: true, serviceTier: 'flex' }, speeds, never), ['c', 'b', 'a', 'd'], 'flex goes by price')
  t.same(order(list, { tools: true, order: ['a'] }, speeds, never), ['a', 'c', 'b', 'd'])
  t.same(order(list, {}, speeds), ['c', 'b', 'a', 'd'], 'without tools the price decides')
  const par = { throughput: { a: 90, b: 60, c: 20, d: 88 } }
  t.same(
    order(list, { tools: true }, par, () => 0.6),
    ['a', 'd', 'b', 'c'],
    'of two on a par the cheaper is likelier',
  )
  t.same(
    order(list, { tools: true }, par, () => 0.7),
    ['d', 'a', 'b', 'c'],
  )
  t.same(order(list, { sort: 'exacto' }, par, never), ['a', 'd', 'b', 'c'], 'a stated sort draws nobody')
})

t.test('exacto and tools: what is unknown', async (t) => {
  const list = endpoints({ a: '3', b: '2', c: '1', d: '4' })
  const some = { throughput: { a: 90, b: 10 }, toolSuccess: { a: 0.9 } }
  t.same(
    order(list, { tools: true }, some, () => 0),
    ['c', 'a', 'd', 'b'],
    'who is unknown may be as good as the best',
  )
  t.same(
    order(list, { tools: true }, some, () => 0.95),
    ['d', 'c', 'a', 'b'],
  )
  t.same(
    order(list, { tools: true }, { throughput: { d: 5 } }, () => 0),
    ['c', 'b', 'a', 'd'],
    'one known speed tells nothing',
  )
  t.same(
    order(list, { tools: true }, { toolSuccess: { c: 0 } }, () => 0),
    ['b', 'a', 'd', 'c'],
  )
  const scored = model('a/m', [
    { provider: provider('plain'), price: usdPerMillion('1') },
    { provider: provider('poor'), price: usdPerMillion('2'), scores: { tools: 0.2 } },
    { provider: provider('good'), price: usdPerMillion('3'), scores: { tools: 0.8, code: 0.1 } },
  ]).endpoints
  t.same(order(scored, { tools: true }), ['good', 'plain', 'poor'], 'a score that nobody declared is the lowest declared')
  t.same(order(scored, { tools: true }, { toolSuccess: { good: 0.7, plain: 0.9, poor: 0.9 } }), ['plain', 'poor', 'good'])
})

t.test('the sticky endpoint comes first, unless it sent Retry-After', async (t) => {
  const list = endpoints({ a: '1', b: '2', c: '3' })
  t.same(order(list, { sticky: 'a/m@c' }), ['c', 'a', 'b'])
  t.same(order(list, { sticky: 'a/m@gone' }), ['a', 'b', 'c'])
  t.same(order(list, { sticky: 'a/m@c' }, { resting: ['c'] }), ['a', 'b', 'c'])
  t.same(order(list, { sticky: 'a/m@c', allow_fallbacks: false }), ['c'])
})

t.test('service tiers: priority ones first by throughput, flex by price', async (t) => {
  const list = model('a/m', [
    { provider: provider('a') },
    { provider: provider('slow'), tier: 'priority', price: usdPerMillion('3') },
    { provider: provider('fast'), tier: 'priority', price: usdPerMillion('9') },
  ]).endpoints
  const speeds = { throughput: { slow: 1, fast: 2 } }
  t.same(order(list, { serviceTier: 'priority' }, speeds), ['fast', 'slow', 'a'])
  t.same(order(list, { serviceTier: 'priority', tools: true }, speeds), ['fast', 'slow', 'a'])
  t.same(order(list, { serviceTier: 'priority' }, { ...speeds, resting: ['fast'] }), ['slow', 'fast', 'a'])
  t.same(order(list, { serviceTier: 'priority' }, { ...speeds, ejected: { fast: 1 } }), ['slow', 'a', 'fast'])
  const acme = provider('acme')
  const tiered = model('a/t', [
    { provider: acme, tier: 'flex' },
    { provider: acme, price: usdPerMillion('2') },
  ]).endpoints
  const tiers = (wanted: string[]) =>
    orderEndpoints(tiered, { order: wanted, allow_fallbacks: false }, () => 0, health()).map((endpoint) => endpoint.tier ?? 'base')
  t.same(tiers(['acme']), ['flex', 'base'], 'a base slug names a tier that was let in')
  t.same(tiers(['acme', 'acme/flex']), ['base', 'flex'], 'unless the list has it by its tag')
  t.same(
    order(endpoints({ a: '2', b: '1' }), { serviceTier: 'flex' }, {}, () => 0.99),
    ['b', 'a'],
  )
})

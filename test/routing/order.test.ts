import fc from 'fast-check'
import t from 'tap'
import type { Endpoint } from '../../src/catalog/types.ts'
import type { OrderPreferences } from '../../src/routing/order.ts'
import { orderEndpoints, stickinessApplies } from '../../src/routing/order.ts'
import { FakeClock } from '../support/clock.ts'
import type { EndpointFacts, KnownHealth } from './catalogue.ts'
import { health, model, provider, slugs, usdPerMillion } from './catalogue.ts'

const priced = (prices: Readonly<Record<string, string>>): EndpointFacts[] =>
  Object.entries(prices).map(([slug, prompt]) => ({ provider: provider(slug), price: usdPerMillion(prompt) }))
const endpoints = (prices: Readonly<Record<string, string>>): readonly Endpoint[] => model('a/m', priced(prices)).endpoints
const order = (list: readonly Endpoint[], prefs: OrderPreferences, known: KnownHealth = {}, chance = () => 0): string[] =>
  slugs(orderEndpoints(list, prefs, chance, health(known)))

t.test('C-124: the first is drawn with weight 1/price²', (t) => {
  const list = endpoints({ one: '1', three: '3' })
  const clock = new FakeClock(42)
  let cheap = 0
  for (let i = 0; i < 10_000; i++) if (order(list, {}, {}, () => clock.random())[0] === 'one') cheap++
  t.ok(cheap > 8_850 && cheap < 9_150, `9 of 10 expected, ${cheap} of 10000 drawn`)
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
  t.end()
})

t.test('the contract example: the unstable one comes last, the first is drawn among the rest', (t) => {
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
  t.end()
})

t.test('free ones draw among themselves; a price nobody knows comes last', (t) => {
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
  t.end()
})

t.test('C-116, C-117: order, skipping who does not serve, then the rest by price', (t) => {
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
  t.same(order(list, { order: ['d'], sticky: 'a/m@a' }), ['d', 'c', 'b', 'a'], 'C-140: no stickiness under order')
  t.equal(stickinessApplies({ order: ['d'] }), false)
  t.equal(stickinessApplies({ order: [] }), true)
  t.end()
})

t.test('C-123, C-126: sort, unknown speeds last, ties by price', (t) => {
  const list = endpoints({ a: '3', b: '2', c: '1', d: '4' })
  const known = { latency: { a: 0.5, d: 0.2, b: 0.5 }, throughput: { a: 10, d: 90 } }
  t.same(order(list, { sort: 'price' }, { outage: ['c'] }), ['c', 'b', 'a', 'd'], 'the cheapest always first')
  t.same(order(list, { sort: 'latency' }, known), ['d', 'b', 'a', 'c'])
  t.same(order(list, { sort: 'throughput' }, known), ['d', 'a', 'c', 'b'])
  t.same(order(list, { sort: { by: 'throughput' } }, known), ['d', 'a', 'c', 'b'])
  t.same(order(list, { sort: 'exacto' }, { ...known, outage: ['d'] }), ['a', 'c', 'b', 'd'])
  t.same(order(list, { sort: 'price', allow_fallbacks: false }), ['c'])
  t.same(order(list, { sort: 'price' }, { resting: ['c'] }), ['b', 'a', 'd', 'c'], 'who asked for rest gets it')
  t.end()
})

t.test('C-127: partitions over several models, and route as their old name', (t) => {
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
  t.end()
})

t.test('C-129: thresholds reorder and never remove', (t) => {
  const list = endpoints({ a: '1', b: '2', c: '3' })
  const known = { latency: { a: 3, b: 1 }, throughput: { a: 100, b: 20 } }
  t.same(order(list, { preferred_max_latency: 2 }, known), ['b', 'c', 'a'])
  t.same(order(list, { preferred_max_latency: { p50: 5, p99: 2 } }, known), ['b', 'c', 'a'], 'all given cutoffs must hold')
  t.same(order(list, { preferred_min_throughput: 50 }, known), ['a', 'c', 'b'])
  t.same(order(list, { preferred_min_throughput: 50, preferred_max_latency: 2 }, known), ['c', 'a', 'b'])
  t.same(order(list, { preferred_max_latency: 2 }, { ...known, outage: ['b', 'c'] }), ['a', 'b', 'c'], 'an outage weighs more')
  t.same(order(list, { preferred_max_latency: 2, sort: 'price' }, known), ['b', 'c', 'a'])
  t.end()
})

t.test('C-138: sticky first, unless it asked for rest', (t) => {
  const list = endpoints({ a: '1', b: '2', c: '3' })
  t.same(order(list, { sticky: 'a/m@c' }), ['c', 'a', 'b'])
  t.same(order(list, { sticky: 'a/m@gone' }), ['a', 'b', 'c'])
  t.same(order(list, { sticky: 'a/m@c' }, { resting: ['c'] }), ['a', 'b', 'c'])
  t.same(order(list, { sticky: 'a/m@c', allow_fallbacks: false }), ['c'])
  t.end()
})

t.test('service tiers: priority ones first by throughput, flex by price', (t) => {
  const list = model('a/m', [
    { provider: provider('a') },
    { provider: provider('slow'), tier: 'priority', price: usdPerMillion('3') },
    { provider: provider('fast'), tier: 'priority', price: usdPerMillion('9') },
  ]).endpoints
  t.same(order(list, { serviceTier: 'priority' }, { throughput: { slow: 1, fast: 2 } }), ['fast', 'slow', 'a'])
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
  t.end()
})

t.test('property: an order is a permutation, and keeps what was asked', (t) => {
  const names = ['a', 'b', 'c', 'd', 'e']
  const some = fc.subarray(names)
  const shuffled = fc.shuffledSubarray(names)
  const prices = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 5, maxLength: 5 })
  const sort = fc.constantFrom(undefined, null, 'price' as const, 'latency' as const, 'throughput' as const, 'exacto' as const)
  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  fc.assert(
    fc.property(prices, shuffled, some, some, sort, chance, (price, wanted, outage, slow, by, point) => {
      const list = model(
        'a/m',
        names.map((name, at) => ({ provider: provider(name), price: usdPerMillion(String(price[at])) })),
      ).endpoints
      const known = { outage, latency: Object.fromEntries(slow.map((name) => [name, 9])) }
      const got = order(list, { order: wanted, sort: by, preferred_max_latency: 3 }, known, () => point)
      const whole = [...got].sort().join() === names.join()
      const listed = got.slice(0, wanted.length).join() === wanted.join()
      const free = order(list, {}, { outage }, () => point)
      const stable = names.filter((name) => !outage.includes(name))
      const stableFirst = free.slice(0, stable.length).sort().join() === stable.join()
      const byPrice = free.slice(1, stable.length).map((name) => price[names.indexOf(name)])
      return whole && listed && stableFirst && byPrice.every((value, at) => at === 0 || byPrice[at - 1] <= value)
    }),
    { numRuns: 500 },
  )
  t.pass('500 orders')
  t.end()
})

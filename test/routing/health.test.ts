import t from 'tap'
import { Fault } from '../../src/core/faults.ts'
import { HealthBook, isOutage } from '../../src/routing/health.ts'
import { orderEndpoints } from '../../src/routing/order.ts'
import { StickySessions } from '../../src/routing/sessions.ts'
import { FakeClock } from '../support/clock.ts'
import { model, slugs } from './catalogue.ts'

const [a, b] = model('a/m', ['a', 'b']).endpoints

t.test('a failing endpoint is last for exactly 30 s, unless it succeeds before', async (t) => {
  const clock = new FakeClock()
  const book = new HealthBook(clock)
  const order = () => slugs(orderEndpoints([a, b], {}, () => 0, book))
  t.same(order(), ['a', 'b'])
  book.failure(a, new Fault('upstream_error'))
  t.same(order(), ['b', 'a'])
  await clock.advance(29_999)
  t.same(order(), ['b', 'a'])
  await clock.advance(1)
  t.same(order(), ['a', 'b'])
  book.failure(a, new Fault('upstream_silent'))
  await clock.advance(20_000)
  book.failure(a, new Fault('upstream_cut'))
  await clock.advance(20_000)
  t.same(order(), ['b', 'a'], 'the window counts from the last failure')
  book.success(a, { firstTokenMs: 100, tokensPerSecond: 50 })
  t.same(order(), ['a', 'b'], 'a success forgives')
})

t.test('Retry-After makes an endpoint rest, at most 60 s', async (t) => {
  const clock = new FakeClock()
  const book = new HealthBook(clock)
  book.failure(a, new Fault('upstream_limited', { retryAfter: 2 }))
  t.equal(book.recentOutage(a), false, 'a rate limit is no outage')
  t.equal(book.resting(a), true)
  t.equal(book.restLeft(a), 2000)
  book.failure(a, new Fault('upstream_limited', { retryAfter: 1 }))
  t.equal(book.restLeft(a), 2000, 'the longer rest holds')
  await clock.advance(2000)
  t.equal(book.resting(a), false)
  book.failure(a, new Fault('upstream_overloaded', { retryAfter: 86_400 }))
  t.equal(book.restLeft(a), 60_000, 'a day is not believed')
  book.success(a, { firstTokenMs: 1, tokensPerSecond: 1 })
  t.equal(book.restLeft(a), 60_000, 'a request that was under way does not end a rest')
  await clock.advance(60_000)
  t.equal(book.resting(a), false)
  for (const retryAfter of [-1, 0, Number.NaN, undefined]) book.failure(b, new Fault('upstream_limited', { retryAfter }))
  t.equal(book.resting(b), false)
  book.failure(b, new Fault('rate_limited', { retryAfter: 9 }))
  t.equal(book.resting(b), false, 'our own limits say nothing about the endpoint')
})

t.test('which faults are outages', (t) => {
  for (const code of [
    'upstream_error',
    'upstream_auth',
    'upstream_rights',
    'upstream_credit',
    'upstream_account',
    'credential_refused',
    'upstream_connect',
    'upstream_cut',
    'upstream_silent',
    'upstream_overloaded',
    'upstream_missing',
    'upstream_garbled',
    'upstream_empty',
  ] as const) {
    t.equal(isOutage(new Fault(code)), true, code)
  }
  for (const code of [
    'upstream_rejected',
    'upstream_context',
    'upstream_policy',
    'upstream_too_large',
    'upstream_conflict',
    'upstream_unprocessable',
    'upstream_item_missing',
    'upstream_limited',
    'upstream_unfit',
    'upstream_region',
    'upstream_quota',
    'upstream_overlong',
    'upstream_oversized',
    'credential_unavailable',
    'bad_request',
    'internal',
    'client_gone',
    'deadline',
  ] as const) {
    t.equal(isOutage(new Fault(code)), false, code)
  }
  t.end()
})

t.test('percentiles over five minutes', async (t) => {
  const clock = new FakeClock()
  const book = new HealthBook(clock)
  t.equal(book.latency(a, 'p50'), undefined)
  for (let i = 1; i <= 100; i++) book.success(a, { firstTokenMs: i * 1000, tokensPerSecond: i })
  t.same(
    (['p50', 'p75', 'p90', 'p99'] as const).map((name) => book.latency(a, name)),
    [50, 75, 90, 99],
  )
  t.same(
    (['p50', 'p75', 'p90', 'p99'] as const).map((name) => book.throughput(a, name)),
    [51, 26, 11, 2],
    'a throughput percentile is what that share reached at least',
  )
  await clock.advance(299_999)
  t.equal(book.latency(a, 'p50'), 50)
  book.success(a, { firstTokenMs: 7000, tokensPerSecond: 0 })
  await clock.advance(250)
  t.equal(book.latency(a, 'p50'), 7, 'older samples are gone')
  t.equal(book.throughput(a, 'p50'), undefined, 'too short a reply has no speed')
  for (let i = 0; i < 1000; i++) book.success(a, { firstTokenMs: i < 744 ? 1000 : 3000, tokensPerSecond: 10 })
  await clock.advance(250)
  t.equal(book.latency(a, 'p50'), 3, 'a busy endpoint keeps its newest samples')
  await clock.advance(300_000)
  t.equal(book.latency(a, 'p99'), undefined)
})

t.test('the book forgets the first of too many endpoints', (t) => {
  const book = new HealthBook(new FakeClock())
  book.failure(a, new Fault('upstream_error'))
  const many = model(
    'a/many',
    Array.from({ length: 4096 }, (_, at) => `p${at}`),
  ).endpoints
  for (const endpoint of many) book.failure(endpoint, new Fault('upstream_error'))
  t.equal(book.recentOutage(a), false)
  t.equal(many.filter((endpoint) => book.recentOutage(endpoint)).length, 4096)
  t.end()
})

t.test('endpoints that the catalogue names are never forgotten for others', (t) => {
  const clock = new FakeClock()
  const book = new HealthBook(clock)
  const fill = (name: string): void => {
    for (let at = 0; at < 5000; at++) book.success(model(`local/${name}${at}`, ['a']).endpoints[0], { firstTokenMs: 1, tokensPerSecond: 1 })
  }
  book.protect([a.id])
  for (let i = 0; i < 10; i++) book.failure(a, new Fault('upstream_limited', { retryAfter: 20 }))
  for (let i = 0; i < 10; i++) book.failure(a, new Fault('upstream_error'))
  fill('x')
  t.equal(book.ejected(a), true)
  t.equal(book.recentOutage(a), true)
  t.equal(book.restLeft(a), 20_000)
  book.protect([a.id, b.id])
  book.failure(b, new Fault('upstream_error'))
  fill('y')
  t.equal(book.recentOutage(b), true, 'named by a reload')
  book.protect([b.id])
  fill('z')
  t.same([book.recentOutage(a), book.recentOutage(b)], [false, true], 'one that a reload takes out of the catalogue counts like any other')
  t.end()
})

t.test('sessions stick for ten idle minutes, per key, model and session', async (t) => {
  const clock = new FakeClock()
  const sessions = new StickySessions(clock, 2)
  sessions.set({ key: 'k', model: 'a/m', session: 's', endpoint: 'a/m@a' })
  t.equal(sessions.get('k', 'a/m', 's'), 'a/m@a')
  t.equal(sessions.get('k2', 'a/m', 's'), undefined)
  t.equal(sessions.get('k', 'a/n', 's'), undefined)
  t.equal(sessions.get('ka', '/m', 's'), undefined, 'parts do not run into each other')
  await clock.advance(599_000)
  t.equal(sessions.get('k', 'a/m', 's'), 'a/m@a')
  await clock.advance(1_001)
  t.equal(sessions.get('k', 'a/m', 's'), undefined, 'looking does not renew')
  sessions.set({ key: 'k', model: 'a/m', session: 's', endpoint: 'a/m@b' })
  await clock.advance(500_000)
  sessions.set({ key: 'k', model: 'a/m', session: 's', endpoint: 'a/m@b' })
  await clock.advance(500_000)
  t.equal(sessions.get('k', 'a/m', 's'), 'a/m@b', 'a success renews')
  for (const session of ['x', 'y']) sessions.set({ key: 'k', model: 'a/m', session, endpoint: 'a/m@a' })
  t.equal(sessions.size, 2)
  t.equal(sessions.get('k', 'a/m', 's'), undefined, 'bounded')
})

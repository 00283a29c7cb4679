import fc from 'fast-check'
import t from 'tap'
import { Fault } from '../../src/core/faults.ts'
import { HealthBook, type ServedSample } from '../../src/routing/health.ts'
import { orderEndpoints } from '../../src/routing/order.ts'
import { OutcomeWindow } from '../../src/routing/outcome-window.ts'
import { SpeedWindow } from '../../src/routing/speed-window.ts'
import { FakeClock } from '../support/clock.ts'
import { every } from '../support/every.ts'
import { property } from '../support/seed.ts'
import { model, slugs } from './catalogue.ts'

const [a, b, c] = model('a/m', ['a', 'b', 'c']).endpoints
const served: ServedSample = { firstTokenMs: 200, tokensPerSecond: 50 }
const broken = new Fault('upstream_error')
const MINUTE = 60_000

/** A clock whose chance is what the test says: ejection is shortened by a fifth of it. */
class SteadyClock extends FakeClock {
  chance = 0
  override random(): number {
    return this.chance
  }
}

function rig() {
  const clock = new SteadyClock()
  const book = new HealthBook(clock)
  const fail = (times: number) => {
    for (let i = 0; i < times; i++) book.failure(a, broken)
  }
  return { clock, book, fail }
}

t.test('five failures in a row eject; the time doubles from 1 s to 30 s with every failed probe', async (t) => {
  const { clock, book, fail } = rig()
  fail(4)
  t.equal(book.ejected(a), false)
  t.equal(book.dueIn(a), 0)
  fail(1)
  t.equal(book.dueIn(a), 1000)
  fail(20)
  t.equal(book.dueIn(a), 1000, 'what was under way does not count twice')
  await every(t, 'every seconds', async (t) => {
    for (const seconds of [2, 4, 8, 16, 30, 30]) {
      await clock.advance(book.dueIn(a) - 1)
      t.equal(book.ejected(a), true)
      await clock.advance(1)
      t.equal(book.ejected(a), false, 'due')
      book.dispatched(a)
      fail(1)
      t.equal(book.dueIn(a), seconds * 1000)
      t.equal(book.figures(a).status, -10)
    }
  })
  book.success(a, served)
  t.equal(book.ejected(a), false)
  fail(4)
  t.equal(book.ejected(a), false, 'a success begins anew')
  clock.chance = 0.5
  fail(1)
  t.equal(book.dueIn(a), 900, 'chance shortens a time by up to a fifth')
  t.equal(book.ejected(b), false)
})

t.test('one half-open probe at a time', async (t) => {
  const { clock, book, fail } = rig()
  fail(5)
  book.dispatched(a)
  await clock.advance(1000)
  t.equal(book.ejected(a), false, 'a request sent too early claims nothing')
  book.dispatched(a)
  t.equal(book.ejected(a), true, 'the probe is claimed')
  t.same(slugs(orderEndpoints([a, b, c], {}, () => 0, book)), ['b', 'c', 'a'])
  book.abandoned(a)
  t.equal(book.ejected(a), false, 'an abandoned probe frees the claim')
  book.dispatched(a)
  book.failure(a, new Fault('upstream_rejected'))
  t.equal(book.ejected(a), false, 'so does an outcome that says nothing of the endpoint')
  book.dispatched(a)
  book.failure(a, new Fault('upstream_limited', { retryAfter: 3 }))
  t.equal(book.ejected(a), false)
  t.equal(book.resting(a), true)
  t.equal(book.figures(a).status, -5)
  book.dispatched(a)
  await clock.advance(9999)
  t.equal(book.ejected(a), true)
  t.equal(book.dueIn(a), 1)
  await clock.advance(1)
  t.equal(book.ejected(a), false, 'a probe that hangs keeps nobody out for longer than 10 s')
  book.dispatched(a)
  book.success(a, served)
  t.equal(book.ejected(a), false)
  t.equal(book.recentOutage(a), false)
  t.equal(book.figures(a).status, 0)
})

t.test('an endpoint is back at most 35 s after its outage, whatever the order and however long it was out', async (t) => {
  await every(t, 'every prefs', async (t) => {
    for (const prefs of [{}, { sort: 'price' as const }, { order: ['a', 'b'] }]) {
      let slowest = 0
      for (let end = 500; end < 100_000; end += 9_500) {
        const { clock, book } = rig()
        let recovered = -1
        for (let now = 0; recovered < 0 && now < end + 60_000; now += 500) {
          const [first] = orderEndpoints([a, b], prefs, () => 0, book)
          book.dispatched(first)
          if (first === b || now >= end) book.success(first, served)
          else book.failure(first, broken)
          if (first === a && now >= end) recovered = now
          await clock.advance(500)
        }
        slowest = Math.max(slowest, recovered < 0 ? Number.POSITIVE_INFINITY : recovered - end)
      }
      t.ok(slowest > 0 && slowest <= 35_000, `${JSON.stringify(prefs)}: ${slowest} ms at most`)
    }
  })
})

t.test('under the default order an outage costs no more than one probe in 30 s', async (t) => {
  const { clock, book } = rig()
  let spent = 0
  for (let now = 0; now < 600_000; now += 500) {
    const [first] = orderEndpoints([a, b], {}, () => 0, book)
    book.dispatched(first)
    if (first === b) book.success(b, served)
    else {
      book.failure(a, broken)
      spent++
    }
    await clock.advance(500)
  }
  t.ok(spent > 10 && spent <= 21, `${spent} requests met the outage`)
})

t.test('uptime over 5 minutes, 30 minutes and a day; bands from 100 requests on', async (t) => {
  const { clock, book, fail } = rig()
  const succeed = (times: number) => {
    for (let i = 0; i < times; i++) book.success(a, served)
  }
  /** Four failures, then a success. */
  const stumble = (times: number) => {
    for (let i = 0; i < times; i++) {
      fail(4)
      succeed(1)
    }
  }
  t.same(book.figures(a), { uptime5m: null, uptime30m: null, uptime1d: null, latency: null, throughput: null, status: 0 })
  stumble(5)
  succeed(74)
  t.equal(book.band(a), 0, '99 requests make no band')
  succeed(1)
  t.equal(book.band(a), 1, '80 %')
  t.equal(book.figures(a).status, -1)
  fail(1)
  t.equal(book.figures(a).status, -3, 'the fresh failure weighs more')
  t.equal(book.band(a), 1, 'a success has to end a row of failures first')
  succeed(1)
  t.equal(book.band(a), 2, 'below 80 %')
  t.equal(book.figures(a).status, -2)
  succeed(317)
  t.equal(book.band(a), 1, 'just below 95 %')
  succeed(1)
  t.equal(book.band(a), 0, '95 %')
  t.same([book.figures(a).uptime5m, book.figures(a).uptime30m, book.figures(a).uptime1d], [95, 95, 95])
  for (const code of ['upstream_limited', 'upstream_rejected', 'upstream_too_large'] as const) book.failure(a, new Fault(code))
  t.equal(book.figures(a).uptime30m, 95, '400, 413 and 429 are not counted')
  await clock.advance(5 * MINUTE)
  t.same([book.figures(a).uptime5m, book.figures(a).uptime30m, book.figures(a).uptime1d], [null, 95, 95])
  succeed(1)
  fail(2)
  t.equal(book.figures(a).uptime5m, 33.33)
  await clock.advance(30 * MINUTE)
  t.same([book.figures(a).uptime5m, book.figures(a).uptime30m], [null, null])
  t.equal(book.figures(a).uptime1d, 94.56)
  t.equal(book.band(a), 0, 'nothing in the window')
  await clock.advance(24 * 60 * MINUTE)
  t.equal(book.figures(a).uptime1d, null)
})

t.test('an outage makes no band: its end is the end of the ejection', async (t) => {
  const { clock, book, fail } = rig()
  for (let i = 0; i < 200; i++) book.success(a, served)
  fail(500)
  await clock.advance(30_000)
  t.equal(book.figures(a).uptime30m, 28.57, 'the lists tell of it')
  t.same([book.ejected(a), book.recentOutage(a), book.band(a)], [false, false, 0], 'the next request may find it well')
  book.success(a, served)
  t.equal(book.band(a), 0)
  t.equal(book.figures(a).status, 0)
})

t.test('share of fine tool calls, from ten replies on, over half an hour', async (t) => {
  const { clock, book } = rig()
  const call = (tools: 'fine' | 'broken', times: number) => {
    for (let i = 0; i < times; i++) book.success(a, { ...served, tools })
  }
  for (let i = 0; i < 50; i++) book.success(a, served)
  t.equal(book.toolSuccess(a), undefined)
  call('fine', 8)
  call('broken', 1)
  t.equal(book.toolSuccess(a), undefined)
  call('broken', 1)
  t.equal(book.toolSuccess(a), 0.8)
  t.equal(book.figures(a).uptime30m, 100, 'a broken call is no outage')
  await clock.advance(25 * MINUTE)
  call('fine', 10)
  t.equal(book.toolSuccess(a), 0.9)
  await clock.advance(5 * MINUTE)
  t.equal(book.toolSuccess(a), 1, 'the first ones are gone')
})

t.test('the lists show milliseconds and tokens per second', (t) => {
  const { book } = rig()
  for (let i = 1; i <= 100; i++) book.success(a, { firstTokenMs: i * 1.5, tokensPerSecond: i === 1 ? 0 : 0.5 * i })
  const { latency, throughput } = book.figures(a)
  t.same(latency, { p50: 75, p75: 112.5, p90: 135, p99: 148.5 })
  t.same(throughput, { p50: 25.5, p75: 13, p90: 5.5, p99: 1 })
  t.equal(book.latency(a, 'p50'), 0.075, 'in seconds for the order')
  t.end()
})

t.test('a request with tools goes where it is fast and its calls are sound', (t) => {
  const { book } = rig()
  const order = () => slugs(orderEndpoints([a, b, c], { tools: true }, () => 0, book))
  t.same(order(), ['a', 'b', 'c'], 'nothing is known: by price')
  const serve = (endpoint: typeof a, tokensPerSecond: number, tools: 'fine' | 'broken') => {
    for (let i = 0; i < 10; i++) book.success(endpoint, { firstTokenMs: 1, tokensPerSecond, tools: i < 3 ? tools : 'fine' })
  }
  serve(a, 100, 'broken')
  serve(b, 60, 'fine')
  serve(c, 20, 'fine')
  t.same(order(), ['b', 'c', 'a'])
  t.end()
})

t.test('property: percentiles are those of the samples of five minutes, 256 at most', (t) => {
  const step = fc.record({ after: fc.nat(40_000), first: fc.nat(100_000), rate: fc.nat(500) })
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 600, size: 'max' }), (steps) => {
      const window = new SpeedWindow()
      let now = 0
      const all: { at: number; first: number; rate: number }[] = []
      for (const { after, first, rate } of steps) {
        // Bursts, so that some runs overflow the ring.
        now += after % 3 === 0 ? after : 0
        window.add(now, first, rate)
        all.push({ at: now, first, rate })
      }
      const kept = all.slice(-256).filter(({ at }) => Math.floor(at / 100) > Math.floor(now / 100) - 3000)
      const firsts = kept.map(({ first }) => first).sort((x, y) => x - y)
      const rates = kept.flatMap(({ rate }) => (rate > 0 ? [rate] : [])).sort((x, y) => y - x)
      return ([50, 75, 90, 99] as const).every((share) => {
        const name = `p${share}` as const
        const rank = (length: number) => Math.ceil((share * length) / 100) - 1
        return window.latency(now, name) === firsts[rank(firsts.length)] && window.throughput(now, name) === rates[rank(rates.length)]
      })
    }),
    property(100, 2_000),
  )
  t.pass('as counted by hand')
  t.end()
})

t.test('property: an outcome window counts what its spans hold', (t) => {
  const step = fc.tuple(fc.nat(250), fc.boolean())
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), fc.nat(900), fc.integer({ min: 1, max: 7 }), (steps, pause, recent) => {
      const window = new OutcomeWindow(100, 6)
      const all: { at: number; good: boolean }[] = []
      let now = 0
      for (const [after, good] of steps) {
        now += after
        window.add(now, good)
        all.push({ at: now, good })
      }
      now += pause
      const share = (spans: number) => {
        const inside = all.filter(({ at }) => Math.floor(at / 100) > Math.floor(now / 100) - spans)
        return inside.length === 0 ? undefined : inside.filter(({ good }) => good).length / inside.length
      }
      return window.recentShare(now, recent) === share(Math.min(6, recent)) && window.share(now) === share(6)
    }),
    property(300, 5_000),
  )
  t.pass('as counted by hand')
  t.end()
})

t.test('property: whatever happens, every hold on an endpoint is bounded and ends', async (t) => {
  const faults = [broken, new Fault('upstream_auth'), new Fault('upstream_limited', { retryAfter: 9e9 }), new Fault('upstream_context')]
  const event = fc.oneof(
    fc.record({ wait: fc.nat(70_000) }),
    fc.record({ fault: fc.constantFrom(...faults), times: fc.integer({ min: 1, max: 9 }) }),
    fc.constantFrom({ dispatched: true }, { abandoned: true }, { served: true }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 30, size: 'max' }), async (events) => {
      const clock = new FakeClock(7)
      const book = new HealthBook(clock)
      for (const one of events) {
        if ('wait' in one) await clock.advance(one.wait)
        else if ('fault' in one) for (let i = 0; i < one.times; i++) book.failure(a, one.fault)
        else if ('served' in one) book.success(a, served)
        else if ('abandoned' in one) book.abandoned(a)
        else book.dispatched(a)
        const due = book.dueIn(a)
        const held = due >= 0 && due <= 30_000 && due > 0 === book.ejected(a) && book.restLeft(a) <= 60_000
        const last = orderEndpoints([a, b], {}, () => 0, book)[1]
        if (!held || (book.ejected(a) && last !== a)) return false
      }
      await clock.advance(60_000)
      return !book.ejected(a) && !book.recentOutage(a) && !book.resting(a)
    }),
    property(100, 2_000),
  )
  t.pass('bounded')
})

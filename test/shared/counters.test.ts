/** Rate counters in memory, and the way out of shared ones, on a fake clock. */
import fc from 'fast-check'
import t from 'tap'
import { FallbackCounters } from '../../src/cluster/shared/fallback-counters.ts'
import { connectShared } from '../../src/cluster/shared/index.ts'
import { MemoryCounters } from '../../src/cluster/shared/memory-counters.ts'
import { limitShare } from '../../src/cluster/shared/rate-law.ts'
import type { AvailabilityReport, CounterAnswer, CounterAsk, Counters } from '../../src/cluster/shared/types.ts'
import { FakeClock, turn } from '../support/clock.ts'
import { property } from '../support/seed.ts'

const ask = (more: Partial<CounterAsk> = {}): CounterAsk => ({ name: 'k', perMinute: 6, take: 1, ...more })

t.test(
  'no stretch of time sees more than the limit at once and what has drained since, and a wait is true to the millisecond',
  async (t) => {
    const tries = fc.array(fc.record({ pass: fc.nat(20_000), take: fc.integer({ min: 1, max: 4 }) }), { minLength: 1, maxLength: 80 })
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 4, max: 20 }), tries, async (perMinute, steps) => {
        const clock = new FakeClock()
        const counters = new MemoryCounters(clock)
        const passed: { at: number; units: number }[] = []
        for (const { pass, take } of steps) {
          await clock.advance(pass)
          let answer = counters.take({ name: 'k', perMinute, take })
          if (!answer.taken) {
            await clock.advance(answer.wait - 1)
            if (counters.take({ name: 'k', perMinute, take }).taken) throw new Error('passed before its time')
            await clock.advance(1)
            answer = counters.take({ name: 'k', perMinute, take })
          }
          if (!answer.taken) throw new Error('waited in vain')
          passed.push({ at: clock.monotonic(), units: take })
        }
        passed.forEach(({ at: from }, first) => {
          let units = 0
          for (const { at: to, units: more } of passed.slice(first)) {
            units += more
            if (units * 60_000 > perMinute * (60_000 + to - from)) throw new Error(`${units} units within ${to - from} ms`)
          }
        })
      }),
      property(100, 3_000),
    )
    t.pass('never')
  },
)

t.test('what is left, given back, taken always, only looked at, and asked of a limit of nothing', async (t) => {
  const clock = new FakeClock()
  const counters = new MemoryCounters(clock)
  t.match(counters.take(ask({ take: 4 })), { taken: true, left: 2, wait: 0 })
  t.match(counters.take(ask({ take: 3 })), { taken: false, left: 2, wait: 10_000 })
  t.match(counters.take(ask({ take: 0 })), { taken: true, left: 2, wait: 0 })
  t.match(counters.take(ask({ take: -1 })), { taken: true, left: 3, wait: 0 })
  t.match(counters.take(ask({ take: -100 })), { taken: true, left: 6, wait: 0 }, 'never more than the limit')
  t.match(counters.take(ask({ take: 9, always: true })), { taken: true, left: 0, wait: 0 })
  t.match(counters.take(ask({ take: 0 })), { taken: false, left: 0, wait: 30_000 }, 'a debt')
  t.match(counters.take(ask({ take: 1 })), { taken: false, left: 0, wait: 40_000 })
  t.match(counters.take(ask({ name: 'other' })), { taken: true, left: 5, wait: 0 }, 'by name')
  t.match(counters.take(ask({ perMinute: 0 })), { taken: false, left: 0, wait: 60_000 })
  await clock.advance(90_000)
  t.match(counters.take(ask({ take: 6 })), { taken: true, left: 0, wait: 0 })
})

t.test('buckets that have drained are forgotten', async (t) => {
  const clock = new FakeClock()
  const counters = new MemoryCounters(clock)
  for (let i = 0; i < 10_000; i++) counters.take(ask({ name: `k${i}` }))
  t.equal(counters.size, 10_000)
  counters.take(ask({ name: 'looked at', take: 0 }))
  t.equal(counters.size, 10_000, 'a look leaves nothing')
  await clock.advance(10_000)
  for (let i = 0; i < 10_010; i++) counters.take(ask({ name: 'busy', perMinute: 1_000_000 }))
  t.equal(counters.size, 1)
})

/** Shared counters that answer as a test says. */
class Scripted implements Counters {
  answers: 'well' | 'not' = 'well'
  asked = 0
  private readonly inner: MemoryCounters
  constructor(clock: FakeClock) {
    this.inner = new MemoryCounters(clock)
  }
  async take(ask: CounterAsk): Promise<CounterAnswer> {
    this.asked++
    if (this.answers === 'not') throw new Error('not connected')
    return this.inner.take(ask)
  }
  async close(): Promise<void> {}
}

function scene(processes = 3) {
  const clock = new FakeClock()
  const shared = new Scripted(clock)
  const reports: AvailabilityReport[] = []
  const live = { processes }
  const counters = new FallbackCounters({
    clock,
    shared,
    local: new MemoryCounters(clock),
    processes: () => live.processes,
    report: (report) => reports.push(report),
  })
  return { clock, shared, reports, counters, live }
}

t.test('one call of Redis without an answer is decided here and reports no outage', async (t) => {
  const { clock, shared, reports, counters } = scene()
  shared.answers = 'not'
  const answered = counters.take(ask())
  shared.answers = 'well'
  t.match(await answered, { taken: true, left: 1, wait: 0 }, 'decided here, of a share of two')
  await clock.advance(5_000)
  t.equal(counters.isDegraded, false)
  t.same(reports, [])
})

t.test('an outage is reported once, probed each second, and ends with the first answer', async (t) => {
  const { clock, shared, reports, counters, live } = scene()
  t.equal((await counters.take(ask())).left, 5)
  shared.answers = 'not'
  await Promise.all([counters.take(ask({ name: 'a' })), counters.take(ask({ name: 'b' }))])
  await turn()
  t.equal(counters.isDegraded, true)
  t.same(reports, [{ kind: 'shared-lost', reason: 'not connected' }])
  t.match(counters.take(ask()), { taken: true, left: 0, wait: 0 }, 'a share of two, one of which was taken before')
  t.match(counters.take(ask()), { taken: false, left: 0, wait: 30_000 }, 'at the rate of the share')
  live.processes = 1
  t.match(counters.take(ask()), { taken: true, left: 3, wait: 0 }, 'the share is that of the processes as last known')
  live.processes = 100
  t.match(counters.take(ask({ name: 'new' })), { taken: true, left: 0, wait: 0 }, 'at least one')
  const before = shared.asked
  await clock.advance(3_500)
  t.equal(shared.asked, before + 3)
  t.equal(reports.length, 1)
  shared.answers = 'well'
  await clock.advance(1_000)
  t.equal(counters.isDegraded, false)
  t.same(reports.slice(1), [{ kind: 'shared-back' }])
  t.equal((await counters.take(ask({ name: 'fresh' }))).left, 5)
  shared.answers = 'not'
  await counters.take(ask())
  await turn()
  t.equal(reports.length, 3, 'the next outage is told again')
  await counters.close()
  t.same(clock.waiting, [], 'no timer stays')
})

t.test('alone, what is larger than a share passes when none of the share is in use', async (t) => {
  const { clock, shared, counters } = scene(4)
  shared.answers = 'not'
  await counters.check()
  const tokens = (take: number) => counters.take({ name: 'tokens:k', perMinute: 1_000, take })
  t.match(tokens(600), { taken: true, left: 0, wait: 0 })
  t.match(tokens(600), { taken: false, wait: 144_000 }, '600 at 250 per minute')
  await clock.advance(143_999)
  t.match(tokens(600), { taken: false })
  await clock.advance(1)
  t.match(tokens(600), { taken: true })
  t.match(tokens(1_001), { taken: false }, 'more than the limit never')
})

t.test('shares are whole, at least one, and together no more than the limit where it has as many units', (t) => {
  fc.assert(
    fc.property(fc.nat(1_000), fc.integer({ min: 1, max: 64 }), (limit, processes) => {
      const share = limitShare(limit, processes)
      if (!Number.isInteger(share) || (limit > 0 && share < 1) || (limit === 0 && share !== 0)) throw new Error(`${share}`)
      if (limit >= processes && share * processes > limit) throw new Error(`${share} times ${processes}`)
    }),
    property(1_000, 10_000),
  )
  t.equal(limitShare(10, 0), 10)
  t.end()
})

t.test('without an address all is in memory and reaches nobody', async (t) => {
  const shared = await connectShared(undefined, { clock: new FakeClock(), processes: () => 1, report: () => {} })
  await shared.ready
  t.equal(shared.counters.take(ask()) instanceof Promise, false)
  shared.pubSub.subscribe('session', () => t.fail('nobody is there'))
  shared.pubSub.publish('session', {})
  t.equal(shared.isDegraded(), false)
  await shared.close()
})

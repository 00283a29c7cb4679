/** Spend by UTC day, week and month, and limits that count one of them. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { oldestCounted, windowEnd, windowStarts } from '../../src/core/windows.ts'
import { Credit, SpendWindows } from '../../src/ledger/credit.ts'
import type { LimitReset } from '../../src/plugin-api/key.ts'
import { holdRow, settleRow } from '../store/samples.ts'
import { every } from '../support/every.ts'
import { holds, left, recorded } from '../support/holding.ts'
import { MemoryJournal } from '../support/memory/journal.ts'
import { property } from '../support/seed.ts'

const at = (iso: string): number => Date.parse(iso)
/** A Saturday. */
const NOW = at('2026-11-21T12:00:00Z')
const DAY = 86_400_000
const RESETS: readonly LimitReset[] = ['daily', 'weekly', 'monthly']

/** A clock that is set, also backwards. */
class SetClock {
  at: number
  constructor(time: number) {
    this.at = time
  }
  now(): number {
    return this.at
  }
}

t.test('windows begin at 00:00 UTC of the day, of Monday, of the first', async (t) => {
  const starts = (iso: string) => Object.values(windowStarts(at(iso))).map((start) => new Date(start).toISOString().slice(0, 16))
  t.same(starts('2026-11-21T12:00:00Z'), ['2026-11-21T00:00', '2026-11-16T00:00', '2026-11-01T00:00'])
  t.same(starts('2026-11-16T00:00:00Z'), ['2026-11-16T00:00', '2026-11-16T00:00', '2026-11-01T00:00'], 'Monday')
  t.same(starts('2026-11-15T23:59:59.999Z'), ['2026-11-15T00:00', '2026-11-09T00:00', '2026-11-01T00:00'], 'Sunday')
  t.same(starts('2027-01-01T00:00:00Z'), ['2027-01-01T00:00', '2026-12-28T00:00', '2027-01-01T00:00'], 'a week over the turn of the year')
  t.same(starts('2028-02-29T23:59:59Z'), ['2028-02-29T00:00', '2028-02-28T00:00', '2028-02-01T00:00'])
  await every(t, 'every case', async (t) => {
    for (const [reset, end] of [
      ['daily', '2026-12-31'],
      ['weekly', '2027-01-04'],
      ['monthly', '2027-01-01'],
    ] as const)
      t.equal(windowEnd(reset, at('2026-12-30T23:59:59Z')), at(end), `${reset} ends`)
  })
  t.equal(oldestCounted(at('2027-01-01T12:00:00Z')), at('2026-12-28T00:00:00Z'))
})

t.test('charges count in the windows of their moment', async (t) => {
  const windows = new SpendWindows()
  const charges: [string, number][] = [
    ['2026-10-31T23:59:59Z', 1],
    ['2026-11-01T00:00:00Z', 10],
    ['2026-11-15T23:59:59Z', 100],
    ['2026-11-16T00:00:00Z', 1000],
    ['2026-11-21T00:00:00Z', 10_000],
    ['2026-11-20T23:59:59Z', 7],
  ]
  for (const [time, nano] of charges) windows.add(nano, at(time))
  t.same(windows.usage(NOW), { daily: 10_000n, weekly: 11_007n, monthly: 11_117n }, '2026-11-16 is a Monday')
  t.same(windows.usage(at('2026-11-22T00:00:00Z')), { daily: 0n, weekly: 11_007n, monthly: 11_117n })
  t.same(windows.usage(at('2026-11-23T00:00:00Z')), { daily: 0n, weekly: 0n, monthly: 11_117n })
  t.same(windows.usage(at('2026-12-01T00:00:00Z')), { daily: 0n, weekly: 0n, monthly: 0n })
  t.same(windows.usage(NOW), { daily: 0n, weekly: 0n, monthly: 0n }, 'a clock that goes back gives nothing away twice')
  windows.add(Number.MAX_SAFE_INTEGER, at('2026-12-01T00:00:00Z'))
  windows.add(5, at('2026-12-01T00:00:00Z'))
  t.equal(windows.spent('daily', at('2026-12-01T00:00:00Z')), BigInt(Number.MAX_SAFE_INTEGER) + 5n, 'exact')
})

t.test('a limit with a reset holds against the window, holds included, over its edge', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const [limitReset, before, after] of [
      ['daily', '2026-11-21T23:59:59.999Z', '2026-11-22T00:00:00Z'],
      ['weekly', '2026-11-22T23:59:59.999Z', '2026-11-23T00:00:00Z'],
      ['monthly', '2026-11-30T23:59:59.999Z', '2026-12-01T00:00:00Z'],
    ] as const) {
      const clock = new SetClock(at(before))
      const account = new Credit(clock, recorded({ dev: 1_000_000 })).account('dev')
      const key = { limit: 100, limitReset }
      t.equal(holds(account, 60, key), true, `${limitReset}: what was spent before does not count`)
      t.equal(account.settle(60, 50), 0)
      t.equal(holds(account, 40, key), true)
      t.equal(holds(account, 11, key), false, 'spent 50, held 40')
      t.equal(left(account, key), 10)
      clock.at = at(after)
      t.equal(left(account, key), 60, 'the spend is gone with its window, the open hold is not')
      t.equal(holds(account, 61, key), false)
      account.settle(40, 30)
      t.equal(account.counted(limitReset), 30n, 'it settles into the window in which it ends')
      t.equal(left(account, key), 70)
      t.equal(holds(account, 70, key), true)
      t.equal(holds(account, 1, key), false)
      t.equal(holds(account, 1, { limit: 100 }), false, 'without a reset all that was ever spent counts')
      t.equal(account.settled, 1_000_080n)
    }
  })
})

t.test('a clock that goes back never makes a charge uncounted', async (t) => {
  const clock = new SetClock(at('2026-11-21T00:00:00Z'))
  const account = new Credit(clock).account('dev')
  const key = { limit: 100, limitReset: 'daily' } as const
  t.equal(left(account, key), 100, 'the day is open')
  clock.at = at('2026-11-20T23:59:59Z')
  t.equal(holds(account, 80, key), true)
  account.settle(80, 80)
  t.equal(holds(account, 21, key), false)
  clock.at = at('2026-11-21T08:00:00Z')
  t.equal(left(account, key), 20)
})

t.test('after a restart the windows are those of the charges, not of the admissions', async (t) => {
  const journal = new MemoryJournal()
  const seq = (iso: string): number => at(iso) * 4096
  const rows: [admitted: string, settled: number, cost: number][] = [
    ['2026-11-20T23:59:00Z', at('2026-11-21T00:00:01Z'), 5],
    ['2026-11-20T23:58:00Z', at('2026-11-20T23:59:59Z'), 70],
    ['2026-11-21T08:00:00Z', 0, 300],
    ['2026-10-31T23:59:00Z', at('2026-11-01T00:00:00Z'), 4000],
    ['2026-10-30T23:59:00Z', at('2026-10-31T00:00:00Z'), 90_000],
  ]
  for (const [admitted, settled, cost] of rows) {
    journal.hold(holdRow(seq(admitted)))
    journal.settle(settleRow(seq(admitted), cost, { at: settled }))
  }
  await journal.committed()
  const clock = new SetClock(NOW)
  const account = new Credit(clock, journal).account('dev')
  t.equal(account.settled, 94_375n)
  t.same(account.usage(), { daily: 305n, weekly: 375n, monthly: 4375n })
})

/** Steps in time and money; the model keeps every charge and adds up what the window holds. */
const step = fc.record({
  move: fc.oneof(fc.constant(0), fc.nat(3 * DAY), fc.nat(20 * DAY)),
  amount: fc.nat(60),
  settle: fc.double({ min: 0, max: 1, noNaN: true }),
  keep: fc.boolean(),
})

t.test('random lives: spent in the window and held never pass the limit', async (t) => {
  let admitted = 0
  let refused = 0
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.constantFrom(...RESETS), fc.nat(100), (steps, limitReset, limit) => {
      const clock = new SetClock(NOW)
      const account = new Credit(clock).account('dev')
      const charges: [at: number, nano: number][] = []
      const open: number[] = []
      for (const { move, amount, settle, keep } of steps) {
        clock.at += move
        const start = windowStarts(clock.at)[limitReset]
        const spent = charges.reduce((sum, [when, nano]) => sum + (when >= start ? nano : 0), 0)
        const held = open.reduce((sum, nano) => sum + nano, 0)
        assert.equal(Number(account.counted(limitReset)), spent)
        const fits = spent + held + amount <= limit
        assert.equal(holds(account, amount, { limit, limitReset }), fits)
        if (fits) {
          admitted++
          open.push(amount)
        } else refused++
        if (keep || open.length === 0) continue
        const [hold] = open.splice(0, 1)
        const cost = Math.floor(hold * settle)
        account.settle(hold, cost)
        charges.push([clock.at, cost])
      }
    }),
    property(300, 20_000),
  )
  t.ok(admitted > 100 && refused > 100, 'both happened')
})

t.test('what was charged while the clock was ahead hides nothing of today after a restart', async (t) => {
  const today = { key: 'k', day: at('2026-11-21T00:00:00Z'), cost: 900 }
  const ahead = { key: 'k', day: at('2026-12-31T00:00:00Z'), cost: 5 }
  await every(t, 'every days', async (t) => {
    for (const days of [
      [today, ahead],
      [ahead, today],
    ]) {
      const account = new Credit(new SetClock(NOW), recorded({ k: 905 }, days)).account('k')
      t.same(account.usage(), { daily: 905n, weekly: 905n, monthly: 905n }, `${days[0].cost} first`)
      t.equal(left(account, { limit: 1000, limitReset: 'daily' }), 95)
    }
  })
})

/** Holds under several allowances at once, in one process. */

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { present } from '../../src/core/json.ts'
import type { Allowance } from '../../src/ledger/allowance.ts'
import { Credit, chargeWithin, fixedAsk, holdWithin } from '../../src/ledger/credit.ts'
import { FakeClock } from '../support/clock.ts'
import { property } from '../support/seed.ts'

t.test('a hold takes at most half of what is left, unless its floor needs more', async (t) => {
  const cases: [left: number, full: number, floor: number, held: number | undefined][] = [
    [Number.POSITIVE_INFINITY, 900, 10, 900],
    [1000, 500, 10, 500],
    [1000, 501, 10, 500],
    [1000, 5000, 10, 500],
    [1000, 5000, 700, 700],
    [1000, 1000, 1000, 1000],
    [1000, 1001, 1001, undefined],
    [999, 5000, 1, 499],
    [1, 5000, 1, 1],
    [0, 0, 0, 0],
    [0, 1, 1, undefined],
    [-1, 0, 0, undefined],
  ]
  for (const [left, full, floor, held] of cases) t.equal(holdWithin(left, { full, floor }), held, `${full} (at least ${floor}) of ${left}`)
})

const TERMS = fc.array(
  fc.record({ limit: fc.nat(500), limitReset: fc.constantFrom(null, 'daily', 'weekly', 'monthly'), level: fc.constantFrom(0, 1) }),
  {
    minLength: 1,
    maxLength: 4,
  },
) as fc.Arbitrary<Allowance[]>

const STEPS = fc.array(
  fc.record({
    key: fc.constantFrom('parent', 'one', 'two'),
    full: fc.nat(200),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    cost: fc.nat(300),
    days: fc.nat(3),
  }),
  { maxLength: 30 },
)

t.test('random lives: no allowance of a key or of its payer is ever passed', async (t) => {
  let unrecovered = 0
  fc.assert(
    fc.property(TERMS, STEPS, (terms, steps) => {
      let now = Date.UTC(2026, 0, 5)
      const clock = { now: () => now }
      const credit = new Credit(clock)
      const own = terms.filter(({ level }) => level !== 1)
      const ofPayer = terms.filter(({ level }) => level === 1)
      for (const { key, full, share, cost, days } of steps) {
        now += days * 86_400_000
        const account = key === 'parent' ? credit.account(key) : credit.account(key, 'parent')
        const allowances = key === 'parent' ? ofPayer.map(({ limit, limitReset }) => present({ limit, limitReset })) : terms
        const held = account.tryHold({ full, floor: Math.floor(full * share) }, allowances)
        if (held === undefined) continue
        const done = chargeWithin(account, { held, cost }, allowances)
        assert.ok(!(done instanceof Promise))
        assert.equal(done.charged + done.unrecovered, cost)
        unrecovered += done.unrecovered
        for (const { limit, limitReset } of key === 'parent' ? [] : own) assert.ok(account.counted(limitReset) <= (limit ?? 0))
        for (const { limit, limitReset } of ofPayer) assert.ok(credit.account('parent').counted(limitReset) <= (limit ?? 0))
      }
      for (const key of ['parent', 'one', 'two']) assert.equal(credit.account(key).held, 0)
    }),
    property(500, 50_000),
  )
  t.ok(unrecovered > 0, 'some charges went beyond what any allowance could pay')
})

t.test('the account of an issued key charges the key that issued it', async (t) => {
  const credit = new Credit(new FakeClock())
  const parent = credit.account('parent')
  const child = credit.account('child', 'parent')
  const ofParent = { limit: 100, level: 1 } as const
  t.equal(child.tryHold(fixedAsk(60), [{ limit: null }, ofParent]), 60)
  t.equal(parent.held, 60, 'the hold counts at the payer')
  t.equal(parent.tryHold(fixedAsk(50), [{ limit: 100 }]), undefined)
  child.settle(60, 45)
  t.match([child.settled, parent.settled, child.held, parent.held], [45, 45, 0, 0])
  t.same(credit.account('child', 'parent').tightest([{ limit: 1000 }, ofParent]), { left: 55, allowance: ofParent })
  t.equal(child.tightest([{ limit: null }]), undefined)
  t.throws(() => parent.tryHold(fixedAsk(1), [ofParent]), TypeError, 'an allowance of a payer that there is not')
})

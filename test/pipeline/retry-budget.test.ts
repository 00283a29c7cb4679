/** The budget of further attempts, alone. */
import fc from 'fast-check'
import t from 'tap'
import { RetryBudget, type RetryPermit } from '../../src/pipeline/retry-budget.ts'
import { property } from '../support/seed.ts'

function taken(budget: RetryBudget, wanted: number): RetryPermit[] {
  const permits: RetryPermit[] = []
  for (let i = 0; i < wanted; i++) {
    const permit = budget.take()
    if (permit) permits.push(permit)
  }
  return permits
}

t.test('a fifth of what is active may wait for a further attempt, and at least three', async (t) => {
  for (const [active, allowed] of [
    [0, 3],
    [1, 3],
    [15, 3],
    [30, 6],
    [80, 16],
  ]) {
    const budget = new RetryBudget()
    for (let i = 0; i < active; i++) budget.enter()
    const permits = taken(budget, 100)
    t.equal(permits.length, allowed, `${active} active`)
    permits[0].end(true)
    permits[0].end(true)
    t.equal(taken(budget, 100).length, 1, 'one has gone, once')
    for (let i = 0; i < active; i++) budget.leave()
  }
})

t.test('in a lasting storm further attempts are a tenth of the requests, however few are active', async (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2000 }), fc.integer({ min: 1, max: 5 }), (requests, others) => {
      const budget = new RetryBudget()
      let further = 0
      for (let i = 0; i < requests; i++) {
        budget.enter()
        for (let k = 0; k < others; k++) {
          const permit = budget.take()
          if (permit) further++
          permit?.end(false)
        }
        budget.leave()
      }
      if (further > 20 + requests * 0.1 + 1e-6) throw new Error(`${further} for ${requests} requests`)
      if (further < Math.min(20, requests * others)) throw new Error(`only ${further} for ${requests} requests`)
    }),
    property(200, 5000),
  )
  t.pass()
})

t.test('attempts that help cost nothing', async (t) => {
  const budget = new RetryBudget()
  for (let i = 0; i < 10_000; i++) {
    budget.enter()
    const permit = budget.take()
    if (!permit) throw new Error(`refused at ${i}`)
    permit.end(true)
    budget.leave()
  }
  t.equal(taken(budget, 100).length, 3)
})

/** The budget of further attempts, alone. */
import fc from 'fast-check'
import t from 'tap'
import type { Model } from '../../src/routing/catalog/types.ts'
import { RetryBudget, type RetryPermit } from '../../src/routing/index.ts'
import { property } from '../support/seed.ts'

const model = (slug: string, wildcard?: string): Model => ({ slug, wildcard }) as Model
const ONE = model('acme/one')
const TWO = model('acme/two')

function taken(budget: RetryBudget, wanted: number, of = ONE): RetryPermit[] {
  const permits: RetryPermit[] = []
  for (let i = 0; i < wanted; i++) {
    const permit = budget.take(of)
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
    for (let i = 0; i < active; i++) budget.enter([ONE])
    const permits = taken(budget, 100)
    t.equal(permits.length, allowed, `${active} active`)
    permits[0].end(true)
    permits[0].end(true)
    t.equal(taken(budget, 100).length, 1, 'one has gone, once')
    for (let i = 0; i < active; i++) budget.leave([ONE])
  }
})

t.test('in a lasting storm further attempts are a tenth of the requests, however few are active', async (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2000 }), fc.integer({ min: 1, max: 5 }), (requests, others) => {
      const budget = new RetryBudget()
      let further = 0
      for (let i = 0; i < requests; i++) {
        budget.enter([ONE])
        for (let k = 0; k < others; k++) {
          const permit = budget.take(ONE)
          if (permit) further++
          permit?.end(false)
        }
        budget.leave([ONE])
      }
      if (further > 20 + requests * 0.1 + 1e-6) throw new Error(`${further} for ${requests} requests`)
      if (further < Math.min(20, requests * others)) throw new Error(`only ${further} for ${requests} requests`)
    }),
    property(200, 5000),
  )
  t.pass()
})

t.test('a model that is down takes nothing from another', async (t) => {
  const budget = new RetryBudget()
  for (let i = 0; i < 100; i++) {
    budget.enter([ONE])
    budget.take(ONE)?.end(false)
    budget.leave([ONE])
  }
  t.equal(budget.take(ONE), undefined, 'its own are spent')
  t.equal(taken(budget, 100, TWO).length, 3, 'those of another model are all there')
})

t.test('the budget is that of the slug, or of the wildcard, whatever object stands for it', async (t) => {
  const budget = new RetryBudget()
  for (const [slug, wildcard] of [['acme/one'], ['local/a', 'local/*']]) {
    let permits = 0
    for (let i = 0; i < 100; i++) {
      const name = wildcard === undefined ? model(slug) : model(`${slug}${i}`, wildcard)
      const permit = budget.take(name)
      if (permit) permits++
      permit?.end(false)
    }
    t.equal(permits, 20, slug)
  }
})

t.test('several names of one wildcard are one open turn, and add a tenth of a call together', async (t) => {
  const names = Array.from({ length: 10 }, (_, i) => model(`local/${i}`, 'local/*'))
  const budget = new RetryBudget()
  for (let i = 0; i < 30; i++) budget.enter(names)
  t.equal(taken(budget, 100, names[0]).length, 6, 'a fifth of 30')
  for (let i = 0; i < 30; i++) budget.leave(names)
  const storm = new RetryBudget()
  let further = 0
  for (let i = 0; i < 1000; i++) {
    storm.enter(names)
    for (const name of names) {
      const permit = storm.take(name)
      if (permit) further++
      permit?.end(false)
    }
    storm.leave(names)
  }
  t.ok(further >= 100 && further <= 20 + 1000 * 0.1, `${further} for 1000 turns`)
})

t.test('budgets of models that are gone are forgotten, except while a turn is open', async (t) => {
  const budget = new RetryBudget()
  const spend = (of: Model): void => {
    for (let i = 0; i < 100; i++) budget.take(of)?.end(false)
  }
  spend(ONE)
  spend(TWO)
  budget.keep(new Set(['acme/one']))
  t.equal(budget.take(ONE), undefined, 'named: kept')
  t.ok(budget.take(TWO), 'gone: forgotten')
  spend(TWO)
  budget.enter([TWO])
  budget.keep(new Set())
  t.equal(budget.take(TWO), undefined, 'open: kept')
  budget.leave([TWO])
  budget.keep(new Set())
  t.ok(budget.take(TWO))
})

t.test('models that a turn may use share what it adds', async (t) => {
  const budget = new RetryBudget()
  let further = 0
  for (let i = 0; i < 1000; i++) {
    budget.enter([ONE, TWO])
    for (const each of [ONE, TWO]) {
      const permit = budget.take(each)
      if (permit) further++
      permit?.end(false)
    }
    budget.leave([ONE, TWO])
  }
  t.ok(further >= 100 && further <= 2 * 20 + 1000 * 0.1, `${further} for 1000 turns`)
})

t.test('attempts that help cost nothing', async (t) => {
  const budget = new RetryBudget()
  for (let i = 0; i < 10_000; i++) {
    budget.enter([ONE])
    const permit = budget.take(ONE)
    if (!permit) throw new Error(`refused at ${i}`)
    permit.end(true)
    budget.leave([ONE])
  }
  t.equal(taken(budget, 100).length, 3)
})

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { type Account, Credit } from '../../src/ledger/credit.ts'
import { FakeClock } from '../support/clock.ts'
import { holds, left, recorded } from '../support/holding.ts'
import { MemoryJournal } from '../support/memory/journal.ts'
import { property, runs } from '../support/seed.ts'

const clock = new FakeClock()

/** Model of credit, with nothing clever in it. */
class Model {
  spent = 0
  open = new Map<number, number>()
  get held(): number {
    return [...this.open.values()].reduce((sum, hold) => sum + hold, 0)
  }
  admits(amount: number, limit: number | null): boolean {
    return limit === null || this.spent + this.held + amount <= limit
  }
  settle(seq: number, cost: number): void {
    this.open.delete(seq)
    this.spent += cost
  }
}

/** The real thing: credit in memory, and the journal that a crash leaves behind. */
interface Real {
  journal: MemoryJournal
  account: Account
  limit: number | null
  /** Set once a provider charged more than was held: only then may the limit be passed. */
  excess: number
  seq: number
}

type Command = fc.Command<Model, Real>
const pick = (model: Model, index: number) => [...model.open.keys()][index % model.open.size]
const row = (seq: number, cost: number) => ({
  seq,
  status: 'completed' as const,
  cost,
  at: 0,
  input: 0,
  output: 0,
  cached: 0,
  cacheWrite: 0,
  reasoning: 0,
  estimated: false,
  facts: '{}',
})

function check(model: Model, real: Real): void {
  assert.equal(real.account.settled, BigInt(model.spent))
  assert.equal(real.account.held, model.held)
  if (real.limit === null) return
  assert.ok(Number(real.account.settled) + real.account.held <= real.limit + real.excess, 'never overspends')
  assert.equal(left(real.account, { limit: real.limit }), Math.max(0, real.limit - model.spent - model.held))
}

class Hold implements Command {
  private readonly amount: number
  constructor(amount: number) {
    this.amount = amount
  }
  check = () => true
  run(model: Model, real: Real): void {
    const admitted = holds(real.account, this.amount, { limit: real.limit })
    assert.equal(admitted, model.admits(this.amount, real.limit))
    if (admitted) {
      const seq = ++real.seq
      model.open.set(seq, this.amount)
      real.journal.hold({ seq, tag: 'aaaaaaaaaaaa', key: 'k', model: 'm', endpoint: 'e', hold: this.amount, floor: this.amount >> 1 })
    }
    check(model, real)
  }
  toString = () => `hold ${this.amount}`
}

class Extend implements Command {
  private readonly index: number
  private readonly amount: number
  constructor(index: number, amount: number) {
    this.index = index
    this.amount = amount
  }
  check = (model: Readonly<Model>) => model.open.size > 0
  run(model: Model, real: Real): void {
    const seq = pick(model, this.index)
    const admitted = holds(real.account, this.amount, { limit: real.limit })
    assert.equal(admitted, model.admits(this.amount, real.limit))
    if (admitted) model.open.set(seq, (model.open.get(seq) ?? 0) + this.amount)
    check(model, real)
  }
  toString = () => `extend #${this.index} by ${this.amount}`
}

class Settle implements Command {
  private readonly index: number
  private readonly share: number
  constructor(index: number, share: number) {
    this.index = index
    this.share = share
  }
  check = (model: Readonly<Model>) => model.open.size > 0
  run(model: Model, real: Real): void {
    const seq = pick(model, this.index)
    const held = model.open.get(seq) ?? 0
    const cost = Math.round(held * this.share)
    const excess = real.account.settle(held, cost)
    assert.equal(excess, Math.max(0, cost - held))
    real.excess += excess
    model.settle(seq, cost)
    real.journal.settle(row(seq, cost))
    check(model, real)
  }
  toString = () => `settle #${this.index} at ${this.share} of its hold`
}

class Release implements Command {
  private readonly index: number
  constructor(index: number) {
    this.index = index
  }
  check = (model: Readonly<Model>) => model.open.size > 0
  run(model: Model, real: Real): void {
    const seq = pick(model, this.index)
    real.account.release(model.open.get(seq) ?? 0)
    model.settle(seq, 0)
    real.journal.settle(row(seq, 0))
    check(model, real)
  }
  toString = () => `release #${this.index}`
}

class Limit implements Command {
  private readonly limit: number
  constructor(limit: number) {
    this.limit = limit
  }
  check = () => true
  run(model: Model, real: Real): void {
    if (real.limit !== null) real.limit = this.limit
    real.excess = Math.max(real.excess, model.spent + model.held - this.limit)
    check(model, real)
  }
  toString = () => `limit ${this.limit}`
}

/** The process dies: memory is gone, the journal stays, open holds are charged at their floor, exactly once. */
class Crash implements Command {
  check = () => true
  run(model: Model, real: Real): void {
    const floors = [...real.journal.export()].filter((record) => !record.settled).map((record) => record.hold.floor)
    const done = real.journal.reconcile()
    const charged = floors.reduce((sum, floor) => sum + floor, 0)
    assert.deepEqual([done.count, done.charged], [model.open.size, charged])
    assert.equal(real.journal.reconcile().count, 0, 'replaying changes nothing')
    for (const seq of [...model.open.keys()]) real.journal.settle(row(seq, 1_000_000))
    model.open.clear()
    model.spent += done.charged
    real.account = new Credit(clock, real.journal).account('k')
    check(model, real)
  }
  toString = () => 'crash'
}

t.test('random lives of an account match the model', async (t) => {
  const amount = fc.oneof(fc.nat(1000), fc.constantFrom(0, 1))
  const commands = fc.commands(
    [
      amount.map((value) => new Hold(value)),
      fc.tuple(fc.nat(9), amount).map(([index, value]) => new Extend(index, value)),
      fc
        .tuple(
          fc.nat(9),
          fc.oneof({ weight: 9, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }) }, { weight: 1, arbitrary: fc.constant(1.5) }),
        )
        .map(([index, share]) => new Settle(index, share)),
      fc.nat(9).map((index) => new Release(index)),
      fc.nat(5000).map((limit) => new Limit(limit)),
      fc.constant(new Crash()),
    ],
    { maxCommands: 60, size: 'max' },
  )
  fc.assert(
    fc.property(commands, fc.option(fc.nat(5000)), (sequence, limit) => {
      const fresh = () => ({
        model: new Model(),
        real: { journal: new MemoryJournal(), account: new Credit(clock).account('k'), limit, excess: 0, seq: 0 },
      })
      fc.modelRun(fresh, sequence)
    }),
    property(300, 100_000),
  )
  t.pass(`${runs(300, 100_000)} sequences`)
})

t.test('the edge of a limit', async (t) => {
  const account = new Credit(clock, recorded({ k: 40 })).account('k')
  t.equal(holds(account, 60, { limit: 100 }), true, 'exactly what is left')
  t.equal(holds(account, 1, { limit: 100 }), false, 'one nano-dollar more')
  t.equal(left(account, { limit: 100 }), 0)
  t.equal(left(account, { limit: null }), null)
  t.equal(holds(account, 1_000_000, { limit: null }), true, 'no limit')
  t.equal(holds(account, 0, { limit: 10 }), false, 'a limit cut below what is spent stops the next call')
  t.equal(account.settle(60, 100), 40, 'a provider that went past its cap')
  t.equal(account.settled, 140n)
  const other = new Credit(clock)
  t.equal(holds(other.account('a'), 1, { limit: 0 }), false, 'a limit of zero')
  t.equal(other.account('a'), other.account('a'))
  t.not(other.account('a'), other.account('b'))
})

t.test('broken amounts are refused loudly and change nothing', async (t) => {
  const account = new Credit(clock).account('k')
  holds(account, 10, { limit: null })
  for (const bad of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    t.throws(() => holds(account, bad, { limit: 100 }), RangeError)
    t.throws(() => account.settle(5, bad), RangeError)
    t.throws(() => account.release(bad), RangeError)
  }
  t.throws(() => account.settle(11, 1), RangeError, 'more than was held')
  t.same([account.settled, account.held], [0n, 10])
})

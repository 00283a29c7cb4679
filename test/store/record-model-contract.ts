/** Random work of several processes on a store of record, against a model of a few lines. */
import fc from 'fast-check'
import type { Test } from 'tap'
import { windowStarts } from '../../src/core/windows.ts'
import type { LimitReset } from '../../src/plugin-api/key.ts'
import type { SettledRows, StoreOfRecord } from '../../src/store/record.ts'
import { FakeClock } from '../support/clock.ts'
import { property } from '../support/seed.ts'
import { ask, balance, generation, leaseFrom, nodePulse, type OpenRecord } from './record-contract.ts'

const LIMIT = 1000
const NODES = 3
const RESETS: readonly (LimitReset | null)[] = [null, 'daily', 'weekly', 'monthly']

type Step =
  | { kind: 'lease'; node: number; need: number; more: number }
  /** `share` of the process's lease is charged, in thousandths; above 1000 a provider overran. */
  | { kind: 'take'; node: number; share: number; daysAgo: number }
  | { kind: 'again'; node: number }
  | { kind: 'give'; node: number; amount: number | 'all' }
  | { kind: 'wait'; hours: number }

const node = fc.nat(NODES - 1)
const steps = (mostShare: number) =>
  fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('lease' as const), node, need: fc.nat(400), more: fc.nat(400) }),
      fc.record({ kind: fc.constant('take' as const), node, share: fc.nat(mostShare), daysAgo: fc.constantFrom(0, 0, 0, 1, 8) }),
      fc.record({ kind: fc.constant('again' as const), node }),
      fc.record({ kind: fc.constant('give' as const), node, amount: fc.oneof(fc.nat(300), fc.constant('all' as const)) }),
      fc.record({ kind: fc.constant('wait' as const), hours: fc.nat(60) }),
    ),
    { minLength: 1, maxLength: 25 },
  )

/** One key, as it must be. */
class Model {
  readonly leases = new Array<number>(NODES).fill(0)
  /** When each was last granted something. */
  readonly grantedAt = new Array<number>(NODES).fill(0)
  readonly charges: { at: number; cost: number }[] = []

  get leased(): number {
    return this.leases.reduce((sum, lease) => sum + lease, 0)
  }

  spent(window: LimitReset | null, now: number): number {
    const from = window === null ? 0 : windowStarts(now)[window]
    return this.charges.reduce((sum, charge) => (charge.at >= from ? sum + charge.cost : sum), 0)
  }

  /** Charge of a lease, which stands no earlier than it was granted, whatever the process's clock says. */
  charge(node: number, cost: number, utterance: number): void {
    const at = this.leases[node] > 0 ? Math.max(utterance, this.grantedAt[node]) : utterance
    this.leases[node] = Math.max(0, this.leases[node] - cost)
    this.charges.push({ at, cost })
  }
}

/** One run: its own key on a record that all runs share. */
class Run {
  private readonly model = new Model()
  private readonly taken: SettledRows[] = []
  private readonly record: StoreOfRecord
  private readonly clock: FakeClock
  private readonly key: string
  private readonly reset: LimitReset | null
  private static seq = 0

  constructor(record: StoreOfRecord, clock: FakeClock, key: string, reset: LimitReset | null) {
    this.record = record
    this.clock = clock
    this.key = key
    this.reset = reset
  }

  async step(step: Step): Promise<void> {
    const { record, clock, key, model } = this
    if (step.kind === 'wait') return clock.advance(step.hours * 3_600_000)
    const name = `${key} n${step.node}`
    if (step.kind === 'lease') return this.lease(name, step)
    if (step.kind === 'again') return record.take(name, this.taken.slice(-3))
    if (step.kind === 'give') {
      const held = model.leases[step.node]
      model.leases[step.node] = step.amount === 'all' ? 0 : Math.max(0, held - step.amount)
      return record.giveBack(name, { key }, step.amount, 1)
    }
    const cost = Math.floor((model.leases[step.node] * step.share) / 1000)
    const at = clock.now() - step.daysAgo * 86_400_000
    const row = generation(++Run.seq, key, cost, at)
    this.taken.push(row)
    model.charge(step.node, cost, at)
    return record.take(name, [row])
  }

  private async lease(name: string, { node, need, more }: Extract<Step, { kind: 'lease' }>): Promise<void> {
    const { record, clock, key, model, reset } = this
    const free = LIMIT - model.spent(reset, clock.now()) - model.leased
    const answer = await leaseFrom(record, name, ask(key, need, { want: need + more, limitReset: reset }))
    const { granted, left } = answer
    const fits = need === 0 ? free >= granted : granted > 0 === free >= need
    const bounded = granted === 0 || (granted >= need && granted <= need + more)
    if (!fits || !bounded || left !== Math.max(0, free - granted))
      throw new Error(`${JSON.stringify(answer)} where ${free} were free and ${need} to ${need + more} asked`)
    model.leases[node] += granted
    if (granted > 0) model.grantedAt[node] = clock.now()
  }

  async check(within: boolean): Promise<void> {
    const { record, clock, key, model, reset } = this
    const found = await balance(record, key)
    const now = clock.now()
    const expected = {
      key,
      spent: model.spent(null, now),
      daily: model.spent('daily', now),
      weekly: model.spent('weekly', now),
      monthly: model.spent('monthly', now),
      leased: model.leased,
    }
    for (const [name, value] of Object.entries(expected))
      if (found[name as keyof typeof expected] !== value) throw new Error(`${name}: ${JSON.stringify(found)}, expected ${value}`)
    if (within && model.spent(reset, now) + found.leased > LIMIT) throw new Error('past the limit')
  }
}

export function recordModelContract(t: Test, name: string, open: OpenRecord): void {
  const KINDS: readonly [title: string, mostShare: number][] = [
    ['nobody passes the limit', 1000],
    ['a provider that overran', 2500],
  ]
  for (const [title, mostShare] of KINDS)
    t.test(`${name}: random work agrees with the model: ${title}`, async (t) => {
      const clock = new FakeClock()
      const opened = await open(clock)
      t.teardown(() => opened.close())
      const { record } = opened
      let run = 0
      await fc.assert(
        fc.asyncProperty(steps(mostShare), fc.constantFrom(...RESETS), async (steps, reset) => {
          const key = `key ${run++}`
          const here = new Run(record, clock, key, reset)
          for (let index = 0; index < NODES; index++) await record.pulse(nodePulse(`${key} n${index}`))
          for (const step of steps) {
            await here.step(step)
            await here.check(mostShare <= 1000)
          }
        }),
        property(40, 2000),
      )
      t.ok(run >= 40)
    })
}

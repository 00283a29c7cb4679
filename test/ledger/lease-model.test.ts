/** Random lives of several processes that lease from one record, with crashes and a record that fails, against what money means. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { type Joined, joinRecord } from '../../src/cluster/index.ts'
import type { SettledRows } from '../../src/store/record.ts'
import { type Call, type Mode, memoryRecord, ScriptedRecord } from '../cluster/scripted-record.ts'
import { holdRow, settleRow } from '../store/samples.ts'
import { FakeClock, turn } from '../support/clock.ts'
import { holds, seeks } from '../support/holding.ts'
import { MemoryJournal } from '../support/memory/journal.ts'
import { property, runs } from '../support/seed.ts'

const LIMITS: Readonly<Record<string, number | null>> = { limited: 1000, free: null }
const PROCESSES = 3

/** Model of money: what was charged, what is held, and what a crash makes of a hold. */
class Model {
  readonly charged = new Map<number, { key: string; cost: number }>()
  readonly open = new Map<number, { key: string; hold: number; process: number }>()
  /** Charges above their holds: only by these may a limit be passed. */
  excess = 0
  settle(seq: number, cost: number): void {
    const { key, hold } = this.open.get(seq) ?? assert.fail(`${seq} is not open`)
    this.open.delete(seq)
    this.charged.set(seq, { key, cost })
    if (key === 'limited') this.excess += Math.max(0, cost - hold)
  }
  crash(process: number): void {
    for (const [seq, each] of this.open) if (each.process === process) this.settle(seq, each.hold >> 1)
  }
  spent(key: string): number {
    return [...this.charged.values()].reduce((sum, each) => (each.key === key ? sum + each.cost : sum), 0)
  }
  held(key: string): number {
    return [...this.open.values()].reduce((sum, each) => (each.key === key ? sum + each.hold : sum), 0)
  }
}

type Step =
  | { do: 'reserve'; process: number; key: string; amount: number; times: number }
  | { do: 'settle'; pick: number; share: number }
  | { do: 'crash'; process: number }
  | { do: 'start'; process: number }
  | { do: 'fault'; process: number; mode: Mode; call: Call }
  | { do: 'replay'; pick: number; process: number }
  | { do: 'wait'; ms: number }

const process = fc.nat(PROCESSES - 1)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('reserve' as const),
      process,
      key: fc.constantFrom('limited', 'limited', 'limited', 'free'),
      amount: fc.nat(400),
      times: fc.constantFrom(1, 1, 3),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('settle' as const), pick: fc.nat(9), share: fc.constantFrom(0, 0.25, 0.5, 0.99, 1, 1, 1.5) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('crash' as const), process }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('start' as const), process }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('fault' as const),
      process,
      mode: fc.constantFrom<Mode>('refuse', 'lose', 'hang', 'pass'),
      call: fc.constantFrom<Call>('lease', 'take', 'giveBack', 'pulse', 'endLeases'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('replay' as const), pick: fc.nat(9), process }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(0, 0, 30, 30, 300, 300, 300, 1100, 2500) }) },
)

/** One process: its journal outlives its crashes. */
interface Process {
  readonly journal: MemoryJournal
  life: Life | undefined
}

interface Life {
  readonly joined: Joined
  readonly way: ScriptedRecord
  ready: boolean
  /** Requests that wait for credit. */
  seeking: number
}

class World {
  readonly model = new Model()
  readonly clock = new FakeClock()
  private readonly record = memoryRecord(this.clock)
  private readonly processes: Process[] = []
  private seq = 0

  constructor() {
    for (let index = 0; index < PROCESSES; index++) {
      this.processes.push({ journal: new MemoryJournal(), life: undefined })
      this.start(index)
    }
  }

  async run(each: Step): Promise<void> {
    if (each.do === 'reserve') for (let time = 0; time < each.times; time++) this.reserve(each)
    else if (each.do === 'settle') this.settle(each.pick, each.share)
    else if (each.do === 'crash') this.crash(each.process)
    else if (each.do === 'start') this.start(each.process)
    else if (each.do === 'fault') this.processes[each.process].life?.way.mode(each.mode, each.call)
    else if (each.do === 'replay') await this.replay(each.pick, each.process)
    else await this.clock.advance(each.ms)
    await turn()
    await this.check()
  }

  /** As the pipeline does it: from the lease in hand, else by asking; then a row, before anything is sent. */
  private reserve({ process, key, amount }: Extract<Step, { do: 'reserve' }>): void {
    const { life } = this.processes[process]
    if (!life) return
    const account = life.joined.credit.account(key)
    const allowance = { limit: LIMITS[key] }
    const held = (fits: boolean): void => {
      if (!fits) return
      const seq = ++this.seq
      life.joined.journal.hold(holdRow(seq, { key, hold: amount, floor: amount >> 1 }))
      this.model.open.set(seq, { key, hold: amount, process })
    }
    if (holds(account, amount, allowance)) held(true)
    else {
      life.seeking++
      const over = (fits: boolean): void => {
        life.seeking--
        held(fits)
      }
      seeks(account, amount, allowance).then(over, () => over(false))
    }
  }

  private settle(pick: number, share: number): void {
    const open = [...this.model.open]
    if (open.length === 0) return
    const [seq, { key, hold, process }] = open[pick % open.length]
    const { joined } = this.processes[process].life ?? assert.fail('a crash leaves nothing open')
    const cost = Math.round(hold * share)
    joined.credit.account(key).settle(hold, cost)
    joined.journal.settle(settleRow(seq, cost, { at: this.clock.now() }))
    this.model.settle(seq, cost)
  }

  private crash(process: number): void {
    this.processes[process].life?.way.cut()
    this.processes[process].life = undefined
    this.model.crash(process)
  }

  private start(process: number): void {
    const each = this.processes[process]
    if (each.life) return
    each.journal.reconcile()
    const way = new ScriptedRecord(this.clock, this.record)
    const node = `n${process}`
    const joined = joinRecord({ record: way, journal: each.journal, clock: this.clock, node, label: node, report: () => {} })
    const life: Life = { joined, way, ready: false, seeking: 0 }
    void joined.ready.then(() => {
      life.ready = true
    })
    each.life = life
  }

  /** Rows that the record has are handed in again, perhaps by another process. */
  private async replay(pick: number, process: number): Promise<void> {
    const there: SettledRows[] = []
    for await (const { hold, settled } of this.record.ledger.export()) if (settled) there.push({ hold, settled })
    await this.record.take(`n${process}`, there.slice(pick, pick + 3))
  }

  private async check(): Promise<void> {
    const { model } = this
    const most = 1000 + model.excess
    const [{ spent: recorded, leased }] = await this.record.balances(['limited'])
    const spent = Number(recorded)
    assert.ok(spent + leased <= most, `the record: ${spent} spent, ${leased} leased, at most ${most}`)
    const truth = model.spent('limited') + model.held('limited')
    assert.ok(truth <= most, `${truth} spent or held, at most ${most}`)
    assert.ok(spent <= model.spent('limited'), 'the record knows of no charge that never was')
  }

  /** The record answers again, everybody is back, and all ends well: nothing is lost, doubled or still leased. */
  async end(): Promise<void> {
    for (const each of this.processes) each.life?.way.mode('pass', 'lease', 'take', 'giveBack', 'pulse', 'endLeases')
    for (let process = 0; process < PROCESSES; process++) this.start(process)
    const settling = ({ life }: Process): boolean => life === undefined || !life.ready || life.seeking > 0
    for (let round = 0; round < 50 && this.processes.some(settling); round++) await this.clock.advance(round < 5 ? 20 : 500)
    assert.ok(!this.processes.some(settling), 'everybody is back, and nobody waits')
    while (this.model.open.size > 0) this.settle(0, 1)
    await this.check()
    for (const { life } of this.processes) {
      await life?.joined.ready
      const closing = life?.joined.close()
      await this.clock.advance(0)
      await closing
    }
    const rows = new Map<number, number>()
    for await (const { hold, settled } of this.record.ledger.export()) {
      assert.ok(!rows.has(hold.seq), 'once')
      rows.set(hold.seq, settled?.cost ?? -1)
    }
    assert.deepEqual([...rows].sort(), [...this.model.charged].map(([seq, { cost }]) => [seq, cost]).sort())
    for (const [key, balance] of (await this.record.balances(['limited', 'free'])).map((each) => [each.key, each] as const)) {
      assert.equal(Number(balance.spent), this.model.spent(key))
      assert.equal(balance.leased, 0, `of ${key} nothing is leased any more`)
    }
    for (const { journal } of this.processes) assert.deepEqual([...journal.export()], [])
  }
}

t.test('random lives of several processes match the model', async (t) => {
  const counts = { held: 0, charged: 0 }
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const world = new World()
      await turn()
      for (const each of steps) await world.run(each)
      counts.held += world.model.held('limited')
      await world.end()
      counts.charged += world.model.charged.size
    }),
    property(800, 100_000),
  )
  t.ok(counts.held > 0 && counts.charged > 0, `${runs(800, 100_000)} lives, ${counts.charged} generations`)
})

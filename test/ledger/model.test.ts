/** Random lives of the ledger, with crashes, against what the ledger means. */
import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { type Account, Credit } from '../../src/ledger/credit.ts'
import type { Journal } from '../../src/ledger/types.ts'
import { openStore, type Store } from '../../src/store/open.ts'
import { holdRow, settleRow } from '../store/samples.ts'
import { FakeClock } from '../support/clock.ts'
import { holds } from '../support/holding.ts'
import { property, runs } from '../support/seed.ts'
import { verify } from '../support/verify-records.ts'

interface Row {
  key: string
  hold: number
  floor: number
  cost?: number
}

/** Model of the ledger: rows, what of them is durable, and a crash that charges the floor of what was open. */
class Model {
  rows = new Map<number, Row>()
  durable = new Map<number, Row>()
  commit(): void {
    this.durable = new Map([...this.rows].map(([seq, row]) => [seq, { ...row }]))
  }
  crash(): number {
    const open = [...this.durable.values()].filter(({ cost }) => cost === undefined)
    for (const row of open) row.cost = row.floor
    this.rows = this.durable
    this.commit()
    return open.length
  }
  spent(key: string): number {
    return this.of(key).reduce((sum, { cost }) => sum + (cost ?? 0), 0)
  }
  held(key: string): number {
    return this.of(key).reduce((sum, { cost, hold }) => sum + (cost === undefined ? hold : 0), 0)
  }
  admits(key: string, amount: number, limit: number | null): boolean {
    return limit === null || this.spent(key) + this.held(key) + amount <= limit
  }
  open(): [number, Row][] {
    return [...this.rows].filter(([, { cost }]) => cost === undefined)
  }
  private of(key: string): Row[] {
    return [...this.rows.values()].filter((row) => row.key === key)
  }
}

/** A store that can be killed: what it had not committed is gone. */
interface Medium {
  open(): Store
  /** @returns what the next process finds. */
  kill(store: Store): Promise<Store>
  end(): void
}

/** Memory has no next process: its journal lives on, with all that was queued. */
const memory: Medium = {
  open: () => openStore('memory:', { clock: new FakeClock() }),
  kill: async (store) => {
    await store.journal.committed()
    return store
  },
  end: () => {},
}

/** The file and its log as they are at the moment of death, opened elsewhere. */
class File implements Medium {
  private readonly folder = mkdtempSync(join(tmpdir(), 'headgate-model-'))
  private generation = 0
  private readonly opened: Store[] = []
  open(): Store {
    const store = openStore(`sqlite:${this.path}`, { clock: new FakeClock() })
    this.opened.push(store)
    return store
  }
  async kill(store: Store): Promise<Store> {
    const from = this.path
    this.generation++
    for (const suffix of ['', '-wal']) if (existsSync(from + suffix)) copyFileSync(from + suffix, this.path + suffix)
    store.close()
    return this.open()
  }
  end(): void {
    for (const store of this.opened) store.close()
    rmSync(this.folder, { recursive: true })
  }
  private get path(): string {
    return join(this.folder, `${this.generation}.db`)
  }
}

const KEYS = ['a', 'b'] as const
const LIMITS: Record<string, number | null> = { a: 5000, b: null }

type Step =
  | { do: 'reserve'; key: string; amount: number }
  | { do: 'extend'; pick: number; amount: number }
  | { do: 'settle'; pick: number; share: number }
  | { do: 'release'; pick: number }
  | { do: 'replay'; pick: number }
  | { do: 'commit' }
  | { do: 'crash' }

const pick = fc.nat(9)
const amount = fc.nat(2000)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom('reserve', 'extend'), key: fc.constantFrom(...KEYS), pick, amount }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('settle'), pick, share: fc.constantFrom(0, 0.25, 0.5, 0.99, 1, 1.5) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('release', 'replay'), pick }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('commit') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('crash') }) },
) as fc.Arbitrary<Step>

/** The real ledger, driven as the pipeline drives them. */
class RealLedger {
  readonly model = new Model()
  private store: Store
  private credit: Credit
  private readonly medium: Medium
  private seq = 4096
  /** Charges above their holds: only by these may a limit be passed. */
  private readonly excess = new Map<string, number>()

  constructor(medium: Medium) {
    this.medium = medium
    this.store = medium.open()
    this.credit = new Credit(new FakeClock())
  }

  async run(each: Step): Promise<void> {
    if (each.do === 'reserve') this.reserve(each.key, each.amount)
    else if (each.do === 'commit') {
      await this.journal.committed()
      this.model.commit()
    } else if (each.do === 'crash') await this.crash()
    else if (each.do === 'replay') this.replay(each.pick)
    else {
      const open = this.model.open()
      if (open.length === 0) return
      const [seq, row] = open[each.pick % open.length]
      if (each.do === 'extend') this.extend(seq, row, each.amount)
      else this.settle(seq, row, each.do === 'settle' ? Math.round(row.hold * each.share) : 0)
    }
    this.check()
  }

  close(): void {
    this.store.close()
  }

  private get journal(): Journal {
    return this.store.journal
  }

  private account(key: string): Account {
    return this.credit.account(key)
  }

  private reserve(key: string, hold: number): void {
    const admitted = holds(this.account(key), hold, { limit: LIMITS[key] })
    assert.equal(admitted, this.model.admits(key, hold, LIMITS[key]))
    if (!admitted) return
    const row = { key, hold, floor: hold >> 1 }
    this.model.rows.set(++this.seq, row)
    this.journal.hold(holdRow(this.seq, row))
  }

  private extend(seq: number, row: Row, more: number): void {
    const admitted = holds(this.account(row.key), more, { limit: LIMITS[row.key] })
    assert.equal(admitted, this.model.admits(row.key, more, LIMITS[row.key]))
    if (!admitted) return
    row.hold += more
    row.floor = row.hold >> 1
    this.journal.hold(holdRow(seq, row))
  }

  private settle(seq: number, row: Row, cost: number): void {
    const excess = this.account(row.key).settle(row.hold, cost)
    assert.equal(excess, Math.max(0, cost - row.hold))
    this.excess.set(row.key, (this.excess.get(row.key) ?? 0) + excess)
    row.cost = cost
    this.journal.settle(settleRow(seq, cost, { at: 0 }))
  }

  /** Rows that are there already come again, with other contents: nothing changes. */
  private replay(index: number): void {
    const done = [...this.model.rows].filter(([, { cost }]) => cost !== undefined)
    if (done.length === 0) return
    const [seq, row] = done[index % done.length]
    this.journal.settle(settleRow(seq, (row.cost ?? 0) + 7, { at: 0 }))
    this.journal.hold(holdRow(seq, { ...row, tag: 'somebodyelse', hold: 1, floor: 1 }))
  }

  private async crash(): Promise<void> {
    if (this.medium === memory) this.model.commit()
    this.store = await this.medium.kill(this.store)
    const open = this.model.crash()
    assert.equal(this.journal.reconcile().count, open)
    assert.equal(this.journal.reconcile().count, 0, 'a second start changes nothing')
    this.credit = new Credit(new FakeClock(), this.journal)
  }

  private check(): void {
    for (const key of KEYS) {
      const account = this.account(key)
      assert.deepEqual([Number(account.settled), account.held], [this.model.spent(key), this.model.held(key)])
      const limit = LIMITS[key]
      if (limit !== null) assert.ok(Number(account.settled) + account.held <= limit + (this.excess.get(key) ?? 0), 'never overspent')
    }
  }

  /** The journal says what the model says, row by row. */
  async compare(): Promise<void> {
    await this.journal.committed()
    const rows = [...this.journal.export()]
    assert.deepEqual(
      rows.map(({ hold, settled }) => [hold.seq, hold.key, hold.hold, hold.floor, settled?.cost]),
      [...this.model.rows].map(([seq, { key, hold, floor, cost }]) => [seq, key, hold, floor, cost]),
    )
    assert.deepEqual(verify(rows, this.journal.spent()).problems, [])
  }
}

async function live(medium: Medium, steps: readonly Step[]): Promise<number> {
  const real = new RealLedger(medium)
  try {
    for (const each of steps) await real.run(each)
    await real.compare()
    return real.model.rows.size
  } finally {
    real.close()
    medium.end()
  }
}

const MEDIA = [
  ['memory', () => memory, 2_000, 100_000],
  ['sqlite', () => new File(), 60, 2_000],
] as const

for (const [name, medium, short, long] of MEDIA) {
  t.test(`${name}: random sequences of reserve, settle, release, crash and replay`, async (t) => {
    let rows = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 40, size: 'max' }), async (steps) => {
        rows += await live(medium(), steps)
      }),
      property(short, long),
    )
    t.ok(rows > runs(short, long), `${rows} generations`)
  })
}

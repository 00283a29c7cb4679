/** One random life of several processes on one record, held against what money means. */
import assert from 'node:assert/strict'
import { type Joined, joinRecord } from '../../../src/cluster/index.ts'
import type { Clock, Timer } from '../../../src/core/clock.ts'
import { generationId } from '../../../src/core/ids.ts'
import type { Allowance } from '../../../src/ledger/allowance.ts'
import { type EndedBy, type Progress, settleOutcome } from '../../../src/ledger/settlement.ts'
import { Hold, type SettledHold } from '../../../src/pipeline/money/hold.ts'
import { holdRow, settleRow, TAG } from '../../store/samples.ts'
import { MemoryJournal } from '../memory/journal.ts'
import type { Market } from './market.ts'
import { type Account, type Grant, type Held, type Key, Model } from './model.ts'
import { ACCOUNTS, type End, KEYS, PROCESSES, type Step, type Terms } from './steps.ts'

/** One nano-dollar per token. */
const PRICE = { prompt: 1_000_000_000n, completion: 1_000_000_000n }

/** Party that ends it, and its progress by then. */
const ENDINGS: Readonly<Record<End, readonly [EndedBy, Progress]>> = {
  completed: ['model', 'usage_known'],
  over: ['model', 'usage_known'],
  nonsense: ['model', 'usage_known'],
  left: ['caller', 'content'],
  'left early': ['caller', 'sent'],
  deadline: ['caller', 'content'],
  slow: ['operator', 'content'],
  'provider failed': ['provider', 'content'],
  'failed over': ['model', 'usage_known'],
}
const OVER = 7
/** Nano-dollars of a report that is not believed. */
const NONSENSE = 1_000

/** One process: its journal outlives its crashes. */
interface Process {
  readonly journal: MemoryJournal
  life: Life | undefined
}

interface Life {
  readonly joined: Joined
  readonly way: ReturnType<Market['way']>
  readonly timers: Timers
  ready: boolean
  /** Requests that wait for credit. */
  seeking: number
}

interface Open {
  readonly hold: Hold
  readonly key: Key
  /** Of the first hold. */
  readonly payers: readonly Account[]
  readonly process: number
  /** Grant of the last part, or of any part without a limit. */
  grant: Grant
  settling: boolean
}

/** A process's clock: a process that has crashed runs no timer any more. */
class Timers implements Clock {
  private readonly clock: Clock
  private isStopped = false

  constructor(clock: Clock) {
    this.clock = clock
  }

  now(): number {
    return this.clock.now()
  }

  monotonic(): number {
    return this.clock.monotonic()
  }

  random(): number {
    return this.clock.random()
  }

  after(ms: number, fn: () => void): Timer {
    if (this.isStopped) return { cancel: () => {} }
    return this.clock.after(ms, () => {
      if (!this.isStopped) fn()
    })
  }

  stop(): void {
    this.isStopped = true
  }
}

let lastSeq = 0

export class World {
  readonly model: Model
  /** Exchanges that are under way. */
  private readonly open = new Map<number, Open>()
  private readonly market: Market
  private readonly name: string
  private readonly terms: Terms
  private readonly processes: Process[] = []
  private refunds = 0
  /** Error of a step that waited. */
  private failure: unknown

  constructor(market: Market, terms: Terms) {
    this.market = market
    this.terms = terms
    this.name = market.nextName()
    this.model = new Model(terms, market.clock.now())
    for (let index = 0; index < PROCESSES; index++) {
      this.processes.push({ journal: new MemoryJournal(), life: undefined })
      this.start(index)
    }
  }

  async run(step: Step): Promise<void> {
    if (step.do === 'request') for (let time = 0; time < step.times; time++) this.request(step)
    else if (step.do === 'end') this.end(step.pick, step.end, step.part)
    else if (step.do === 'turn') this.turn(step)
    else if (step.do === 'crash') this.crash(step.process)
    else if (step.do === 'start') this.start(step.process)
    else if (step.do === 'fault') this.processes[step.process].life?.way.mode(step.mode, step.call)
    else if (step.do === 'bound') this.model.change(step.key, step.index, step.bound)
    else if (step.do === 'refund') await this.refund(step)
    else if (step.do === 'move') this.model.move(step.place)
    else if (step.do === 'leap') this.market.clock.leap(step.hours * 3_600_000)
    else await this.market.pass(step.ms)
    await this.market.quiet()
    await this.check()
  }

  /** All are back, the record answers, everything ends: nothing is lost, doubled or still leased. */
  async over(): Promise<void> {
    const { market, processes } = this
    for (const { life } of processes) {
      life?.way.mode('pass', 'lease', 'take', 'giveBack', 'pulse', 'endLeases')
      await life?.way.deliver()
    }
    for (let process = 0; process < PROCESSES; process++) this.start(process)
    const busy = ({ life }: Process): boolean => life === undefined || !life.ready || life.seeking > 0
    for (let round = 0; round < 50 && processes.some(busy); round++) await market.pass(250)
    assert.ok(!processes.some(busy), 'all are back, and no request waits')
    for (let round = 0; round < 50 && this.open.size > 0; round++) {
      for (const seq of [...this.open.keys()]) this.endOne(seq, 'completed', 1)
      await market.pass(250)
    }
    assert.equal(this.open.size, 0, 'every hold is settled')
    await this.check()
    for (const { life } of processes) await this.closed(life)
    await this.compare()
  }

  /** As the pipeline does it: from the lease in hand, else by asking; then a row, before anything is sent. */
  private request({ process, key, full, share }: Extract<Step, { do: 'request' }>): void {
    const { life } = this.processes[process]
    if (!life) return
    const hold = new Hold()
    const payers = this.model.payersNow(key)
    const limits = this.model.keyLimits(key)
    const taken = hold.take(this.account(life, key), { full, floor: Math.floor(full * share) }, this.keyAllowances(key))
    const done = (held: number | undefined): void => {
      if (held === undefined || this.processes[process].life !== life) return
      assert.ok(held <= full, 'no more than was asked for')
      const seq = Math.floor(this.market.clock.now()) * 4096 + (++lastSeq % 4096)
      hold.raiseFloor(held >> 1)
      this.open.set(seq, { hold, key, payers, process, grant: this.model.granted(limits), settling: false })
      if (held > 0) this.model.checkGranted(limits, this.market.clock.now(), this.held())
      this.write(life, seq, { hold, key })
    }
    if (taken instanceof Promise)
      this.wait(
        life,
        taken.then(done, () => {}),
      )
    else done(taken)
  }

  /** A turn of a tool loop is over, the next one begins. */
  private turn({ pick, part, full }: Extract<Step, { do: 'turn' }>): void {
    const [seq, exchange] = this.picked(pick)
    if (!exchange) return
    const { hold, key, process } = exchange
    const { life } = this.processes[process]
    if (!life) return
    hold.conclude({ amount: hold.amount, floor: hold.floor }, Math.floor(hold.amount * part))
    exchange.settling = true
    // A key that has moved goes on under the allowances of its first hold.
    const hasMoved = exchange.payers !== this.model.payersNow(key)
    const limits = this.model.keyLimits(key)
    const taken = hold.take(this.account(life, key), { full, floor: 0 }, this.keyAllowances(key))
    const done = (): void => {
      exchange.settling = false
      if (exchange.grant.under.length > 0 && !hasMoved) exchange.grant = this.model.granted(limits)
      if (this.processes[process].life === life) this.write(life, seq, exchange)
    }
    if (taken instanceof Promise) this.wait(life, taken.then(done, done))
    else done()
  }

  private wait(life: Life, seeking: Promise<void>): void {
    life.seeking++
    seeking
      .catch((thrown: unknown) => {
        this.failure ??= thrown
      })
      .finally(() => {
        life.seeking--
      })
  }

  private end(pick: number, end: End, part: number): void {
    const [seq, exchange] = this.picked(pick)
    if (exchange) this.endOne(seq, end, part)
  }

  private endOne(seq: number, end: End, part: number): void {
    const exchange = this.open.get(seq)
    const life = exchange && this.processes[exchange.process].life
    if (!exchange || !life || exchange.settling) return
    const { hold, key, payers, process } = exchange
    const { amount } = hold
    const [endedBy, progress] = ENDINGS[end]
    const input = Math.floor(amount / 3)
    const disputed = end === 'nonsense' ? NONSENSE : 0
    const output = end === 'over' ? amount * OVER : Math.floor((amount - input) * part)
    const usage = { input, output, cached: 0, cacheWrite: 0, reasoning: 0, audioInput: 0, audioOutput: 0, imageOutput: 0 }
    const { cost, status } = settleOutcome({
      endedBy,
      progress,
      status: endedBy === 'model' ? 'completed' : 'aborted',
      reported: progress === 'usage_known' ? usage : undefined,
      // What was estimated for a caller that left may well be too much.
      unreported: progress === 'usage_known' ? 0 : output * 2,
      input,
      finish: endedBy === 'model' ? 'stop' : undefined,
      tools: 0,
      price: PRICE,
      held: amount,
    })
    const at = Math.floor(this.processClock(process).now())
    // A charge belongs to the moment at which its exchange ended, however long its cover is waited for.
    const ended = this.market.clock.now()
    exchange.settling = true
    const facts = disputed > 0 ? `{"disputed_nano":${disputed}}` : ''
    const settled = hold.settle(life.joined.journal, settleRow(seq, cost, { at, status, facts }))
    const done = ({ charged, unrecovered }: SettledHold): void => {
      if (this.processes[process].life !== life) return
      this.open.delete(seq)
      assert.equal(charged + unrecovered, cost, 'nothing else is unpaid')
      assert.ok(charged >= Math.min(cost, amount), 'up to the hold all is charged')
      this.model.settle({ seq, key, payers, cost: charged, at: ended, grant: exchange.grant })
      const lost = this.model.lost[key]
      lost.unrecovered += unrecovered
      lost.disputed += disputed
    }
    if (settled instanceof Promise) this.wait(life, settled.then(done))
    else done(settled)
  }

  /** No more than the record knows of. */
  private async refund({ key, share, twice }: Extract<Step, { do: 'refund' }>): Promise<void> {
    const { market, model } = this
    const accounts: readonly Account[] = [key, ...model.payersNow(key)]
    const spent = (await market.record.balances(accounts.map((account) => this.identity(account)))).map((balance) => Number(balance.spent))
    const amount = Math.floor((spent[0] ?? 0) * share)
    if (amount === 0 || this.ownSpent(key) < amount || spent.some((each) => each < amount)) return
    const at = Math.floor(market.clock.now())
    const once = `${this.name} refund ${++this.refunds}`
    const of = {
      at,
      key: this.identity(key),
      ...this.keyPayer(key),
      model: '',
      provider: '',
      kind: 'refund' as const,
      amount,
      countedAt: at,
    }
    for (const time of twice ? [1, 2] : [1]) {
      const found = await market.record.ledger.entries?.add({ ...of, id: `ent ${once} ${time}`, actor: 'ops', reason: 'a life', once })
      assert.ok(typeof found === 'object', `refunded: ${found}`)
    }
    model.refund(key, amount, at)
  }

  /** Own charges of a key: those of keys that it issued are theirs to give back. */
  private ownSpent(key: Key): number {
    return this.model.charges.reduce((sum, charge) => (charge.key === key ? sum + charge.cost : sum), 0)
  }

  private crash(process: number): void {
    const each = this.processes[process]
    if (!each.life) return
    each.life.way.cut()
    each.life.way.gone()
    each.life.timers.stop()
    each.life = undefined
    for (const [seq, { hold, key, payers, grant, process: of }] of this.open) {
      if (of !== process) continue
      this.open.delete(seq)
      // The row says what was written last; a turn that was taking more had not written it.
      const { hold: row } = each.journal.find(generationId(seq, TAG)) ?? {}
      this.model.settle({ seq, key, payers, cost: row?.floor ?? hold.floor, at: Math.floor(seq / 4096), grant })
    }
  }

  private start(process: number): void {
    const each = this.processes[process]
    if (each.life) return
    each.journal.reconcile()
    const way = this.market.way()
    const node = `${this.name} n${process}`
    const timers = new Timers(this.processClock(process))
    const joined = joinRecord({ record: way, journal: each.journal, clock: timers, node, label: node, report: () => {} })
    const life: Life = { joined, way, timers, ready: false, seeking: 0 }
    joined.ready.then(
      () => {
        life.ready = true
      },
      () => {},
    )
    each.life = life
  }

  private async closed(life: Life | undefined): Promise<void> {
    let isClosed = false
    const closing = life?.joined.close().finally(() => {
      isClosed = true
    })
    for (let round = 0; round < 20 && closing && !isClosed; round++) await this.market.pass(250)
    await closing
    life?.way.gone()
  }

  private write(life: Life, seq: number, { hold, key }: Pick<Open, 'hold' | 'key'>): void {
    hold.write(life.joined.journal, holdRow(seq, { key: this.identity(key), ...this.keyPayer(key) })).catch(() => {})
  }

  private picked(pick: number): [seq: number, exchange: Open | undefined] {
    const ready = [...this.open].filter(([, { settling }]) => !settling)
    return ready[pick % ready.length] ?? [0, undefined]
  }

  private account({ joined }: Life, key: Key) {
    return joined.credit.account(this.identity(key), this.keyPayer(key).payer)
  }

  private keyAllowances(key: Key): Allowance[] {
    return [key, ...this.model.payersNow(key)].flatMap((account, level) =>
      this.model.ownBounds(account).map((bound) => ({ ...bound, level })),
    )
  }

  private identity(key: Account): string {
    return `${this.name} ${key}`
  }

  private keyPayer(key: Key): { payer?: string } {
    const payers = this.model.payersNow(key)
    return payers.length === 0 ? {} : { payer: payers.map((account) => this.identity(account)).join('>') }
  }

  /** The process's own clock, which may be wrong. */
  private processClock(process: number): Clock {
    const { clock } = this.market
    const skew = this.terms.skews[process] * 60_000
    return {
      now: () => clock.now() + skew,
      monotonic: () => clock.monotonic(),
      random: () => clock.random(),
      after: (ms, fn) => clock.after(ms, fn),
    }
  }

  private held(): Held[] {
    return Array.from(this.open.values(), ({ hold, key, payers, grant }) => ({ key, payers, grant, amount: hold.amount }))
  }

  private async check(): Promise<void> {
    if (this.failure) throw this.failure
    const { model, market } = this
    model.check(market.clock.now(), this.held())
    const balances = await market.record.balances(ACCOUNTS.map((account) => this.identity(account)))
    for (const [index, account] of ACCOUNTS.entries()) model.checkRecorded(account, balances[index])
  }

  /** The record has every charge once, with its cost, and its balances are their sums. */
  private async compare(): Promise<void> {
    const { market, model } = this
    for (const { seq, cost, isRefund } of model.charges) {
      if (isRefund) continue
      const found = await market.record.ledger.find(generationId(seq, TAG))
      assert.equal(found?.settled?.cost, cost, `generation ${seq}`)
    }
    const balances = await market.record.balances(ACCOUNTS.map((account) => this.identity(account)))
    for (const [index, account] of ACCOUNTS.entries()) {
      assert.equal(Number(balances[index].spent), model.spent(account), `${account}: what is recorded as spent`)
      assert.equal(balances[index].leased, 0, `${account}: nothing is leased any more`)
    }
    for (const key of KEYS) {
      const sums = (await market.record.ledger.entries?.sums([this.identity(key)])) ?? []
      for (const kind of ['unrecovered', 'disputed'] as const)
        assert.equal(Number(sums.find((sum) => sum.kind === kind)?.amount ?? 0), model.lost[key][kind], `${key}: ${kind}`)
    }
  }
}

/**
 * The dealings of one key's lease with the store of record: one ask at a time, who waits is served in order of coming,
 * and what lies idle goes back.
 */
import type { Clock } from '../core/clock.ts'
import type { Allowance } from '../ledger/credit.ts'
import type { LeaseAnswer, LeaseAsk, StoreOfRecord } from '../store/record.ts'
import { unreachable, within } from './bounded.ts'
import type { Lease } from './lease.ts'

/** What all accounts of a process share. */
export interface LeaseOffice {
  readonly node: string
  readonly record: Pick<StoreOfRecord, 'lease' | 'giveBack'>
  readonly clock: Clock
  /** False until what an earlier life left behind is handed in: until then nothing may be leased. */
  readonly open: boolean
}

interface Waiter {
  readonly amount: number
  readonly allowance: Allowance
  /** Monotonic milliseconds after which it is refused, even where others might still give back. */
  readonly until: number
  resolve(held: boolean): void
  reject(thrown: unknown): void
}

/** Milliseconds for which a request waits for others to give back what lies idle, and between two tries. */
const PATIENCE = 2_000
const RETRY = 100
/** Milliseconds after which the record counts as not answering. */
const LONGEST_ASK = 2_000
/** Milliseconds without asking ahead after that brought little or failed. */
const AHEAD_PAUSE = 1_000
/** Milliseconds after which a failed ask is granted nothing any more. */
const UNCERTAIN = 5_000

/** Whoever waits asks next, and hears of the trouble then. */
const ignore = (): void => {}

export class LeaseDesk {
  /** What the last answer left over at the record; undefined once that says nothing any more. */
  leftOver: number | undefined
  private readonly key: string
  private readonly lease: Lease
  private readonly office: LeaseOffice
  private readonly waiters: Waiter[] = []
  private running = false
  private slice = 0
  /** Asks that the record has not answered, late ones too. */
  private asks = 0
  private returning: Promise<void> | undefined
  private ahead: Promise<void> | undefined
  private aheadFrom = 0
  private certainFrom = 0
  private turn = 0

  constructor(key: string, lease: Lease, office: LeaseOffice) {
    this.key = key
    this.lease = lease
    this.office = office
  }

  /** True while something is under way that will change the lease, or somebody waits. */
  get busy(): boolean {
    return this.waiters.length > 0 || this.asks > 0 || this.returning !== undefined
  }

  /** True where requests wait: whoever comes now comes after them. */
  get queued(): boolean {
    return this.waiters.length > 0
  }

  /**
   * Holds `amount` as soon as the lease covers it, asking for more of it.
   * @param slice nano-dollars that would be welcome beyond what is needed.
   * @returns false where the record says that it does not fit. @throws Fault `unavailable`.
   */
  seek(amount: number, allowance: Allowance, slice: number): Promise<boolean> {
    this.slice = slice
    return new Promise((resolve, reject) => {
      this.waiters.push({ amount, allowance, until: this.office.clock.monotonic() + PATIENCE, resolve, reject })
      void this.run()
    })
  }

  /** Holds for those who wait, as far as the lease goes. */
  serve(): void {
    const { lease, waiters } = this
    for (let first = waiters[0]; first && lease.covers(first.amount, first.allowance); first = waiters[0]) {
      lease.held += first.amount
      waiters.shift()
      first.resolve(true)
    }
  }

  /**
   * Charges have been handed in. While an ask is out nobody knows which the record saw first: what it grants may have paid
   * for them already, so they count until it is answered.
   */
  forgive(): void {
    const { lease } = this
    if (this.asks === 0) lease.forgive()
    else if (lease.overdue) lease.doubtful = true
  }

  /** Asks in the background for a slice, where the record seems to have one. Nobody waits for it. */
  askAhead(allowance: Allowance, slice: number): void {
    const { office, lease } = this
    if (this.busy || this.ahead || !office.open || lease.outgrown(allowance)) return
    if (office.clock.monotonic() < this.aheadFrom || (this.leftOver ?? slice) < slice) return
    const want = slice - lease.idle
    const pause = (): void => {
      this.aheadFrom = office.clock.monotonic() + AHEAD_PAUSE
    }
    const asked = this.ask({ need: 0, want, limit: allowance.limit ?? 0, limitReset: allowance.limitReset ?? null })
    this.ahead = asked
      .then(({ granted }) => {
        if (granted * 2 < want) pause()
      }, pause)
      .finally(() => {
        this.ahead = undefined
      })
  }

  /**
   * Gives back what lies idle, at most so much. Where the record may know of more than that, and nothing else is left
   * here, all that it knows of goes back.
   * @param whole true where no charge waits to be handed in. @throws Fault `unavailable`; the idle part is gone all the same.
   */
  giveBack(whole: boolean, most?: number): Promise<void> {
    this.returning ??= this.send(whole, most).finally(() => {
      this.returning = undefined
    })
    return within(this.office.clock, LONGEST_ASK, this.returning)
  }

  private async send(whole: boolean, most: number | undefined): Promise<void> {
    const { lease, office } = this
    const amount = lease.takeIdle(most)
    const all = whole && lease.doubtful && lease.held === 0 && lease.left <= 0 && this.asks === 0
    try {
      await office.record.giveBack(office.node, this.key, all ? 'all' : amount, this.nextTurn())
      if (all) lease.doubtful = false
    } catch (thrown) {
      // It may have gone through, or may yet: what it names is not spent here again. A later grant makes it void.
      lease.doubtful = true
      throw unreachable(thrown)
    }
  }

  private async run(): Promise<void> {
    if (this.running) return
    this.running = true
    try {
      if (!this.office.open) throw new Error('not open yet')
      for (this.serve(); this.waiters.length > 0; this.serve()) await this.step()
    } catch (thrown) {
      for (const waiter of this.waiters.splice(0)) waiter.reject(unreachable(thrown))
    } finally {
      this.running = false
    }
  }

  private async step(): Promise<void> {
    const { lease, office } = this
    const before = this.ahead ?? this.returning
    if (before) return within(office.clock, LONGEST_ASK, before.catch(ignore))
    const [first, ...rest] = this.waiters
    if (lease.outgrown(first.allowance)) return this.giveBack(false)
    const need = lease.missing(first.amount)
    const want = need + rest.reduce((sum, { amount }) => sum + amount, this.slice)
    const { limit, limitReset } = first.allowance
    const ask = { need, want, limit: limit ?? Number.MAX_SAFE_INTEGER, limitReset: limitReset ?? null }
    const { granted, left, waitingFor } = await this.ask(ask)
    if (granted > 0 || this.waiters[0] !== first || lease.missing(first.amount) < need) return
    const patient = office.clock.monotonic() < first.until
    if (waitingFor > 0 && patient) return this.pause()
    if (!lease.doubtful || lease.held > 0) return this.refuse(first, left)
    // What is missing may have been granted to this very process by an ask whose answer was lost.
    if (this.asks > 0 || office.clock.monotonic() < this.certainFrom) throw new Error('it is not known what an ask has done')
    if (lease.untaken === 0) return this.giveBack(true)
    return patient ? this.pause() : this.refuse(first, left)
  }

  /** An answer that comes late is still taken in: what was granted is leased. */
  private ask(ask: Omit<LeaseAsk, 'key' | 'turn'>): Promise<LeaseAnswer> {
    const { lease, office, key } = this
    this.asks++
    const asked = office.record.lease(office.node, { ...ask, key, turn: this.nextTurn() }).then(
      (answer) => {
        this.asks--
        this.leftOver = answer.left
        if (answer.granted > 0) lease.grant(answer.granted, ask)
        this.forgive()
        this.serve()
        return answer
      },
      (thrown: unknown) => {
        this.asks--
        lease.doubtful = true
        this.certainFrom = office.clock.monotonic() + UNCERTAIN
        this.forgive()
        throw thrown
      },
    )
    return within(office.clock, LONGEST_ASK, asked)
  }

  /** Beginning with the time, so that it is later than any of an earlier life. */
  private nextTurn(): number {
    this.turn = Math.max(this.turn + 1, Math.floor(this.office.clock.now()) * 1000)
    return this.turn
  }

  private pause(): Promise<void> {
    return new Promise((resolve) => {
      this.office.clock.after(RETRY, resolve)
    })
  }

  /** Those who ask for more than is left are told so; whoever asks for less goes on. */
  private refuse(first: Waiter, left: number): void {
    const { waiters, lease } = this
    for (const waiter of waiters.splice(0)) {
      if (waiter === first || lease.missing(waiter.amount) > left) waiter.resolve(false)
      else waiters.push(waiter)
    }
  }
}

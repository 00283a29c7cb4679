/**
 * Calls the store of record for the lease of one key: one call at a time, waiting requests are served in the order of
 * their coming, and what lies idle goes back.
 */

import type { Clock } from '../core/clock.ts'
import { present } from '../core/json.ts'
import type { Allowance, HoldAsk } from '../ledger/allowance.ts'
import { fixedAsk } from '../ledger/credit.ts'
import type { LeaseAnswer, LeaseAsk, LeaseName, StoreOfRecord } from '../store/record.ts'
import { isSameAllowance, type Lease } from './lease.ts'
import { unreachable, within } from './record-calls.ts'

/** Parts that all accounts of a process share. */
export interface LeaseOffice {
  readonly node: string
  readonly record: Pick<StoreOfRecord, 'lease' | 'giveBack'>
  readonly clock: Clock
  /**
   * False until what an earlier life left behind is forwarded, and while the record may have set free what is leased here:
   * then nothing may be leased, nor held from a lease.
   */
  readonly open: boolean
  /** Rises whenever the record may have ended all leases of this process: grants of earlier calls are void. */
  readonly life: number
}

/** A lease of another process of this machine, which is a hold here. */
export interface Lending {
  /** Nano-dollars that would be welcome beyond the hold. */
  readonly more: number
  /** True: leases that lie idle elsewhere are recalled before the hold is shortened. */
  readonly recallsFirst: boolean
  /** Calls leases of further such processes back. @returns how many have yet to answer. */
  readonly others: () => number
}

interface Waiter {
  readonly ask: HoldAsk
  readonly allowances: readonly Allowance[]
  /** Monotonic milliseconds after which its hold is shortened, even where others might still give back. */
  readonly wholeUntil: number
  /** The same for its refusal. */
  readonly until: number
  /** Set where another process of this machine leases by this call: it waits by itself. */
  readonly lending?: Lending | undefined
  /** @param waitingFor processes that may still give back; of meaning to `lending` alone. */
  resolve(held: number | undefined, waitingFor?: number): void
  reject(thrown: unknown): void
}

/** Milliseconds for which a request waits for others to give back what lies idle: before it is refused, and before its hold is shortened. */
const MAX_WAIT_MS = 2_000
const MAX_WHOLE_WAIT_MS = 250
/** Milliseconds between two tries. */
const RETRY = 100
/** Milliseconds after which the record counts as not answering. */
const MAX_ASK_MS = 2_000
/** Milliseconds without a request ahead after one that brought little or failed. */
const AHEAD_PAUSE = 1_000
/** Milliseconds after which a failed call can no longer be granted. */
const UNCERTAIN = 5_000

/** Ignores the failure: the next waiting request calls the record itself and gets its error. */
const ignore = (): void => {}

export class LeaseClient {
  /** Rest at the record by the last answer; undefined once it is out of date. */
  leftOver: LeftOver | undefined
  private readonly name: LeaseName
  private readonly lease: Lease
  private readonly office: LeaseOffice
  private readonly waiters: Waiter[] = []
  private running = false
  private slice = 0
  /** Calls that the record has not answered, late ones too. */
  private readonly unanswered = new Set<Promise<unknown>>()
  private returning: Promise<void> | undefined
  private ahead: Promise<void> | undefined
  private aheadFrom = 0
  private certainFrom = 0
  private turn = 0

  constructor(name: LeaseName, lease: Lease, office: LeaseOffice) {
    this.name = name
    this.lease = lease
    this.office = office
  }

  /** True while something is under way that will change the lease, or a request waits. */
  get busy(): boolean {
    return this.waiters.length > 0 || this.asking || this.returning !== undefined
  }

  /** True while the record has not answered a call: its grant is not known yet. */
  get asking(): boolean {
    return this.unanswered.size > 0
  }

  /** True where requests wait: new ones come after them. */
  get queued(): boolean {
    return this.waiters.length > 0
  }

  /** True once a failed call can no longer be granted. */
  private get certain(): boolean {
    return this.office.clock.monotonic() >= this.certainFrom
  }

  /**
   * Holds what the lease covers in full, or what the record allows, and requests a larger lease.
   * @param slice nano-dollars to request beyond what is needed.
   * @returns undefined where not even the floor fits at the record. @throws Fault `unavailable`.
   */
  seek(ask: HoldAsk, allowances: readonly Allowance[], slice: number): Promise<number | undefined> {
    this.slice = slice
    const now = this.office.clock.monotonic()
    return new Promise((resolve, reject) => {
      this.waiters.push({ ask, allowances, wholeUntil: now + MAX_WHOLE_WAIT_MS, until: now + MAX_WAIT_MS, resolve, reject })
      void this.run()
    })
  }

  /**
   * The same for another process of this machine, which does the waiting for others itself.
   * @returns what is held, undefined where not even the floor fits now, and how many processes may still give back.
   * @throws Fault `unavailable`.
   */
  lend(
    ask: HoldAsk,
    allowances: readonly Allowance[],
    slice: number,
    lending: Lending,
  ): Promise<{ held: number | undefined; waitingFor: number }> {
    this.slice = slice
    const until = this.office.clock.monotonic()
    const wholeUntil = lending.recallsFirst ? until + MAX_WHOLE_WAIT_MS : until
    return new Promise((resolve, reject) => {
      const found = (held: number | undefined, waitingFor = 0): void => resolve({ held, waitingFor })
      this.waiters.push({ ask, allowances, wholeUntil, until, lending, resolve: found, reject })
      void this.run()
    })
  }

  /** Of these allowances, what the last answer and this lease leave together; without an answer, what lies idle here. */
  leftsFor(allowances: readonly Allowance[]): number[] {
    const { leftOver, lease } = this
    return allowances.map((allowance) => {
      const left = (leftOver && leftBy(leftOver, allowance)) ?? 0
      return left < 0 ? left : left + lease.idle
    })
  }

  /** Holds for waiting requests, as far as the lease goes. */
  serve(): void {
    const { lease, waiters, office } = this
    if (waiters.length > 0 && !office.open) return
    for (let first = waiters[0]; first && lease.covers(first.ask.full, first.allowances); first = waiters[0]) this.hold(first.ask.full)
  }

  /**
   * Charges have been forwarded. While a call is unanswered, it is not known which the record saw first: its grant may have paid
   * for them already, so they count until it is answered.
   */
  forgive(): void {
    const { lease } = this
    if (!this.asking) lease.forgive()
    else if (lease.overdue) lease.doubtful = true
  }

  /** Requests a slice in the background, where the record seems to have one. No request waits for it. */
  askAhead(allowances: readonly Allowance[], slice: number): void {
    const { office, lease } = this
    if (this.busy || this.ahead || !office.open || lease.outgrown(allowances)) return
    if (office.clock.monotonic() < this.aheadFrom || (this.leftOver?.least ?? slice) < slice) return
    const want = slice - lease.idle
    const pause = (): void => {
      this.aheadFrom = office.clock.monotonic() + AHEAD_PAUSE
    }
    const grant = this.ask({ ask: fixedAsk(0), allowances: limited(allowances), idle: lease.idle, more: want, recallsFirst: false })
    this.ahead = grant
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
   * @param whole true where no charge waits to be forwarded. @throws Fault `unavailable`; the idle part is gone all the same.
   */
  giveBack(whole: boolean, most?: number): Promise<void> {
    this.returning ??= this.send(whole, most).finally(() => {
      this.returning = undefined
    })
    return within(this.office.clock, MAX_ASK_MS, this.returning)
  }

  /** Resolves once every call has been answered, late ones too, and the return that is under way. */
  async quiet(): Promise<void> {
    await Promise.allSettled([...this.unanswered, this.returning])
  }

  private async send(whole: boolean, most: number | undefined): Promise<void> {
    const { lease, office } = this
    const amount = lease.takeIdle(most)
    const all = whole && lease.doubtful && lease.held === 0 && lease.left <= 0 && !this.asking
    try {
      await office.record.giveBack(office.node, this.name, all ? 'all' : amount, this.nextTurn())
      // A call that failed a moment ago may still be granted.
      if (all && this.certain) lease.doubtful = false
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
      for (this.serve(); this.waiters.length > 0; this.serve()) {
        if (!this.office.open) throw new Error('not open yet')
        await this.step()
      }
    } catch (thrown) {
      for (const waiter of this.waiters.splice(0)) waiter.reject(unreachable(thrown))
    } finally {
      this.running = false
    }
  }

  private async step(): Promise<void> {
    const { lease, office } = this
    const before = this.ahead ?? this.returning
    if (before) return within(office.clock, MAX_ASK_MS, before.catch(ignore))
    const [first, ...rest] = this.waiters
    if (first === undefined) return
    if (lease.outgrown(first.allowances)) return this.giveBack(false)
    const { spare } = lease
    const more = rest.reduce((sum, { ask, lending }) => sum + ask.full + (lending?.more ?? 0), this.slice + (first.lending?.more ?? 0))
    const isBefore = (deadline: number): boolean => office.clock.monotonic() < deadline
    const wanted = { ask: first.ask, allowances: limited(first.allowances), idle: spare, more, recallsFirst: isBefore(first.wholeUntil) }
    const { hold, lefts, waitingFor } = await this.ask(wanted, first)
    if (hold !== null || this.waiters[0] !== first || lease.spare > spare) return
    const left = Math.min(...lefts)
    // Under an overspent allowance nothing may be held, also from an earlier lease.
    if (left < 0 && lease.idle > 0) return this.giveBack(false)
    const mayWait = isBefore(first.until)
    const waiting = waitingFor + (first.lending?.others() ?? 0)
    if (waiting > 0 && mayWait) return this.pause(first)
    if (!lease.doubtful || lease.held > 0) return this.refuse(first, Math.max(0, left), waiting)
    // The missing credit may have been granted to this process by a call whose answer was lost.
    if (this.asking || !this.certain) throw new Error('it is not known what an ask has done')
    if (lease.untaken === 0) return this.giveBack(true)
    return mayWait ? this.pause(first) : this.refuse(first, Math.max(0, left), waiting)
  }

  /**
   * An answer that comes late is still taken in: what was granted is leased.
   * @param first the request that the call is for: it holds what the record allows, if the lease still covers that.
   */
  private ask(ask: Omit<LeaseAsk, 'key' | 'payer' | 'turn'>, first?: Waiter): Promise<LeaseAnswer> {
    const { lease, office, name } = this
    const { allowances } = ask
    const { life } = office
    const call: Promise<LeaseAnswer> = office.record.lease(office.node, { ...ask, ...name, turn: this.nextTurn() }).then(
      (answer) => {
        const { granted, hold, lefts } = answer
        this.unanswered.delete(call)
        if (life !== office.life || !office.open) {
          lease.doubtful = true
          this.forgive()
          throw new Error('granted to an earlier life')
        }
        this.leftOver = { allowances, lefts, least: Math.max(0, Math.min(...lefts)) }
        // The grant is within the limits of all allowances, so earlier leases of this process are, too.
        if (hold !== null && Math.min(...lefts) >= 0) lease.grant(granted, allowances)
        else lease.add(granted)
        this.forgive()
        if (first && hold !== null && this.waiters[0] === first && lease.spare >= hold) this.holdOrCall(first, hold, ask.recallsFirst)
        this.serve()
        return answer
      },
      (thrown: unknown) => {
        this.unanswered.delete(call)
        lease.doubtful = true
        this.certainFrom = office.clock.monotonic() + UNCERTAIN
        this.forgive()
        throw thrown
      },
    )
    this.unanswered.add(call)
    return within(office.clock, MAX_ASK_MS, call)
  }

  /** Beginning with the time, so that it is later than any of an earlier life. */
  private nextTurn(): number {
    this.turn = Math.max(this.turn + 1, Math.floor(this.office.clock.now()) * 1000)
    return this.turn
  }

  private pause({ wholeUntil }: Waiter): Promise<void> {
    const { clock } = this.office
    const whole = wholeUntil - clock.monotonic()
    return new Promise((resolve) => {
      clock.after(whole > 0 ? Math.min(RETRY, whole) : RETRY, resolve)
    })
  }

  /** A hold that would be shortened waits for what others of this machine give back: the request comes again. */
  private holdOrCall({ ask, lending }: Waiter, amount: number, recallsFirst: boolean): void {
    const waitingFor = lending && recallsFirst && amount < ask.full ? lending.others() : 0
    if (waitingFor > 0) this.waiters.shift()?.resolve(undefined, waitingFor)
    else this.hold(amount)
  }

  /** Holds for the request that comes first. */
  private hold(amount: number): void {
    this.lease.held += amount
    this.waiters.shift()?.resolve(amount)
  }

  /** Refuses waiting requests whose floor is more than is left; the others go on. */
  private refuse(first: Waiter, left: number, waiting: number): void {
    const { waiters, lease } = this
    for (const waiter of waiters.splice(0)) {
      if (waiter === first) waiter.resolve(undefined, waiting)
      else if (lease.missing(waiter.ask.floor) > left) waiter.resolve(undefined, waiting + (waiter.lending?.others() ?? 0))
      else waiters.push(waiter)
    }
  }
}

/** Rest of each of these allowances according to the record, in nano-dollars. */
export interface LeftOver {
  readonly allowances: readonly Allowance[]
  readonly lefts: readonly number[]
  /** The least of them, 0 where one is overspent. */
  readonly least: number
}

/** Rest of one allowance; undefined where the answer was for others. */
export function leftBy({ allowances, lefts }: LeftOver, allowance: Allowance): number | undefined {
  return lefts[allowances.findIndex((known) => isSameAllowance(known, allowance))]
}

function limited(allowances: readonly Allowance[]): Allowance[] {
  return allowances.filter(({ limit }) => limit !== null).map(({ limit, limitReset, level }) => present({ limit, limitReset, level }))
}

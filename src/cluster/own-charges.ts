/** The shown spend of a key: the sum that was last read from the record, plus what this process has charged since. */
import { cutNano, Total } from '../core/money.ts'
import { windowStarts } from '../core/windows.ts'
import type { WindowUsage } from '../ledger/allowance.ts'
import { SpendWindows } from '../ledger/credit.ts'
import type { LimitReset } from '../plugin-api/key.ts'
import type { Balance } from '../store/record.ts'

const DAY_MS = 86_400_000
const NOTHING: Omit<Balance, 'key' | 'leased'> = { spent: 0n, daily: 0n, weekly: 0n, monthly: 0n }

export class OwnCharges {
  /** Nano-dollars charged here that the record has not taken. */
  private readonly untaken = new Total()
  /** The same by the day of the charge. */
  private readonly days = new Map<number, bigint>()
  private read = NOTHING
  private readAt = 0
  /** Charges that what was read does not contain. */
  private since = new SpendWindows()
  private readonly spentSince = new Total()

  /** @param at moment of the charge, milliseconds since the epoch. */
  note(cost: number, at: number): void {
    this.untaken.add(cost)
    this.count(dayStart(at), BigInt(cost))
    this.spentSince.add(cost)
    this.since.charge(cost, at)
  }

  /** The record has it now; what was read of it before has not. */
  taken(cost: number, at: number): void {
    this.untaken.add(-Math.min(cost, this.untaken.cut))
    this.count(dayStart(at), -BigInt(cost))
  }

  /** @param balance read while nothing was being forwarded, so that it has none of what is untaken. */
  learn(balance: Balance, now: number): void {
    this.read = balance
    this.readAt = now
    this.spentSince.clear()
    this.spentSince.add(this.untaken.exact)
    this.since = new SpendWindows()
    for (const [day, cost] of this.days) this.since.add(cost, day)
  }

  /** True where charges wait to be forwarded. */
  get waits(): boolean {
    return this.untaken.exact !== 0n
  }

  get settled(): bigint {
    return this.read.spent + this.spentSince.exact
  }

  usage(now: number): WindowUsage {
    const own = this.since.usage(now)
    const then = windowStarts(this.readAt)
    const starts = windowStarts(now)
    const sum = (window: LimitReset): bigint => own[window] + (then[window] === starts[window] ? this.read[window] : 0n)
    return { daily: sum('daily'), weekly: sum('weekly'), monthly: sum('monthly') }
  }

  counted(reset: LimitReset | null | undefined, now: number): bigint {
    return reset ? this.usage(now)[reset] : this.settled
  }

  /** The same for a comparison with a limit: see `Total.cut`. */
  cut(reset: LimitReset | null | undefined, now: number): number {
    return cutNano(this.counted(reset, now))
  }

  private count(day: number, cost: bigint): void {
    const sum = (this.days.get(day) ?? 0n) + cost
    if (sum > 0n) this.days.set(day, sum)
    else this.days.delete(day)
  }
}

function dayStart(at: number): number {
  return Math.floor(at / DAY_MS) * DAY_MS
}

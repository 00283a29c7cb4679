/** What is shown of a key's spend: what the record said when it was last read, and what this process has charged since. */
import { SpendWindows, type WindowUsage, windowStarts } from '../ledger/spend-windows.ts'
import type { LimitReset } from '../plugin-api/key.ts'
import type { Balance } from '../store/record.ts'

const DAY_MS = 86_400_000
const NOTHING: Omit<Balance, 'key'> = { spent: 0, daily: 0, weekly: 0, monthly: 0, leased: 0 }

export class OwnCharges {
  /** Nano-dollars charged here that the record has not taken. */
  untaken = 0
  /** The same by the day of the charge. */
  private readonly days = new Map<number, number>()
  private read: Omit<Balance, 'key'> = NOTHING
  private readAt = 0
  /** Charges that what was read does not contain. */
  private since = new SpendWindows()
  private spentSince = 0

  /** @param at moment of the charge, milliseconds since the epoch. */
  note(cost: number, at: number): void {
    this.untaken = capped(this.untaken + cost)
    this.count(dayOf(at), cost)
    this.spentSince = capped(this.spentSince + cost)
    this.since.charge(cost, at)
  }

  /** The record has it now; what was read of it before has not. */
  taken(cost: number, at: number): void {
    this.untaken = Math.max(0, this.untaken - cost)
    this.count(dayOf(at), -cost)
  }

  /** @param balance read while nothing was being handed in, so that it has none of what is untaken. */
  learn(balance: Balance, now: number): void {
    this.read = balance
    this.readAt = now
    this.spentSince = this.untaken
    this.since = new SpendWindows()
    for (const [day, cost] of this.days) this.since.add(cost, day)
  }

  get settled(): number {
    return capped(this.read.spent + this.spentSince)
  }

  usage(now: number): WindowUsage {
    const own = this.since.usage(now)
    const then = windowStarts(this.readAt)
    const starts = windowStarts(now)
    const sum = (window: LimitReset): number => capped(own[window] + (then[window] === starts[window] ? this.read[window] : 0))
    return { daily: sum('daily'), weekly: sum('weekly'), monthly: sum('monthly') }
  }

  counted(reset: LimitReset | null | undefined, now: number): number {
    return reset ? this.usage(now)[reset] : this.settled
  }

  private count(day: number, cost: number): void {
    const sum = (this.days.get(day) ?? 0) + cost
    if (sum > 0) this.days.set(day, capped(sum))
    else this.days.delete(day)
  }
}

function dayOf(at: number): number {
  return Math.floor(at / DAY_MS) * DAY_MS
}

function capped(sum: number): number {
  return Math.min(sum, Number.MAX_SAFE_INTEGER)
}

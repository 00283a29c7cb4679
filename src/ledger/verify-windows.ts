/** Checks the sums of the current day, week and month against the rows from which they can be rebuilt. */
import { Total } from '../core/money.ts'
import type { LimitReset } from '../plugin-api/key.ts'
import { windowStarts } from './spend-windows.ts'
import type { HoldRow, RecordedWindows, SettleRow } from './types.ts'

const WINDOWS: readonly LimitReset[] = ['daily', 'weekly', 'monthly']
const TICKS_PER_MS = 4096

export class WindowCheck {
  private readonly before: RecordedWindows
  private readonly starts: Readonly<Record<LimitReset, number>>
  private readonly sums: Readonly<Record<LimitReset, Map<string, Total>>> = { daily: new Map(), weekly: new Map(), monthly: new Map() }

  /** @param before as they were before the first row is read. */
  constructor(before: RecordedWindows) {
    this.before = before
    this.starts = windowStarts(before.at)
  }

  add({ seq, key, payer }: HoldRow, { at, cost }: SettleRow): void {
    const moment = at > 0 ? at : Math.floor(seq / TICKS_PER_MS)
    for (const window of WINDOWS) {
      if (moment < this.starts[window]) continue
      this.count(window, key, cost)
      if (payer !== undefined) this.count(window, payer, cost)
    }
  }

  /**
   * One line each. A window that ended during the walk is not checked.
   * @param after as they were after the last row was read.
   */
  problems(after: RecordedWindows): string[] {
    const starts = windowStarts(after.at)
    const found: string[] = []
    for (const window of WINDOWS) {
      if (starts[window] !== this.starts[window]) continue
      for (const key of new Set([...this.sums[window].keys(), ...after.of.keys()])) {
        const begins = after.of.get(key)?.starts[window] ?? 0
        const least = this.recorded(this.before, key, window)
        const most = this.recorded(after, key, window)
        const here = this.sums[window].get(key)?.exact ?? 0n
        if (begins > starts[window])
          found.push(`key ${key}: its ${window} window begins at ${new Date(begins).toISOString()}, ahead of now`)
        else if (here < least || here > most)
          found.push(`key ${key}: settlements of its ${window} window sum to ${here}, ${most} are recorded`)
      }
    }
    return found
  }

  /** 0 where another window is recorded: one that has ended. */
  private recorded({ of }: RecordedWindows, key: string, window: LimitReset): bigint {
    const known = of.get(key)
    return known && known.starts[window] === this.starts[window] ? known.sums[window] : 0n
  }

  private count(window: LimitReset, key: string, cost: number): void {
    const sum = this.sums[window].get(key)
    if (sum) sum.add(cost)
    else this.sums[window].set(key, new Total(cost))
  }
}

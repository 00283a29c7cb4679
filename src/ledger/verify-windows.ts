/** Checks the sums of the current day, week and month against the rows from which they can be rebuilt, with those that a check has read before. */
import { Total } from '../core/money.ts'
import type { LimitReset } from '../plugin-api/key.ts'
import { windowStarts } from './spend-windows.ts'
import type { HoldRow, RecordedWindows, SettleRow } from './types.ts'

const WINDOWS: readonly LimitReset[] = ['daily', 'weekly', 'monthly']
const TICKS_PER_MS = 4096

/** What an earlier check has read of each window that it knew. */
export interface EarlierWindows {
  /** When that check ended, by the clock that decides on the windows: one that began later has nothing of what it read. */
  readonly at: number
  readonly of: Readonly<Partial<Record<LimitReset, WindowSums>>>
}

interface WindowSums {
  readonly start: number
  /** By account, nano-dollars. */
  readonly sums: Readonly<Record<string, string>>
}

export class WindowCheck {
  private readonly before: RecordedWindows
  private readonly starts: Readonly<Record<LimitReset, number>>
  /** Without the windows of which an earlier check has read an unknown part. */
  private readonly sums = new Map<LimitReset, Map<string, Total>>()

  /** @param before as they were before the first row is read. @param earlier absent: all rows are read. */
  constructor(before: RecordedWindows, earlier?: EarlierWindows) {
    this.before = before
    this.starts = windowStarts(before.at)
    for (const window of WINDOWS) {
      const read = earlier?.of[window]
      if (read?.start === this.starts[window])
        this.sums.set(window, new Map(Object.entries(read.sums).map(([key, sum]) => [key, new Total(BigInt(sum))])))
      else if (!earlier || earlier.at < this.starts[window]) this.sums.set(window, new Map())
    }
  }

  /** What has been added until now, for a later check. */
  soFar(): EarlierWindows['of'] {
    const of: Partial<Record<LimitReset, WindowSums>> = {}
    for (const [window, sums] of this.sums)
      of[window] = { start: this.starts[window], sums: Object.fromEntries([...sums].map(([key, { exact }]) => [key, String(exact)])) }
    return of
  }

  add({ seq, key, payer }: HoldRow, { at, cost }: SettleRow): void {
    const moment = at > 0 ? at : Math.floor(seq / TICKS_PER_MS)
    for (const [window, sums] of this.sums) {
      if (moment < this.starts[window]) continue
      count(sums, key, cost)
      if (payer !== undefined) count(sums, payer, cost)
    }
  }

  /**
   * One line each. A window that ended during the walk is not checked.
   * @param after as they were after the last row was read.
   */
  problems(after: RecordedWindows): string[] {
    const starts = windowStarts(after.at)
    const found: string[] = []
    for (const [window, sums] of this.sums) {
      if (starts[window] !== this.starts[window]) continue
      for (const key of new Set([...sums.keys(), ...after.of.keys()])) {
        const begins = after.of.get(key)?.starts[window] ?? 0
        const least = this.recorded(this.before, key, window)
        const most = this.recorded(after, key, window)
        const here = sums.get(key)?.exact ?? 0n
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
}

function count(sums: Map<string, Total>, key: string, cost: number): void {
  const sum = sums.get(key)
  if (sum) sum.add(cost)
  else sums.set(key, new Total(cost))
}

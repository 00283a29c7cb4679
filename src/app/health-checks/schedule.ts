/**
 * When checks are sent: never two of one target within `every`, not by several processes at once, and few of all targets together. A check
 * waits a moment, and is left to another process that announces the same one meanwhile; of those that begin in the same moment, the counters
 * that all share let one through.
 */
import type { Shared } from '../../cluster/shared/index.ts'
import type { Clock, Timer } from '../../core/clock.ts'

/** Milliseconds that a check waits at least, and at most. */
const SOONEST = 50
const LATEST = 1_000
/** Checks of all targets of this process in a minute. */
const MAX_PER_MINUTE = 10
const MINUTE = 60_000
/** Targets that are remembered; of more, the one that was checked longest ago is forgotten. */
const MAX_TARGETS = 1_000
const MAX_NAME_LENGTH = 1_024

export type CheckShared = Pick<Shared, 'counters' | 'isDegraded'> & { pubSub: Pick<Shared['pubSub'], 'publish' | 'subscribe' | 'isSilent'> }

export class CheckSchedule {
  private readonly clock: Clock
  private readonly shared: CheckShared
  /** When each target was checked last, here or by another process: the one checked last stands last. Monotonic milliseconds. */
  private readonly checkedAt = new Map<string, number>()
  private readonly waiting = new Map<string, Timer>()
  /** When the last checks of this process were sent. */
  private sent: number[] = []

  constructor(clock: Clock, shared: CheckShared) {
    this.clock = clock
    this.shared = shared
    shared.pubSub.subscribe('check', (target) => {
      if (typeof target !== 'string' || target === '' || target.length > MAX_NAME_LENGTH) return
      this.waiting.get(target)?.cancel()
      this.waiting.delete(target)
      this.note(target)
    })
  }

  /** @param every milliseconds between two checks of the target. @param send sends it; not called where there are enough of them. */
  request(target: string, every: number, send: () => void): void {
    if (this.waiting.has(target) || !this.mayCheck(target, every)) return
    const wait = SOONEST + Math.floor(this.clock.random() * (LATEST - SOONEST))
    const timer = this.clock.after(wait, () => {
      this.waiting.delete(target)
      this.note(target)
      this.sent.push(this.clock.monotonic())
      this.shared.pubSub.publish('check', target)
      if (this.isAlone()) send()
      else void this.claim(target, every).then((isOurs) => isOurs && send())
    })
    this.waiting.set(target, timer)
  }

  close(): void {
    for (const timer of this.waiting.values()) timer.cancel()
    this.waiting.clear()
  }

  /** True where no other process hears of a check, or none can be reached now: each checks for itself then. */
  private isAlone(): boolean {
    return this.shared.pubSub.isSilent === true || this.shared.isDegraded()
  }

  /** @returns true for one process in each span of `every`. */
  private async claim(target: string, every: number): Promise<boolean> {
    const span = Math.floor(this.clock.now() / every)
    try {
      return (await this.shared.counters.take({ name: `check:${target}:${span}`, perMinute: 1, take: 1 })).taken
    } catch {
      return true
    }
  }

  private mayCheck(target: string, every: number): boolean {
    const now = this.clock.monotonic()
    const last = this.checkedAt.get(target)
    if (last !== undefined && now - last < every) return false
    this.sent = this.sent.filter((at) => now - at < MINUTE)
    return this.sent.length + this.waiting.size < MAX_PER_MINUTE
  }

  private note(target: string): void {
    this.checkedAt.delete(target)
    this.checkedAt.set(target, this.clock.monotonic())
    if (this.checkedAt.size <= MAX_TARGETS) return
    for (const oldest of this.checkedAt.keys()) {
      this.checkedAt.delete(oldest)
      return
    }
  }
}

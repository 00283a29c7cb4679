/** A store of record that many lives share, each under names of its own; and the time that all of them live in. */
import type { StoreOfRecord } from '../../../src/store/record.ts'
import { ScriptedRecord } from '../../cluster/scripted-record.ts'
import { FakeClock, turn } from '../clock.ts'

/** A clock whose time on the wall can leap, while timers wait as before. */
export class WallClock extends FakeClock {
  private leapt = 0

  override now(): number {
    return super.now() + this.leapt
  }

  leap(ms: number): void {
    this.leapt += ms
  }
}

type WakeSource = StoreOfRecord & { onWake?(hear: () => void): void }

/** A process's way to the record, and what becomes of it when the process is no more. */
export interface Way {
  readonly record: WakeSource
  gone(): void
}

/** Turns of the event loop without a call under way, after which nothing more is coming. */
const QUIET_TURNS = 4

export class Market {
  readonly clock: WallClock
  readonly record: StoreOfRecord
  private readonly drawWay: () => Way
  private running = 0
  private lives = 0

  /** @param drawWay a process's way to the record: a channel, or connections. */
  constructor(record: StoreOfRecord, clock: WallClock, drawWay: () => Way) {
    this.record = this.counted(record)
    this.clock = clock
    this.drawWay = drawWay
  }

  /** Begins the names of one life. */
  nextName(): string {
    this.lives++
    return `life ${this.lives}`
  }

  /** A record that a test may hold up, with the function that wakes its pulses. */
  way(): ScriptedRecord & { onWake(wake: () => void): void; gone(): void } {
    const { record, gone } = this.drawWay()
    const onWake = (hear: () => void): void => record.onWake?.(hear)
    return Object.assign(new ScriptedRecord(this.clock, this.counted(record)), { onWake, gone })
  }

  /** Waits until no call is under way and nothing follows from the last ones. */
  async quiet(): Promise<void> {
    for (let turns = 0; turns < QUIET_TURNS; turns++) {
      await turn()
      if (this.running > 0) turns = 0
    }
  }

  /** Lets time pass, a quarter of a second at a time: calls need none of it. */
  async pass(ms: number): Promise<void> {
    await this.quiet()
    for (let left = ms; left > 0; left -= 250) {
      await this.clock.advance(Math.min(250, left))
      await this.quiet()
    }
  }

  private counted<R extends WakeSource>(record: R): R {
    const count = async (work: () => unknown): Promise<unknown> => {
      this.running++
      try {
        return await work()
      } finally {
        this.running--
      }
    }
    return new Proxy(record, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        if (name === 'onWake' || name === 'close') return value.bind(target)
        return (...args: unknown[]) => count(() => Reflect.apply(value, target, args))
      },
    })
  }
}

/**
 * Refuses requests before their bodies are read while the process has more work than time, so that those that are admitted are
 * served quickly. Everything that is ready waits for the turn of the event loop that is under way; so once a turn has worked for
 * long enough, the requests that come later in it are refused. That keeps the turns short whatever the load is, and a turn
 * admits as much as it can serve.
 */
import { performance } from 'node:perf_hooks'
import { Fault } from '../core/faults.ts'

/** The event loop as Node shows it. Milliseconds. */
export interface LoopSource {
  now(): number
  /** Time in all that the loop has waited for something to happen. */
  idle(): number
  /** Processor time in all that the loop's thread has used: what other processes take from the machine does not count. */
  cpu(): number
  /** Calls `fn` at the end of every turn. @returns what ends that. */
  everyTurn(fn: () => void): () => void
}

/**
 * Milliseconds of processor time in one turn after which it admits no further request. A request waits for about four turns on its way,
 * and under overload a turn is somewhat longer than this. With a long body: two or three bodies of 330 KB. A short request costs
 * nearly as much to refuse as to serve, so refusing it helps only where the turns have become long for people.
 */
const TURN_BUDGET = 5
const TURN_BUDGET_SHORT = 25

/** Bytes up to which a body is a short one. */
const SHORT_BODY = 64 * 1024

/** Share of the budget that the turn before must have used: a pause of the collector makes one turn long, overload makes all of them so. */
const ALREADY_LONG = 0.6

/** No turn that is shorter is looked at more closely; milliseconds. */
const LONG_TURN = ALREADY_LONG * TURN_BUDGET

/**
 * A process is saturated when its loop waited for less than a twentieth of two windows in a row; a window is at least so many
 * milliseconds long. One long turn alone, such as a body of 32 MB or a pause of the collector, is no overload.
 */
const WINDOW = 250
const SATURATED = 0.95
const WINDOWS = 2

export class Overload {
  private readonly loop: LoopSource
  private readonly refused: () => void
  private readonly stop: () => void
  /** End of the last turn, while the process is saturated; the processor time then, where that turn was a long one. */
  private turnAt = 0
  private turnCpu = Number.POSITIVE_INFINITY
  /** Processor time that the turn before used; 0 where it was short. */
  private lastTurn = 0
  /** End of the last window. */
  private windowAt: number
  private windowIdle: number
  /** Saturated windows in a row. */
  private saturated = 0

  /** @param refused called for every request that is refused. */
  constructor(loop: LoopSource, refused: () => void) {
    this.loop = loop
    this.refused = refused
    this.windowAt = loop.now()
    this.windowIdle = loop.idle()
    this.stop = loop.everyTurn(() => this.endTurn())
  }

  /**
   * @param bytes of the body that is announced; undefined where its length is not known.
   * @throws Fault 503 with Retry-After where the request would come too late.
   */
  admit(bytes: number | undefined): void {
    if (this.saturated < WINDOWS) return
    const budget = bytes !== undefined && bytes <= SHORT_BODY ? TURN_BUDGET_SHORT : TURN_BUDGET
    if (this.lastTurn < ALREADY_LONG * budget || this.loop.cpu() - this.turnCpu <= budget) return
    this.refused()
    throw new Fault('unavailable', { message: 'Service temporarily unavailable: the gateway is overloaded', retryAfter: 1 })
  }

  close(): void {
    this.stop()
  }

  private endTurn(): void {
    const { loop } = this
    const now = loop.now()
    const elapsed = now - this.windowAt
    if (elapsed >= WINDOW) {
      const idle = loop.idle()
      this.saturated = elapsed - (idle - this.windowIdle) >= SATURATED * elapsed ? this.saturated + 1 : 0
      this.windowAt = now
      this.windowIdle = idle
    }
    const { turnAt } = this
    this.turnAt = now
    // Processor time costs more to read than the other clocks, and passes no faster.
    if (this.saturated < WINDOWS || now - turnAt < LONG_TURN) {
      this.turnCpu = Number.POSITIVE_INFINITY
      this.lastTurn = 0
      return
    }
    const cpu = loop.cpu()
    this.lastTurn = Math.max(0, cpu - this.turnCpu)
    this.turnCpu = cpu
  }
}

export const systemLoop: LoopSource = {
  now: () => performance.now(),
  idle: () => performance.nodeTiming.idleTime,
  cpu() {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  },
  everyTurn(fn) {
    let ended = false
    const turn = (): void => {
      if (ended) return
      fn()
      next()
    }
    // Unreferenced immediates run at the end of each turn and make none by themselves (lib/internal/timers.js, Immediate.unref).
    const next = (): void => {
      setImmediate(turn).unref()
    }
    next()
    return () => {
      ended = true
    }
  },
}

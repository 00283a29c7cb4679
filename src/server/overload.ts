/**
 * Keeps what is admitted fast under overload, by two rules.
 *
 * Long bodies are worked on in the order in which they have arrived, a few of them per turn of the event loop: so their texts stay in
 * the processor's caches from the parse to the provider's request, and callers with short ones get their turn in between. Once
 * some have been waiting without a pause, requests with a long body are refused while enough of them wait already.
 *
 * Everything that is ready waits for the turn that is under way. So once a turn of a saturated process has worked for too long, the
 * requests that come later in it are refused, whatever their length.
 */
import { performance } from 'node:perf_hooks'
import { Fault } from '../core/faults.ts'
import { reading, type Tallies } from '../core/metrics.ts'
import type { Cancel } from '../plugin-api/exchange.ts'

const bodiesWaiting = reading('gauge', 'bodies_waiting', 'Long request bodies that have arrived and wait for their turn.')

/** The event loop as Node shows it. Milliseconds. */
export interface LoopSource {
  now(): number
  /** Time in all that the loop has waited for something to happen. */
  idle(): number
  /** Processor time in all that the loop's thread has used: what other processes take from the machine does not count. */
  cpu(): number
  /** Calls `fn` at the end of every turn. @returns what ends that. */
  everyTurn(fn: () => void): () => void
  /** Calls `fn` at the end of this turn, or of the next one. */
  soon(fn: () => void): void
}

/** Bytes up to which a body is a short one. */
const SHORT_BODY = 64 * 1024

/** Bytes of long bodies that are worked on in one turn; one of them whatever its length. */
const TURN_BYTES = 768 * 1024

/** Milliseconds for which long bodies have to wait without a pause before some are refused: a burst is served in full. */
const BURST = 500
/** The same of so many bodies that what has come already takes about as long. */
const LARGE_BURST = 64
const LARGE_BURST_MS = 100

/** Long bodies, waiting or on their way, above which further ones are refused then: some 15 ms of work. */
const MOST_WAITING = 6

/** Milliseconds for which a body counts as on its way: a caller that sends slowly takes no place. */
const ON_THE_WAY = 100

/** Milliseconds after the last refusal for which the limit stays in force: a short pause does not lift it. */
const REFUSING = 1_000

/**
 * Milliseconds of processor time in one turn after which it admits no further request. A request waits for about four turns on
 * its way. A short request costs nearly as much to refuse as to serve, so refusing helps only where turns have become long for people.
 */
const TURN_BUDGET = 25

/** Milliseconds that the turn before must have used: a pause of the collector makes one turn long, overload makes all of them so. */
const LONG_TURN = 15

/**
 * A process is saturated when its loop waited for less than a twentieth of two windows in a row; a window is at least so many
 * milliseconds long. One long turn alone, such as a body of 32 MB or a pause of the collector, is no overload.
 */
const WINDOW = 250
const SATURATED = 0.95
const WINDOWS = 2

/** One object for all: the stack of an error costs more than the rest of a refusal. */
export const OVERLOADED = new Fault('unavailable', { message: 'Service temporarily unavailable: the gateway is overloaded', retryAfter: 1 })

interface Waiting {
  readonly bytes: number
  readonly go: () => void
}

export class Overload {
  private readonly loop: LoopSource
  private readonly refused: () => void
  private readonly end: () => void
  private stopped: Fault | undefined
  private readonly waiting: Waiting[] = []
  /** When the reading of long bodies began that have not arrived yet, oldest first. */
  private readonly coming: number[] = []
  /** Bytes of long bodies that this turn works on. */
  private turnBytes = 0
  private scheduled = false
  /** Since when some long body has been waiting; undefined where none is. */
  private waitingSince: number | undefined
  private refusingUntil = 0
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
  /** True while the process has no time left; a short body is refused only then. */
  isSaturated = false
  /** Bytes up to which a body is a short one: it waits for no other. */
  readonly short = SHORT_BODY

  /** @param refused called for every request that is refused. */
  constructor(loop: LoopSource, tallies: Tallies, refused: () => void) {
    this.loop = loop
    this.refused = refused
    this.windowAt = loop.now()
    this.windowIdle = loop.idle()
    this.end = loop.everyTurn(() => this.endTurn())
    tallies.of(bodiesWaiting).from(() => this.waiting.length)
  }

  /**
   * @param bytes of the body that is announced; undefined where its length is not known, or it is handed on as it comes.
   * @returns what the request is to be answered with, where it would come too late, or where no new work is taken.
   */
  refusal(bytes: number | undefined): Fault | undefined {
    if (this.stopped) return this.stopped
    if (!(this.inLongTurn() || (bytes !== undefined && bytes > SHORT_BODY && this.behindOthers()))) return undefined
    this.refused()
    return OVERLOADED
  }

  /** From now on every request is refused with this. */
  stop(fault: Fault): void {
    this.stopped = fault
  }

  /** False while no request with a short body is refused. */
  get refusesShort(): boolean {
    return this.isSaturated || this.stopped !== undefined
  }

  /** A long body is about to be read. */
  expect(): void {
    this.coming.push(this.loop.now())
  }

  /**
   * A long body has arrived, and work on it begins.
   * @param bytes of the body. @param cancel ends the wait before its time, and gives its place to the next.
   * @returns a promise where others come first.
   */
  begin(bytes: number, cancel: Cancel): Promise<void> | undefined {
    this.coming.shift()
    this.schedule()
    if (this.waiting.length === 0 && this.fits(bytes)) {
      this.turnBytes += bytes
      return undefined
    }
    this.waitingSince ??= this.loop.now()
    return new Promise((resolve) => {
      const entry: Waiting = {
        bytes,
        go: () => {
          untie()
          resolve()
        },
      }
      this.waiting.push(entry)
      const untie = cancel.onAbort(() => {
        this.waiting.splice(this.waiting.indexOf(entry), 1)
        resolve()
      })
    })
  }

  /** For an operator who watches: long bodies that wait for their turn, and whether the process has no time left. */
  get state(): { readonly waiting: number; readonly saturated: boolean } {
    return { waiting: this.waiting.length, saturated: this.isSaturated }
  }

  close(): void {
    this.end()
  }

  private inLongTurn(): boolean {
    return this.isSaturated && this.lastTurn >= LONG_TURN && this.loop.cpu() - this.turnCpu > TURN_BUDGET
  }

  private behindOthers(): boolean {
    const now = this.loop.now()
    const { coming } = this
    while (coming[0] !== undefined && coming[0] < now - ON_THE_WAY) coming.shift()
    const waits = this.waiting.length
    const longest = waits >= LARGE_BURST ? LARGE_BURST_MS : BURST
    const lasting = this.waitingSince !== undefined && now - this.waitingSince >= longest
    if (!(lasting || now < this.refusingUntil) || waits + coming.length < MOST_WAITING) return false
    this.refusingUntil = now + REFUSING
    return true
  }

  private fits(bytes: number): boolean {
    return this.turnBytes === 0 || this.turnBytes + bytes <= TURN_BYTES
  }

  private schedule(): void {
    if (this.scheduled) return
    this.scheduled = true
    this.loop.soon(this.nextTurn)
  }

  private readonly nextTurn = (): void => {
    const { waiting } = this
    this.scheduled = false
    this.turnBytes = 0
    for (let first = waiting[0]; first && this.fits(first.bytes); first = waiting[0]) {
      const { bytes, go } = first
      waiting.shift()
      this.turnBytes += bytes
      go()
    }
    if (waiting.length === 0) this.waitingSince = undefined
    if (this.turnBytes > 0) this.schedule()
  }

  private endTurn(): void {
    const { loop } = this
    const now = loop.now()
    const elapsed = now - this.windowAt
    if (elapsed >= WINDOW) {
      const idle = loop.idle()
      this.saturated = elapsed - (idle - this.windowIdle) >= SATURATED * elapsed ? this.saturated + 1 : 0
      this.isSaturated = this.saturated >= WINDOWS
      this.windowAt = now
      this.windowIdle = idle
    }
    const { turnAt } = this
    this.turnAt = now
    // Processor time costs more to read than the other clocks, and passes no faster.
    if (!this.isSaturated || now - turnAt < LONG_TURN) {
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
  soon: (fn) => {
    setImmediate(fn)
  },
}

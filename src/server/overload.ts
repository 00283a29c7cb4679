/**
 * Keeps what is admitted fast under overload, by two rules.
 *
 * Long bodies wait for their turn, fairly over keys, and those are refused that would wait for too long (`body-queue.ts`).
 *
 * Everything that is ready waits for the turn that is under way. So once a turn of a saturated process has worked for too long, the
 * requests that come later in it are refused, whatever their length.
 */
import { performance } from 'node:perf_hooks'
import { Fault } from '../core/faults.ts'
import { type MetricRegistry, reading } from '../machines/metrics/metrics.ts'
import type { BodyPlace } from '../pipeline/dependencies.ts'
import { BODY_WEIGHT } from './body-memory.ts'
import { BodyQueue, type Sender, SHORT_BODY } from './body-queue.ts'

const bodiesWaiting = reading('gauge', 'bodies_waiting', 'Long request bodies that have arrived and wait for their turn.')
const bodyWait = reading(
  'gauge',
  'body_wait_seconds',
  'Time for which a long request body that comes now would wait for its turn, as estimated.',
)

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

/** Part of the memory of bodies that those may take which wait for their turn: the others are with their providers. */
const WAITING_MEMORY = 0.5

const MESSAGE = 'Service temporarily unavailable: the gateway is overloaded'
/** One object for each number of seconds: the stack of an error costs more than the rest of a refusal. */
const OVERLOADED: Fault[] = []
const MAX_SECONDS = 60

/** @param wait milliseconds until there is room. */
function overloaded(wait: number): Fault {
  const seconds = Math.min(MAX_SECONDS, Math.max(1, Math.ceil(wait / 1000)))
  OVERLOADED[seconds] ??= new Fault('unavailable', { message: MESSAGE, retryAfter: seconds })
  return OVERLOADED[seconds]
}

export class Overload {
  private readonly loop: LoopSource
  private readonly refused: () => void
  private readonly end: () => void
  private stopped: Fault | undefined
  private readonly queue: BodyQueue
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
  /** False while no request with a short body is refused. */
  refusesShort = false
  readonly short = SHORT_BODY

  /** @param refused called for every request that is refused. */
  constructor(loop: LoopSource, metrics: MetricRegistry, refused: () => void) {
    this.loop = loop
    this.refused = refused
    this.windowAt = loop.now()
    this.windowIdle = loop.idle()
    this.end = loop.everyTurn(() => this.endTurn())
    this.queue = new BodyQueue({
      now: () => loop.now(),
      soon: (fn) => loop.soon(fn),
      refusal: (wait) => {
        this.refused()
        return overloaded(wait)
      },
    })
    metrics.of(bodiesWaiting).from(() => this.queue.size)
    metrics.of(bodyWait).from(() => this.queue.wait / 1000)
  }

  /**
   * @param bytes of the body that is announced; undefined where its length is not known, or it is handed on as it comes.
   * @param callerDigest the digest of the secret of the request, read only where it matters.
   * @returns what the request is to be answered with, where it would come too late, or where no new work is taken.
   */
  refusal(bytes: number | undefined, callerDigest: () => string | undefined): Fault | undefined {
    if (this.stopped) return this.stopped
    if (this.inLongTurn()) {
      this.refused()
      return overloaded(0)
    }
    if (bytes === undefined) return undefined
    if (bytes > SHORT_BODY) return this.queue.refusalFor(bytes, callerDigest)
    return this.isSaturated ? this.queue.refusalOfShort(callerDigest) : undefined
  }

  /** @param wait milliseconds that a long body may wait. @param memory bytes of memory for all bodies. */
  resize(wait: number, memory: number): void {
    this.queue.resize(wait, (memory * WAITING_MEMORY) / BODY_WEIGHT)
  }

  /** From now on every request is refused with this. */
  stop(fault: Fault): void {
    this.stopped = fault
    this.refusesShort = true
  }

  /** A long body is about to be read, or has come without having been announced. @throws Fault `unavailable`. */
  expect(bytes: number, sender: Sender): BodyPlace {
    return this.queue.expect(bytes, sender)
  }

  /** The listener has taken a new connection. */
  connected(): void {
    this.queue.connections.connected()
  }

  /** For an operator who watches: long bodies that wait for their turn, the milliseconds for which a new one would, and whether the process has no time left. */
  get state(): { readonly waiting: number; readonly wait: number; readonly saturated: boolean } {
    return { waiting: this.queue.size, wait: this.queue.wait, saturated: this.isSaturated }
  }

  close(): void {
    this.end()
  }

  private inLongTurn(): boolean {
    return this.isSaturated && this.lastTurn >= LONG_TURN && this.loop.cpu() - this.turnCpu > TURN_BUDGET
  }

  private endTurn(): void {
    const { loop } = this
    this.queue.endTurn()
    const now = loop.now()
    const elapsed = now - this.windowAt
    if (elapsed >= WINDOW) {
      const idle = loop.idle()
      this.saturated = elapsed - (idle - this.windowIdle) >= SATURATED * elapsed ? this.saturated + 1 : 0
      this.isSaturated = this.saturated >= WINDOWS
      this.refusesShort = this.isSaturated || this.stopped !== undefined
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

/** A request body on its way in: ends with the body, with its caller, with the exchange, or when it comes too slowly. */
import type { IncomingMessage } from 'node:http'
import type { Clock, Timer } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import type { Cancel } from '../plugin-api/exchange.ts'

/** Milliseconds without a byte after which a body has stopped arriving. */
export const MAX_SILENCE_MS = 30_000

/** Bytes per second that a body has to average once the time for slow ones is over. */
export const SLOWEST = 16 * 1024

export interface ArrivalSource {
  clock: Clock
  /** Milliseconds after which the average rate counts. */
  slowAfter: number
  /** Ends the body before its time. */
  cancel?: Cancel | undefined
}

/** Exactly one of `end` and `fail` is called, once, and nothing after it. */
export abstract class BodyArrival {
  /** Bytes so far. */
  protected size = 0
  protected over = false
  private readonly request: IncomingMessage
  private readonly clock: Clock
  private readonly slowAfter: number
  private readonly cancel: Cancel | undefined
  private untie: (() => void) | undefined
  /** Monotonic milliseconds; moved on by the time for which the gateway itself held the body back. */
  private started: number
  private lastByte: number
  private pausedAt = 0
  private timer: Timer | undefined

  constructor(request: IncomingMessage, { clock, slowAfter, cancel }: ArrivalSource) {
    this.request = request
    this.clock = clock
    this.slowAfter = slowAfter
    this.started = clock.monotonic()
    this.lastByte = this.started
    this.cancel = cancel
  }

  protected abstract data(chunk: Buffer): void
  protected abstract end(): void
  protected abstract fail(fault: Fault): void

  protected begin(): void {
    const { request, cancel } = this
    if (cancel?.aborted) {
      this.break(cancel.reason)
      return
    }
    // The caller may have left while the request was authenticated: its events have been and gone.
    if (request.destroyed) {
      this.break(new Fault('client_gone'))
      return
    }
    request.on('data', this.take)
    request.on('end', this.ended)
    request.on('error', this.gone)
    request.on('close', this.gone)
    this.untie = cancel?.onAbort(() => this.break(cancel.reason))
    this.arm()
  }

  /** Takes no more until `resume`; the time until then is not the caller's. */
  protected pause(): void {
    this.pausedAt = this.clock.monotonic()
    this.request.pause()
  }

  protected resume(): void {
    if (this.over) return
    const now = this.clock.monotonic()
    this.started += now - this.pausedAt
    this.lastByte = now
    this.pausedAt = 0
    this.request.resume()
  }

  /** Ends with a fault of ours. Bytes that still come are not taken; the code that sends the reply decides about them. */
  protected break(thrown: unknown): void {
    if (this.over) return
    this.stop()
    this.request.pause()
    this.fail(thrown instanceof Fault ? thrown : new Fault('client_gone', { cause: thrown }))
  }

  private readonly take = (chunk: Buffer): void => {
    if (this.over) return
    this.size += chunk.length
    this.lastByte = this.clock.monotonic()
    this.data(chunk)
  }

  private readonly ended = (): void => {
    if (this.over) return
    this.stop()
    this.end()
  }

  private readonly gone = (): void => {
    // A body that has arrived is closed as well, and a fault costs as much as a tenth of a small request.
    if (!this.over) this.break(new Fault('client_gone'))
  }

  private stop(): void {
    this.over = true
    this.timer?.cancel()
    this.untie?.()
  }

  /** One timer for the earlier of the two limits; what has come meanwhile is looked at when it fires. */
  private arm(): void {
    const due = Math.min(this.lastByte + MAX_SILENCE_MS, this.started + Math.max(this.slowAfter, (this.size * 1000) / SLOWEST))
    this.timer = this.clock.after(Math.max(1, due - this.clock.monotonic()), this.look)
  }

  private readonly look = (): void => {
    const now = this.clock.monotonic()
    const elapsed = now - this.started
    if (this.pausedAt === 0) {
      if (now - this.lastByte >= MAX_SILENCE_MS) {
        this.break(late(`nothing of the body came for ${MAX_SILENCE_MS / 1000} seconds`))
        return
      }
      if (elapsed >= this.slowAfter && this.size * 1000 < elapsed * SLOWEST) {
        this.break(late('the body came at less than 16 KB per second'))
        return
      }
    }
    this.arm()
  }
}

function late(why: string): Fault {
  return new Fault('client_timeout', { message: `The request was not received in time: ${why}` })
}

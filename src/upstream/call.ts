/** One call to a provider: request out, reply in, with our own time-outs, caps and back-pressure. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Clock, Timer } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import { type Inflater, inflaterFor } from './inflate.ts'
import { networkFault } from './network-fault.ts'
import { connectionsMade } from './pools.ts'

export interface CallRequest {
  path: string
  /** Flat list: name, value, name, value. */
  headers: string[]
  body: string
}

/** Milliseconds. */
export interface CallTimeouts {
  firstByte: number
  idle: number
  total: number
}

/** Who takes the reply. After `end` or `fail` nothing more comes. */
export interface Receiver {
  head(status: number, headers: IncomingHttpHeaders): void
  data(chunk: Buffer): void
  end(): void
  fail(fault: Fault): void
}

/** Milliseconds for the end of a reply whose last event has come: some providers keep the connection open. */
const AFTERWARDS = 1_000

export class UpstreamCall implements Dispatcher.DispatchHandler {
  private readonly receiver: Receiver
  private readonly clock: Clock
  private readonly timeouts: CallTimeouts
  private controller: Dispatcher.DispatchController | undefined
  private inflater: Inflater | undefined
  private timer: Timer | undefined
  private readonly started: number
  /** Last time that something counted as life: the head, then every data event. */
  private lastAlive: number
  private headed = false
  private paused = false
  private idle: number
  private pool: Dispatcher | undefined
  private connections: number | undefined
  private over = false

  constructor(receiver: Receiver, clock: Clock, timeouts: CallTimeouts) {
    this.receiver = receiver
    this.clock = clock
    this.timeouts = timeouts
    this.idle = timeouts.idle
    this.started = clock.monotonic()
    this.lastAlive = this.started
    this.arm(Math.min(timeouts.firstByte, timeouts.total))
  }

  send(pool: Dispatcher, request: CallRequest): void {
    this.pool = pool
    this.connections = connectionsMade(pool)
    pool.dispatch({ method: 'POST', path: request.path, headers: request.headers, body: request.body }, this)
  }

  /** A data event came: comments and empty lines do not count, so the owner says when one did. */
  alive(): void {
    this.lastAlive = this.clock.monotonic()
  }

  answered(): void {
    if (this.idle <= AFTERWARDS || this.over) return
    this.idle = AFTERWARDS
    this.timer?.cancel()
    this.arm(AFTERWARDS)
  }

  pause(): void {
    if (this.paused) return
    this.paused = true
    this.controller?.pause()
  }

  resume(): void {
    if (!this.paused) return
    this.paused = false
    this.alive()
    this.controller?.resume()
  }

  /** Ends the call without telling the receiver. */
  abort(): void {
    if (this.finish()) this.controller?.abort(new Error('aborted by the gateway'))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.over) controller.abort(new Error('aborted by the gateway'))
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (this.over || status < 200) return
    this.headed = true
    this.alive()
    this.receiver.head(status, headers)
    const encoding = headers['content-encoding']
    if (encoding !== undefined && encoding !== 'identity') {
      this.inflater = inflaterFor(encoding, {
        data: (chunk) => this.deliver(chunk),
        end: () => this.complete(),
        fail: (cause) => this.fail(new Fault('upstream_garbled', { cause })),
      })
      if (!this.inflater) this.fail(new Fault('upstream_garbled', { cause: new Error('unknown content-encoding') }))
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.over) return
    if (this.inflater) this.inflater.push(chunk)
    else this.receiver.data(chunk)
  }

  onResponseEnd(): void {
    if (this.over) return
    if (this.inflater) this.inflater.close()
    else this.complete()
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    const reused = this.connections !== undefined && this.pool !== undefined && connectionsMade(this.pool) === this.connections
    this.fail(networkFault(error, this.headed, reused))
  }

  private deliver(chunk: Buffer): void {
    if (!this.over) this.receiver.data(chunk)
  }

  private complete(): void {
    if (this.finish()) this.receiver.end()
  }

  /** Ends the call with a fault of ours. */
  fail(fault: Fault): void {
    if (!this.finish()) return
    this.controller?.abort(new Error(fault.code))
    this.receiver.fail(fault)
  }

  private finish(): boolean {
    if (this.over) return false
    this.over = true
    this.timer?.cancel()
    return true
  }

  private arm(ms: number): void {
    this.timer = this.clock.after(ms, () => this.check())
  }

  /** One timer for all three limits: it looks at what is due and sleeps again until the next. */
  private check(): void {
    const now = this.clock.monotonic()
    const totalLeft = this.started + this.timeouts.total - now
    const waiting = this.headed ? this.idle : this.timeouts.firstByte
    const stepLeft = this.paused ? waiting : this.lastAlive + waiting - now
    const left = Math.min(totalLeft, stepLeft)
    if (left > 0.5) this.arm(left)
    else this.fail(new Fault('upstream_silent'))
  }
}

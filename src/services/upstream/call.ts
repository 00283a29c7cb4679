/** One call to a provider: request out, reply in, with our own time-outs, caps and back-pressure. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Clock, Timer } from '../../core/clock.ts'
import { contentCoding } from '../../core/content-coding.ts'
import { Fault } from '../../core/faults.ts'
import { networkFault, silentFault } from '../../machines/http1-client/network-fault.ts'
import { type Inflater, inflaterFor } from './inflate.ts'
import type { ConnectionPool, Started } from './pools.ts'

export interface CallRequest {
  path: string
  /** Flat list: name, value, name, value. */
  headers: string[]
  body: string | Buffer
}

/** Milliseconds; each state of a call has one of the first three, and all of them together have `total`. */
export interface CallTimeouts {
  /** Until a connection is there and the request goes out. */
  connect: number
  /** From then until the reply begins: its first sign of life, not merely its head. */
  firstByte: number
  /** Between two signs of life of the reply. */
  idle: number
  total: number
}

/** Takes the body of an answer: any number of `data`, then once `end` or `fail`, after which nothing more comes. */
export interface BodyReceiver {
  data(chunk: Buffer): void
  end(): void
  fail(fault: Fault): void
}

/** Takes the head of a reply, or the failure of one that has none. */
export interface Receiver {
  /** @returns what takes its body, and its failure from now on. */
  head(status: number, headers: IncomingHttpHeaders): BodyReceiver
  fail(fault: Fault): void
}

/**
 * connecting: waits for a connection. head: the request has gone out; the reply has not begun.
 * body: the reply has begun. ended: nothing more is reported.
 */
type State = 'connecting' | 'head' | 'body' | 'ended'

/** Milliseconds for the end of a reply whose last event has come: some providers keep the connection open. */
const AFTERWARDS = 1_000

export class UpstreamCall implements Dispatcher.DispatchHandler {
  /** Monotonic milliseconds at which the head of the reply came; undefined before. */
  headAt: number | undefined
  /** False as long as the provider cannot have seen anything of the request. */
  sent = false
  private readonly receiver: Receiver
  /** Set by the head. */
  private body: BodyReceiver | undefined
  private readonly clock: Clock
  private readonly timeouts: CallTimeouts
  private controller: Dispatcher.DispatchController | undefined
  private inflater: Inflater | undefined
  private timer: Timer | undefined
  private state: State = 'connecting'
  /** Limit of the state, in milliseconds. */
  private limit: number
  /** Monotonic milliseconds; both move on by the time that the reply is paused. */
  private started = 0
  /** When the state began or, of a body, its last sign of life. */
  private since = 0
  private pausedAt: number | undefined
  /** The decompressor has enough to do. */
  private full = false
  private stopped = false
  /** Until the request goes out. */
  private waiting: Started | undefined

  constructor(receiver: Receiver, clock: Clock, timeouts: CallTimeouts) {
    this.receiver = receiver
    this.clock = clock
    this.timeouts = timeouts
    this.limit = timeouts.connect
  }

  /** @param anew true where it must go over a new connection. */
  send(pool: ConnectionPool, { path, headers, body }: CallRequest, anew = false): void {
    this.started = this.clock.monotonic()
    this.since = this.started
    const connected = !anew && pool.idleCount > 0
    const waiting = pool.begin({ method: 'POST', path, headers, body }, this, anew)
    if (this.state === 'connecting') this.waiting = waiting
    // A connection that stands takes the request within this turn; where it turns out to have ended, the pool has the same limit.
    if (this.state === 'connecting' && !connected) this.arm(this.since)
  }

  /** A sign of life: comments and keep-alives are none, so the receiver reports it. */
  alive(at: number = this.clock.monotonic()): void {
    if (this.state === 'body') this.since = at
    else if (this.state === 'head') this.enter('body', this.timeouts.idle, at)
  }

  /** The reply is complete; only its end is missing. */
  answered(at: number): void {
    if (this.state === 'body' && this.limit > AFTERWARDS) this.enter('body', AFTERWARDS, at)
  }

  /** Stops the reply and the clocks of `idle` and `total`: the provider is not late while we hold it back. */
  pause(): void {
    if (this.pausedAt !== undefined) return
    this.pausedAt = this.clock.monotonic()
    this.inflater?.pause()
    this.flow()
  }

  resume(): void {
    if (this.pausedAt === undefined) return
    const now = this.clock.monotonic()
    const paused = now - this.pausedAt
    this.pausedAt = undefined
    this.started += paused
    this.since += paused
    if (!this.timer) this.arm(now)
    this.inflater?.resume()
    this.flow()
  }

  /** Ends the call without a report to the receiver. */
  abort(): void {
    if (this.finish()) this.stop('aborted by the gateway')
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Called before the request is written: one that has ended never leaves.
    if (this.state === 'ended') {
      controller.abort(new Error('aborted by the gateway'))
      return
    }
    this.controller = controller
    this.sent = true
    this.waiting = undefined
    this.enter('head', this.timeouts.firstByte)
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (this.state === 'ended' || status < 200) return
    const problem = framingProblem(headers)
    this.headAt = this.clock.monotonic()
    if (problem !== undefined) {
      this.fail(new Fault('upstream_garbled', { cause: new Error(problem) }))
      return
    }
    this.body = this.receiver.head(status, headers)
    if (headers['content-encoding'] !== undefined) this.inflate(headers['content-encoding'])
  }

  private inflate(encoding: string): void {
    const coding = contentCoding(encoding)
    // The receiver may have ended the call.
    if (coding === undefined || this.state === 'ended') return
    this.inflater = inflaterFor(coding, {
      data: (chunk) => void (this.state === 'ended' || this.body?.data(chunk)),
      end: () => this.complete(),
      fail: (cause) => this.fail(cause instanceof Fault ? cause : new Fault('upstream_garbled', { cause })),
      drained: () => {
        this.full = false
        this.flow()
      },
    })
    if (!this.inflater) this.fail(new Fault('upstream_garbled', { cause: new Error('unknown content-encoding') }))
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.state === 'ended') return
    if (!this.inflater) this.body?.data(chunk)
    else if (!this.inflater.push(chunk)) {
      this.full = true
      this.flow()
    }
  }

  onResponseEnd(): void {
    if (this.state === 'ended') return
    if (this.inflater) this.inflater.close()
    else this.complete()
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.fail(networkFault(error, this.headAt !== undefined))
  }

  /** Ends the call with a fault of ours. */
  fail(fault: Fault): void {
    if (!this.finish()) return
    this.stop(fault.code)
    const receiver = this.body ?? this.receiver
    receiver.fail(fault)
  }

  /** Ends the request where it is: before its connection stands, too. */
  private stop(why: string): void {
    if (this.controller) this.controller.abort(new Error(why))
    else this.waiting?.abort(new Error(why))
    this.waiting = undefined
  }

  private complete(): void {
    if (this.finish()) this.body?.end()
  }

  private finish(): boolean {
    if (this.state === 'ended') return false
    this.state = 'ended'
    this.timer?.cancel()
    this.inflater?.destroy()
    return true
  }

  /** Stops and starts the connection as the caller and the decompressor need it. */
  private flow(): void {
    const stop = this.pausedAt !== undefined || this.full
    if (stop === this.stopped || this.state === 'ended') return
    this.stopped = stop
    if (stop) this.controller?.pause()
    else this.controller?.resume()
  }

  private enter(state: State, limit: number, at: number = this.clock.monotonic()): void {
    this.state = state
    this.limit = limit
    this.since = at
    this.arm(at)
  }

  /** One timer, for whichever of the state's limit and `total` comes first. A sign of life leaves it: it then sleeps again. */
  private arm(now: number): void {
    const wait = this.due() - now
    this.timer?.cancel()
    this.timer = this.clock.after(wait, () => this.check())
  }

  /** Monotonic milliseconds at which the call has taken too long. */
  private due(): number {
    return Math.min(this.since + this.limit, this.started + this.timeouts.total)
  }

  private check(): void {
    this.timer = undefined
    if (this.pausedAt !== undefined) return
    const now = this.clock.monotonic()
    if (this.due() - now > 0.5) this.arm(now)
    // Which limit has passed follows from the limits alone: timers may fire a fraction of a millisecond early.
    else if (this.state === 'body' && this.started + this.timeouts.total < this.since + this.limit)
      this.fail(new Fault('upstream_overlong'))
    else this.fail(silentFault(this.waiting?.phase))
  }
}

const FRAMING = /(?:^|[\s,])(?:content-length|transfer-encoding)(?:[\s,]|$)/i

/**
 * Framing of a provider's reply that our HTTP client reads but must not trust.
 * Finds ambiguous framing (RFC 9112 section 6.3). undici refuses several lengths, and a length beside a transfer coding;
 * it accepts repeated and unknown transfer codings (client-h1.js of 8.12.4), although we never send `TE` and so
 * may receive `chunked` only.
 * @returns the reason to refuse the reply, undefined where the framing is plain.
 */
export function framingProblem(headers: IncomingHttpHeaders): string | undefined {
  const coding: string | string[] | undefined = headers['transfer-encoding']
  if (coding !== undefined && coding !== 'chunked' && !(typeof coding === 'string' && coding.toLowerCase() === 'chunked'))
    return 'a transfer coding other than chunked'
  const { connection } = headers
  // Nearly all providers send exactly this.
  if (connection === 'keep-alive' || connection === 'close') return undefined
  return connection !== undefined && FRAMING.test(`${connection}`) ? 'a Connection option that names the framing' : undefined
}

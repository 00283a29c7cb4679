/** One exchange through the passage: its time limits, its one end, and its errors in our own words. */
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Provider, Timeouts } from '../catalog/types.ts'
import type { Clock, Timer } from '../core/clock.ts'
import { Fault, type FaultCode, faultBody } from '../core/faults.ts'
import { networkFault } from './network-fault.ts'
import { clientHeaders } from './passage-headers.ts'

export interface PassageEnd {
  /** What the caller was told; 101 for an opened WebSocket, 499 where the caller left before it was told anything. */
  readonly status: number
  readonly outcome: 'completed' | 'failed' | 'aborted'
  readonly fault?: Fault
}

export interface PassageCall {
  readonly provider: Provider
  /** Path and query behind `/v1/passage/{provider}`, beginning with a slash. */
  readonly path: string
  /** Name and value of the header that carries the provider's key. */
  readonly auth: readonly [name: string, value: string] | undefined
  /** Called exactly once. The end of a completed reply waits for the promise, and is cut if it rejects. */
  readonly onEnd: (end: PassageEnd) => Promise<void> | undefined
}

/** Statuses by which a provider refuses our own key: the text may quote it, so it is never shown. */
const REFUSES_US: ReadonlySet<number> = new Set([401, 402, 403])

export class PassageRun {
  private readonly clock: Clock
  private readonly call: PassageCall
  private readonly limits: Timeouts
  private readonly response: ServerResponse
  private readonly timers = new Set<Timer>()
  private upstream: ClientRequest | undefined
  /** The caller's end of an open WebSocket. */
  private tunnel: Socket | undefined
  private ended = false

  constructor(clock: Clock, call: PassageCall, response: ServerResponse) {
    this.clock = clock
    this.call = call
    this.limits = call.provider.timeouts
    this.response = response
    response.once('close', () => this.end({ status: response.headersSent ? response.statusCode : 499, outcome: 'aborted' }))
  }

  /** True, and the exchange is over, where the caller has gone before it began: no event will tell of it any more. */
  leftAlready(socket: Socket): boolean {
    if (!this.response.destroyed && !socket.destroyed) return false
    this.end({ status: 499, outcome: 'aborted' })
    return true
  }

  /** The upstream request has a socket; the time limits begin. `body` is the caller's request where it may carry one. */
  started(upstream: ClientRequest, socket: Socket, body?: IncomingMessage): void {
    this.upstream = upstream
    if (this.ended) {
      upstream.destroy()
      return
    }
    this.limit(this.limits.total, 'upstream_silent')
    if (socket.connecting) {
      const connect = this.limit(this.limits.connect, 'upstream_connect')
      socket.once('connect', () => connect.cancel())
    }
    // A slow upload is the caller's: the provider is expected to answer from its end on. Whether it will stream is unknown.
    const wait = () => {
      const firstByte = this.limit(this.limits.firstByteWhole, 'upstream_silent')
      upstream.once('response', () => firstByte.cancel())
      upstream.once('upgrade', () => firstByte.cancel())
    }
    if (!body || body.readableEnded) wait()
    else body.once('end', wait)
  }

  /** Relays the provider's reply; its death in the middle closes the caller at once. */
  relay(reply: IncomingMessage): void {
    const { response } = this
    const status = reply.statusCode ?? 502
    if (this.ended || REFUSES_US.has(status)) {
      this.fail(new Fault('upstream_auth', { metadata: { provider_code: status } }))
      return
    }
    reply.on('error', (error) => this.fail(networkFault(error, true)))
    reply.once('close', () => {
      if (!reply.complete) this.fail(new Fault('upstream_cut'))
    })
    reply.once('end', () => this.complete())
    this.watchIdle(reply)
    try {
      response.writeHead(status, clientHeaders(reply.headers))
    } catch (cause) {
      this.fail(new Fault('upstream_garbled', { cause }))
      return
    }
    // The head goes out now: an event stream may stay silent for long.
    response.flushHeaders()
    reply.pipe(response, { end: false })
  }

  /** The WebSocket stands: from now on only its two ends decide how long. */
  opened(socket: Socket, upstream: Socket): void {
    this.stopTimers()
    this.tunnel = socket
    upstream.once('close', () => {
      this.end({ status: 101, outcome: 'completed' })
      socket.destroySoon()
    })
    socket.once('close', () => {
      this.end({ status: 101, outcome: 'completed' })
      upstream.destroy()
    })
  }

  /** Ends in failure: as our own error body where nothing has been said yet, else by closing the caller's connection. */
  fail(fault: Fault): void {
    if (this.ended) {
      this.upstream?.destroy()
      return
    }
    const { response, tunnel } = this
    if (tunnel) {
      this.end({ status: 101, outcome: 'failed', fault })
      tunnel.destroySoon()
      return
    }
    const told = response.headersSent
    this.end({ status: told ? response.statusCode : fault.status, outcome: 'failed', fault })
    if (told) response.destroy()
    else {
      const body = JSON.stringify(faultBody(fault))
      response.writeHead(fault.status, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        connection: 'close',
      })
      response.end(body)
    }
    this.upstream?.destroy()
  }

  private complete(): void {
    const settled = this.end({ status: this.response.statusCode, outcome: 'completed' })
    if (settled === undefined) this.response.end()
    else
      settled.then(
        () => this.response.end(),
        () => this.response.destroy(),
      )
  }

  private end(end: PassageEnd): Promise<void> | undefined {
    if (this.ended) return undefined
    this.ended = true
    this.stopTimers()
    const settled = this.call.onEnd(end)
    // Only a completed reply waits for it; a failure behind any other end is the callee's to tell.
    settled?.catch(() => {})
    return settled
  }

  /** Silence is the provider's only while the caller takes what comes. */
  private watchIdle(reply: IncomingMessage): void {
    let heard = this.clock.monotonic()
    reply.on('data', () => {
      heard = this.clock.monotonic()
    })
    const check = () => {
      const silence = this.clock.monotonic() - heard
      if (this.response.writableNeedDrain) this.arm(this.limits.idle, check)
      else if (silence >= this.limits.idle) this.fail(new Fault('upstream_silent'))
      else this.arm(this.limits.idle - silence, check)
    }
    this.arm(this.limits.idle, check)
  }

  private limit(ms: number, code: FaultCode): Timer {
    return this.arm(ms, () => this.fail(new Fault(code)))
  }

  private arm(ms: number, fn: () => void): Timer {
    const timer = this.clock.after(ms, () => {
      this.timers.delete(timer)
      fn()
    })
    this.timers.add(timer)
    return timer
  }

  private stopTimers(): void {
    for (const timer of this.timers) timer.cancel()
    this.timers.clear()
  }
}

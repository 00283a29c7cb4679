/** The caller's side of one pass-through exchange: its one end, its time limits, and its errors as our own error bodies. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock, Timer } from '../../core/clock.ts'
import { asFault, Fault, type FaultCode, faultBody } from '../../core/faults.ts'
import { retryHeaders, withBearablePause } from '../../core/retry-after.ts'
import type { Timeouts } from '../../routing/catalog/types.ts'
import { framingProblem } from './call.ts'
import type { PassThroughCall, PassThroughEnd, SentBody, UpstreamSide } from './pass-through-call.ts'
import { clientHeaders, withOwnUploads } from './pass-through-headers.ts'
import { HeldPage, type ListedPages } from './pass-through-page.ts'
import { HeldError, isHeld } from './pass-through-refusal.ts'
import { SentTexts } from './pass-through-sent.ts'

/** Milliseconds for which the rest of a request body is read and discarded after the exchange has ended. */
const MAX_DISCARD_MS = 30_000

/** Milliseconds that a provider has for closing a WebSocket whose caller has ended it. */
const CLOSING_TIME = 5_000

export class PassThroughRun {
  readonly limits: Timeouts
  /** Bytes that the caller has sent. */
  readonly sent: SentTexts
  private readonly clock: Clock
  private readonly call: PassThroughCall
  private readonly request: IncomingMessage
  private readonly response: ServerResponse
  private readonly timers = new Set<Timer>()
  private upstream: UpstreamSide | undefined
  /** The caller's end of an open WebSocket. */
  private tunnel: Socket | undefined
  private isOver = false
  private providerStatus: number | null = null
  /** Clock time of the provider's last byte. */
  private lastByteAt = 0
  /** Clock time since which the provider is held back, and the milliseconds of earlier times. */
  private heldSince: number | undefined
  private heldBack = 0
  /** An error of the provider's, until it is known whom it is about. */
  private held: HeldError | undefined
  /** A list, until it is known what the caller sees of it. */
  private page: HeldPage | undefined
  private path: string
  /** Sends the request for another page. */
  private ask: ((path: string) => void) | undefined

  constructor(clock: Clock, call: PassThroughCall, caller: { request: IncomingMessage; response: ServerResponse }) {
    this.clock = clock
    this.call = call
    this.limits = call.provider.timeouts
    this.request = caller.request
    this.response = caller.response
    this.sent = new SentTexts(caller.request, call.path)
    this.path = call.path
    this.response.once('close', () => this.abandoned())
  }

  get watch(): SentBody | undefined {
    return this.call.watch
  }

  get over(): boolean {
    return this.isOver
  }

  get headSent(): boolean {
    return this.response.headersSent
  }

  /** True, and the exchange is over, where the caller had gone before it began: no event will report that any more. */
  leftAlready(socket: Socket): boolean {
    if (!this.response.destroyed && !socket.destroyed) return false
    this.abandoned()
    return true
  }

  /** The provider's side begins: the limit on the whole exchange starts. */
  begin(upstream: UpstreamSide): void {
    this.upstream = upstream
    this.after(this.limits.total, () => this.totalPassed())
  }

  /** @param ask sends the request for a page of the list that the first request has named. */
  turnsPages(ask: (path: string) => void): void {
    this.ask = ask
  }

  /** Ends the exchange with this fault after so many milliseconds, unless the timer is cancelled. */
  limit(ms: number, code: FaultCode): Timer {
    return this.after(ms, () => this.fail(new Fault(code)))
  }

  /** Milliseconds of the clock that all limits run on. */
  now(): number {
    return this.clock.monotonic()
  }

  /** Calls back after so many milliseconds, unless the exchange is over by then. */
  after(ms: number, fn: () => void): Timer {
    const timer = this.clock.after(ms, () => {
      this.timers.delete(timer)
      fn()
    })
    this.timers.add(timer)
    return timer
  }

  /** The caller's body comes too slowly: 408, and the connection ends (RFC 9110 section 15.5.9). It is charged where the provider has been called. */
  late(why: string): void {
    if (this.isOver || this.response.headersSent) return
    this.response.setHeader('connection', 'close')
    this.finish('aborted', new Fault('client_timeout', { message: `The request was not received in time: ${why}` }))
  }

  /** Sends the head of the provider's reply to the caller. @returns false where the exchange ended instead. */
  head(status: number, headers: IncomingHttpHeaders): boolean {
    if (this.isOver) return false
    this.providerStatus = status
    const problem = framingProblem(headers)
    if (problem !== undefined) {
      this.fail(new Fault('upstream_garbled', { cause: new Error(problem) }))
      return false
    }
    if (isHeld(status)) this.held = new HeldError({ status, headers, sent: this.sent }, this.request, this.call)
    else if (this.call.pages && HeldPage.holds(status, headers)) this.page = new HeldPage(status, headers)
    else {
      this.sent.forget()
      this.call.reader?.head(status, headers)
      if (!this.relayHead(status, headers)) return false
    }
    this.watchIdle()
    return true
  }

  /** Relays bytes of the reply's body. @returns false where the provider must pause until `onDrain`. */
  data(chunk: Buffer): boolean {
    this.lastByteAt = this.clock.monotonic()
    if (this.isOver) return true
    if (this.page) return this.holdBack(this.page, chunk)
    this.call.reader?.data(chunk)
    if (!this.held) return this.response.write(chunk)
    if (this.held.push(chunk)) return true
    return this.release()
  }

  private holdBack(page: HeldPage, chunk: Buffer): true {
    try {
      page.push(chunk)
    } catch (thrown) {
      this.fail(asFault(thrown))
    }
    return true
  }

  private async showPage(page: HeldPage, pages: ListedPages): Promise<void> {
    const { status } = page
    try {
      const shown = await pages.read(page.bytes(), this.path)
      if (this.isOver) return
      if ('next' in shown) {
        this.path = shown.next
        this.ask?.(shown.next)
        return
      }
      const headers = page.headers(shown.bytes)
      this.sent.forget()
      this.call.reader?.head(status, headers)
      if (!this.relayHead(status, headers)) return
      this.call.reader?.data(shown.bytes)
      this.response.write(shown.bytes)
      this.complete()
    } catch (thrown) {
      this.fail(asFault(thrown))
    }
  }

  private relayHead(status: number, headers: IncomingHttpHeaders): boolean {
    const { response, call } = this
    try {
      const own = withOwnUploads(clientHeaders(status, headers, call.ours), call.provider.baseUrl, call.address)
      response.writeHead(status, besideOurs(response, withBearablePause(own, this.clock.now())))
    } catch (cause) {
      this.fail(new Fault('upstream_garbled', { cause }))
      return false
    }
    // The head goes out now: an event stream may stay silent for long.
    response.flushHeaders()
    return true
  }

  /**
   * So much of an error has come that it is clear whom it is about: what is about the gateway's account ends the exchange, anything else
   * is relayed as it came. @returns false where the provider must pause until `onDrain`.
   */
  private release(): boolean {
    const { held } = this
    this.held = undefined
    if (!held) return true
    const fault = held.accountFault()
    if (fault) this.fail(fault)
    else if (this.relayHead(held.status, held.headers) && held.size > 0) return this.response.write(held.bytes())
    return true
  }

  onDrain(resume: () => void): void {
    this.heldSince ??= this.clock.monotonic()
    this.response.once('drain', () => {
      // Up to now we have held the provider back.
      this.lastByteAt = this.clock.monotonic()
      this.noteHeldBack()
      resume()
    })
  }

  /** The provider's reply is whole. */
  complete(): void {
    const { page } = this
    const { pages } = this.call
    if (page && pages) {
      this.page = undefined
      this.showPage(page, pages)
      return
    }
    this.release()
    if (this.isOver) return
    const settled = this.end('completed')
    this.discardBody()
    if (settled === undefined) this.response.end()
    else
      settled.then(
        () => this.response.end(),
        () => this.response.destroy(),
      )
  }

  /** The WebSocket stands: from now on only its two ends decide how long. */
  opened(socket: Socket, upstream: Socket): void {
    this.stopTimers()
    this.tunnel = socket
    this.providerStatus = 101
    upstream.once('close', () => {
      this.end('completed')
      socket.destroySoon()
    })
    socket.once('close', () => {
      this.end('completed')
      upstream.destroy()
    })
    // A WebSocket whose one side has ended carries nothing more (RFC 6455 section 7.1.1): the provider has had its end as well by now.
    socket.once('end', () => this.after(CLOSING_TIME, () => upstream.destroy()))
  }

  /** The caller has closed its sending side before the WebSocket stood: it cannot use one any more. */
  gaveUp(): void {
    if (!this.tunnel) this.response.destroy()
  }

  /** Ends in failure: our own error body where no head has been sent, else the caller's connection is closed at once. */
  fail(fault: Fault): void {
    // An error that breaks off is the caller's to read as far as it came.
    if (fault.origin === 'upstream') this.release()
    if (this.isOver) return
    const { tunnel } = this
    if (tunnel) {
      this.end('failed', { fault })
      tunnel.destroySoon()
      return
    }
    this.finish('failed', fault)
  }

  private finish(outcome: 'failed' | 'aborted', fault: Fault): void {
    const { response } = this
    const headSent = response.headersSent
    this.end(outcome, { fault, ...this.unsent() })
    if (headSent) this.cut()
    else {
      const { body: written, headers } = this.call.errorReply?.(fault) ?? { body: faultBody(fault) }
      const body = JSON.stringify(written)
      const length = Buffer.byteLength(body)
      response.writeHead(fault.status, {
        ...retryHeaders(fault.retryAfter),
        ...fault.headers,
        ...headers,
        'content-type': 'application/json',
        'content-length': length,
      })
      response.end(body)
      this.discardBody()
    }
    this.upstream?.abort()
  }

  private unsent(): Pick<PassThroughEnd, 'sent'> {
    return this.upstream ? {} : { sent: false }
  }

  private abandoned(): void {
    this.end('aborted', this.unsent())
    this.upstream?.abort()
  }

  /** A reply that still arrives has been delivered in part: it is charged, unlike a provider that never answered. */
  private totalPassed(): void {
    if (!this.isOver) this.finish(this.response.headersSent ? 'aborted' : 'failed', new Fault('upstream_silent'))
  }

  /** Node flushes a chunk one tick after it was written: what came before is delivered, and no proper end is feigned. */
  private cut(): void {
    process.nextTick(() => this.response.destroy())
  }

  /** Reads what the caller still sends, so that the reply is not lost to a reset and the next request can be parsed. */
  private discardBody(): void {
    const { request } = this
    if (request.complete) return
    const { socket } = request
    request.unpipe()
    request.resume()
    const timer = this.clock.after(MAX_DISCARD_MS, () => socket.destroy())
    const done = (): void => {
      timer.cancel()
      request.off('close', done)
      socket.off('close', done)
    }
    // Node ends the request with its connection only until its reply has been written (lib/_http_server.js, resOnFinish).
    request.once('close', done)
    socket.once('close', done)
  }

  private end(outcome: PassThroughEnd['outcome'], more: Pick<PassThroughEnd, 'fault' | 'sent'> = {}): Promise<void> | undefined {
    if (this.isOver) return undefined
    this.isOver = true
    this.stopTimers()
    this.noteHeldBack()
    const held = this.heldBack > 0 ? { heldBack: this.heldBack } : {}
    const settled = this.call.onEnd({ status: this.providerStatus, outcome, ...held, ...more })
    // Only a completed reply waits for it; after any other end the failure is the callee's to report.
    settled?.catch(() => {})
    return settled
  }

  private noteHeldBack(): void {
    if (this.heldSince !== undefined) this.heldBack += this.clock.monotonic() - this.heldSince
    this.heldSince = undefined
  }

  /** Silence is the provider's only while the caller takes what comes. */
  private watchIdle(): void {
    this.lastByteAt = this.clock.monotonic()
    const check = () => {
      const silence = this.clock.monotonic() - this.lastByteAt
      if (this.response.writableNeedDrain) this.after(this.limits.idle, check)
      else if (silence >= this.limits.idle) this.fail(new Fault('upstream_silent'))
      else this.after(this.limits.idle - silence, check)
    }
    this.after(this.limits.idle, check)
  }

  private stopTimers(): void {
    for (const timer of this.timers) timer.cancel()
    this.timers.clear()
  }
}

/** Our own `Vary` stands beside the provider's, which would replace it. */
function besideOurs(response: ServerResponse, headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const ours = response.getHeader('Vary')
  return ours === undefined || headers.vary === undefined ? headers : { ...headers, vary: `${headers.vary}, ${ours}` }
}

/** One HTTP request of the pass-through over the connection pools that every other call uses. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { PassThrough } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { Timer } from '../../core/clock.ts'
import { networkFault, StaleConnection } from '../../machines/http1-client/network-fault.ts'
import { MAX_INTERIM, tooManyInterim } from '../../machines/http1-client/reply-fields.ts'
import type { RequestOptions } from '../../machines/http1-client/whole-requests.ts'
import type { UpstreamSide } from './pass-through-call.ts'
import type { Framing } from './pass-through-headers.ts'
import type { PassThroughRun } from './pass-through-run.ts'
import { gatherUpload, MAX_GATHERED, streamUpload } from './pass-through-upload.ts'
import type { ConnectionPool, Started } from './pools.ts'

export interface PassThroughHead {
  method: string
  /** Path and query at the provider's origin. */
  path: string
  /** Without framing. */
  headers: IncomingHttpHeaders
  framing: Framing
}

export class PassThroughRequest implements Dispatcher.DispatchHandler, UpstreamSide {
  private readonly run: PassThroughRun
  private readonly pool: ConnectionPool
  private controller: Dispatcher.DispatchController | undefined
  /** A body that is sent as it comes. */
  private stream: PassThrough | undefined
  /** A request whose body is at hand, or that has none: it can be sent again. */
  private whole: RequestOptions | undefined
  private connecting: Timer | undefined
  private firstByte: Timer | undefined
  /** Until the request goes out. */
  private waiting: Started | undefined
  private interim = 0
  /** True once the provider's side has ended by itself. */
  private done = false

  constructor(run: PassThroughRun, pool: ConnectionPool) {
    this.run = run
    this.pool = pool
  }

  /** Sends the request. @param source the body, or the caller's request: a short body is read first, a longer one as fast as the provider takes it. */
  send(source: IncomingMessage | Buffer, { method, path, headers, framing }: PassThroughHead): void {
    const options = { method: method as Dispatcher.HttpMethod, path, headers, isRelayed: true }
    if (Buffer.isBuffer(source)) this.sendWhole({ ...options, body: source })
    else if (framing.kind === 'none') this.sendWhole({ ...options, body: null })
    else if (framing.kind === 'length' && framing.bytes <= MAX_GATHERED)
      gatherUpload(this.run, source, (body) => this.sendWhole({ ...options, body }))
    else {
      this.run.begin(this)
      const body = streamUpload(this.run, source)
      this.stream = body
      // undici writes a body that has a declared length with exactly that many bytes or gives the connection up, and
      // any other stream in chunks (AsyncWriter in client-h1.js of 8.12.4).
      const declared = framing.kind === 'length' ? { ...headers, 'content-length': String(framing.bytes) } : headers
      this.dispatch({ ...options, headers: declared, body }, false)
    }
  }

  private sendWhole(options: RequestOptions): void {
    this.run.begin(this)
    if (Buffer.isBuffer(options.body)) this.run.sent.whole(options.body)
    this.whole = options
    this.dispatch(options, false)
  }

  private dispatch(options: RequestOptions, anew: boolean): void {
    this.connecting = this.run.limit(this.run.limits.connect, 'upstream_connect')
    const waiting = this.pool.begin(options, this, anew)
    if (!this.controller && !this.done) this.waiting = waiting
  }

  abort(): void {
    if (this.done) return
    this.done = true
    if (this.controller) this.controller.abort(new Error('aborted by the gateway'))
    else this.waiting?.abort(new Error('aborted by the gateway'))
    this.stream?.destroy()
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    this.waiting = undefined
    this.connecting?.cancel()
    if (this.done) controller.abort(new Error('aborted by the gateway'))
    else if (!this.stream) this.expectReply()
  }

  /** A slow upload is the caller's: the provider is expected to answer from its end on. Whether it will stream is unknown. */
  onRequestSent(): void {
    if (this.stream) this.expectReply()
  }

  private expectReply(): void {
    if (!this.run.over && !this.run.headSent) this.firstByte = this.run.limit(this.run.limits.firstByteWhole, 'upstream_silent')
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) {
      if (++this.interim > MAX_INTERIM) this.run.fail(tooManyInterim())
      return
    }
    this.firstByte?.cancel()
    this.run.head(status, headers)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.run.data(chunk)) return
    controller.pause()
    this.run.onDrain(() => controller.resume())
  }

  onResponseEnd(): void {
    this.done = true
    this.run.complete()
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    const { whole } = this
    if (error instanceof StaleConnection && whole && !this.run.over) {
      // Once: a new connection cannot be stale.
      this.whole = undefined
      this.controller = undefined
      this.firstByte?.cancel()
      this.dispatch(whole, true)
      return
    }
    this.done = true
    this.stream?.destroy()
    this.run.fail(networkFault(error, this.run.headSent))
  }
}

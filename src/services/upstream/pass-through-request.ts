/** One HTTP request of the pass-through over the connection pools that every other call uses. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { Timer } from '../../core/clock.ts'
import { networkFault } from './network-fault.ts'
import type { Framing } from './pass-through-headers.ts'
import type { PassThroughRun, UpstreamSide } from './pass-through-run.ts'
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
  private controller: Dispatcher.DispatchController | undefined
  private body: PassThrough | Buffer | undefined
  private connecting: Timer | undefined
  private firstByte: Timer | undefined
  /** Until the request goes out. */
  private waiting: Started | undefined
  /** True once the provider's side has ended by itself. */
  private done = false

  constructor(run: PassThroughRun) {
    this.run = run
  }

  /** Dispatches the request. @param source the body, or the caller's request, which is read as fast as the provider takes it. */
  send(pool: ConnectionPool, source: IncomingMessage | Buffer, { method, path, headers, framing }: PassThroughHead): void {
    this.run.begin(this)
    this.connecting = this.run.limit(this.run.limits.connect, 'upstream_connect')
    if (Buffer.isBuffer(source)) {
      this.body = source
      this.run.sent.whole(source)
    } else if (framing.kind !== 'none') {
      const body = bodyFrom(source)
      this.body = body
      watchUpload(this.run, source, body)
    }
    // undici writes a body that has a declared length with exactly that many bytes or gives the connection up, and
    // any other stream in chunks (AsyncWriter in client-h1.js of 8.12.4).
    const declared = framing.kind === 'length' ? { ...headers, 'content-length': String(framing.bytes) } : headers
    const waiting = pool.begin({ method: method as Dispatcher.HttpMethod, path, headers: declared, body: this.body ?? null }, this)
    if (!this.controller && !this.done) this.waiting = waiting
  }

  abort(): void {
    if (this.done) return
    this.done = true
    if (this.controller) this.controller.abort(new Error('aborted by the gateway'))
    else this.waiting?.abort(new Error('aborted by the gateway'))
    this.endBody()
  }

  private endBody(): void {
    if (!Buffer.isBuffer(this.body)) this.body?.destroy()
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    this.waiting = undefined
    this.connecting?.cancel()
    if (this.done) controller.abort(new Error('aborted by the gateway'))
  }

  /** A slow upload is the caller's: the provider is expected to answer from its end on. Whether it will stream is unknown. */
  onRequestSent(): void {
    if (!this.run.over && !this.run.headSent) this.firstByte = this.run.limit(this.run.limits.firstByteWhole, 'upstream_silent')
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
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
    this.done = true
    this.endBody()
    this.run.fail(networkFault(error, this.run.headSent))
  }
}

/**
 * The caller's body as a stream of its own: undici destroys what it was given, and with Node's `IncomingMessage` that
 * would take the caller's socket with it (util.destroy in core/util.js of 8.12.4).
 */
function bodyFrom(source: IncomingMessage): PassThrough {
  const body = new PassThrough()
  // undici listens only while the request runs; its own end of the stream reports nothing that the caller's has not.
  body.on('error', () => {})
  source.on('error', (error) => body.destroy(error))
  return source.pipe(body)
}

/** Milliseconds without a byte after which a body has stopped arriving (issue 15, section 4). */
const LONGEST_SILENCE = 30_000
/** Milliseconds after which the average rate counts, and the bytes per second that it has to reach. */
const SLOW_AFTER = 60_000
const SLOWEST = 16 * 1024

/**
 * The caller's body on its way through: it ends the exchange where it comes too slowly while the provider would take it.
 * Watches the body from `source` to `body` until it ends or the provider's reply begins.
 */
function watchUpload(run: PassThroughRun, source: IncomingMessage, body: PassThrough): void {
  let bytes = 0
  let lastByte = run.now()
  /** Milliseconds for which the caller could send. */
  let free = 0
  let looked = lastByte
  source.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    lastByte = run.now()
    run.sent.push(chunk)
  })
  const look = (): void => {
    if (run.over || run.headSent || source.readableEnded) return
    const now = run.now()
    // While the provider holds the body back its time is not the caller's.
    if (body.writableNeedDrain) lastByte = now
    else free += now - looked
    looked = now
    if (now - lastByte >= LONGEST_SILENCE) run.late(`nothing of the body came for ${LONGEST_SILENCE / 1000} seconds`)
    else if (free >= SLOW_AFTER && bytes * 1000 < free * SLOWEST) run.late('the body came at less than 16 KB per second')
    else run.after(Math.max(1, Math.min(lastByte + LONGEST_SILENCE - now, free < SLOW_AFTER ? SLOW_AFTER - free : LONGEST_SILENCE)), look)
  }
  look()
}

/**
 * The connection of one caller, as the pipeline sees it, over HTTP, and how fast the caller takes its reply. How the body comes is the
 * difference between a request that Node's server has parsed (`node-connection.ts`) and a plain one, which has come whole.
 */

import type { X509Certificate } from 'node:crypto'
import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock, Timer } from '../core/clock.ts'
import { entryAt } from '../core/entry-at.ts'
import { Fault } from '../core/faults.ts'
import { isEncrypted } from '../core/request-scheme.ts'
import { secretHash } from '../core/secret.ts'
import type { MetricRegistry } from '../machines/metrics/metrics.ts'
import { binary, EventWriter } from '../machines/sse/frames.ts'
import type { ClientConnection, Reading } from '../pipeline/client-connection.ts'
import { headerSecret } from '../pipeline/request/authentication/secret-key.ts'
import { MAX_TOKEN_LENGTH } from '../pipeline/request/authentication/token.ts'
import { SLOWEST } from './body-arrival.ts'
import { BODY_WEIGHT, type BodyMemory, BodyShare, noBodyMemory } from './body-memory.ts'
import type { CallerReply, CallerRequest, Watched } from './caller.ts'
import type { ClientAddresses } from './client-address.ts'
import type { OpenStreams } from './open-streams.ts'
import type { PlainReply, PlainRequest } from './plain/reply.ts'
import { trustedCertificate } from './tls/client-certificate.ts'

/** Parts that the connections of one listener share. */
export interface HttpConnectionSource {
  clock: Clock
  memory: BodyMemory
  /** Milliseconds after which a body has to have come at a certain rate on average. */
  slowAfter: number
  /** Bucket of failed authentications of a caller. */
  addresses: Pick<ClientAddresses, 'of' | 'look'>
  metrics: MetricRegistry
  streams: OpenStreams
}

export abstract class HttpConnection implements ClientConnection {
  readonly contentLength: number | undefined
  protected readonly request: CallerRequest
  protected readonly response: CallerReply
  protected readonly source: HttpConnectionSource
  /** Made when something is first held. */
  private opened: BodyShare | undefined
  private writer: EventWriter | undefined
  /** Absent until bytes wait for the caller. */
  private watch: ReadingWatch | undefined
  /** Bytes of a long reply that was not taken at once. */
  private queued = 0
  private drained: (() => void) | undefined

  constructor(request: CallerRequest, response: CallerReply, source: HttpConnectionSource) {
    this.request = request
    this.response = response
    this.source = source
    this.contentLength = parseContentLength(request)
  }

  abstract readBody(limit: number, reading?: Reading): Promise<Buffer>

  protected get share(): BodyShare {
    this.opened ??= new BodyShare(this.source.memory)
    return this.opened
  }

  /** Called before the head of a whole reply: the body may not have been read. */
  protected abstract giveUpBody(status: number): void

  address(): string {
    return this.source.addresses.of(this.request)
  }

  digest(secret: string): string {
    return digestOn(this.request.socket, secret)
  }

  isEncrypted(): boolean {
    return isEncrypted(this.request.socket)
  }

  certificate(): X509Certificate | undefined {
    return trustedCertificate(this.request.socket, this.response)
  }

  reserve(bytes: number): Promise<void> | undefined {
    return this.share.reserve(bytes)
  }

  free(bytes: number): void {
    this.share.giveBack(bytes)
  }

  /** The exchange holds its body no longer. A long reply that waits for its caller counts until the caller has it, or has left. */
  release(): void {
    if (this.queued > 0) this.share.keep(this.queued)
    else this.share.release()
  }

  whole(status: number, headers: OutgoingHttpHeaders, json: string | readonly Buffer[]): void {
    const { response } = this
    if (response.headersSent || response.destroyed) return
    this.giveUpBody(status)
    const length = jsonLength(json)
    const head: OutgoingHttpHeader[] = ['Content-Type', 'application/json', 'Content-Length', length]
    for (const name in headers) {
      const value = headers[name]
      if (value !== undefined) head.push(name, value)
    }
    response.writeHead(status, head)
    if (typeof json !== 'string') writePieces(response, json)
    // Head and body leave in one write; as latin1, where that is the same, without a look at every character.
    else response.end(json, length === json.length ? 'latin1' : 'utf8')
    if (length > LARGE && (!response.writableEnded || unsent(response) > 0)) {
      this.queued = length
      this.endWatched()
    }
  }

  /** Lets the connection end with the reply whose head has been sent, once all of it has been taken. */
  protected abstract closeBehind(): void

  /** The reply has been written, but the caller has not taken all of it. */
  protected endWatched(): void {
    const { response } = this
    this.watch ??= new ReadingWatch(response, this.source.clock)
    const { watch } = this
    watch.begin()
    response.once('close', () => {
      watch.end()
      if (this.queued > 0) this.share.release()
    })
  }

  openStream(headers: OutgoingHttpHeaders): void {
    // A caller of HTTP/1.0 knows no chunks.
    this.writer = new EventWriter(this.response, headers, this.request.httpVersion !== '1.0')
    this.source.streams.count++
  }

  /** The reply is over: its caller has it, or has left. */
  replyClosed(): void {
    if (this.writer) this.source.streams.count--
  }

  bytes(text: string): boolean {
    return this.writer?.writeBytes(text) !== false || this.awaitDrain()
  }

  text(text: string): boolean {
    return this.writer?.writeText(text) !== false || this.awaitDrain()
  }

  onDrain(fn: () => void): void {
    this.drained = fn
  }

  endStream(text: string, raw = false, isCut = false): void {
    if (isCut) this.closeBehind()
    this.writer?.end(raw ? text : binary(text), !isCut)
    const waiting = unsent(this.response)
    // The last events of some formats hold all of the answer once more.
    if (waiting > LARGE) this.queued = waiting
    if (this.watch || waiting > 0) this.endWatched()
  }

  probe(): void {
    const { response } = this
    if (response.writableEnded || response.destroyed) return
    if (this.writer) this.text(': \n\n')
    else if (!response.headersSent) this.sendLetter()
  }

  /** Sends one of the first letters of the reply, whose rest is not known yet. */
  protected abstract sendLetter(): void

  /** A write that found the socket full starts the stall clock and waits for the drain. */
  private awaitDrain(): boolean {
    if (this.response.destroyed) return true
    this.watch ??= new ReadingWatch(this.response, this.source.clock)
    if (this.watch.begin()) {
      this.writer?.onDrain(() => {
        this.watch?.end()
        const fn = this.drained
        this.drained = undefined
        fn?.()
      })
    }
    return false
  }
}

/** The secret that a connection sent last, so that its digest is computed once per connection and not once per request. */
const LAST = Symbol('last secret')
type Known = Socket & { [LAST]?: { readonly secret: string; readonly digest: string } }

/** The digest of a secret that came over this connection. */
export function digestOn(socket: Known, secret: string): string {
  let last = socket[LAST]
  if (last?.secret !== secret) {
    last = { secret, digest: secretHash(secret) }
    socket[LAST] = last
  }
  return last.digest
}

/** The digest of the secret of a request; undefined where it has none, or two. */
export function requestSender({ headers, socket }: Pick<CallerRequest, 'headers' | 'socket'>): string | undefined {
  try {
    return digestOn(socket, headerSecret(headers, MAX_TOKEN_LENGTH))
  } catch {
    return undefined
  }
}

/** Bytes of the body as announced. */
export function parseContentLength({ headers }: Pick<IncomingMessage, 'headers'>): number | undefined {
  const length = headers['content-length']
  return length === undefined ? undefined : Number(length)
}

/** Bytes of a body. */
export function jsonLength(json: string | readonly Buffer[]): number {
  return typeof json === 'string' ? Buffer.byteLength(json) : json.reduce((sum, piece) => sum + piece.length, 0)
}

/** Smaller replies fit what the system takes at once. */
const LARGE = 64 * 1024

/**
 * A long body in pieces, written as fast as the caller takes them.
 * The head has been written, with the length of all pieces together.
 */
function writePieces(response: CallerReply, pieces: readonly Buffer[]): void {
  let next = 0
  const pump = (): void => {
    while (next < pieces.length) {
      if (response.destroyed) return
      if (!response.write(entryAt(pieces, next++)) && next < pieces.length) {
        response.once('drain', pump)
        return
      }
    }
    response.end('', 'latin1')
  }
  pump()
}

const NO_BODY = Buffer.alloc(0)

/** The connection of one caller whose request has come whole. */
export class PlainClient extends HttpConnection {
  declare protected readonly request: PlainRequest
  declare protected readonly response: PlainReply

  /** @throws Fault 413 beyond the limit, 499 where the caller has left, 503 without memory for it, and the reason of the cancel. */
  async readBody(limit: number, { payer, cancel }: Reading = {}): Promise<Buffer> {
    const { share, request } = this
    const { body, socket } = request
    if (body.length > limit) throw new Fault('too_large', { message: `Request payload too large: at most ${limit} bytes are accepted` })
    if (cancel?.aborted) throw cancel.reason
    if (socket.destroyed) throw new Fault('client_gone')
    if (!share.takeWhole(body.length * BODY_WEIGHT, payer)) await this.room(body.length * BODY_WEIGHT)
    request.body = NO_BODY
    return body
  }

  /** It has come. */
  protected giveUpBody(): void {}

  protected closeBehind(): void {
    this.response.lingers = true
  }

  protected sendLetter(): void {
    this.response.sendLetter()
  }

  private room(bytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (granted: boolean): void => {
        if (!granted) reject(noBodyMemory())
        else {
          this.share.arrived()
          resolve()
        }
      }
      if (this.share.take(bytes, done)) done(true)
    })
  }
}

/** Milliseconds in which a caller has to take something of what waits for it. */
const MAX_SILENCE_MS = 60_000

/** Milliseconds of waiting after which the caller has to have taken `SLOWEST` on average, as for bodies on their way in. */
const SLOW_AFTER = 60_000

/**
 * Cuts off a caller that does not take its reply, or takes it too slowly: what it leaves waiting is held in memory.
 * Only time in which bytes wait for the caller counts, so that a stream whose provider is slow is never cut off for that.
 */
export class ReadingWatch {
  private readonly response: Watched
  private readonly clock: Clock
  private timer: Timer | undefined
  /** Milliseconds for which bytes have waited for the caller. */
  private waited = 0
  /** Bytes that the system has taken meanwhile. */
  private read = 0
  /** Value of `taken` at the last look, the time of that look, and the time of its last rise: monotonic milliseconds. */
  private before: number | undefined
  private looked = 0
  private rose = 0

  constructor(response: Watched, clock: Clock) {
    this.response = response
    this.clock = clock
  }

  /** From now on bytes wait for the caller. @returns false where they did already. */
  begin(): boolean {
    if (this.timer) return false
    this.looked = this.clock.monotonic()
    this.rose = this.looked
    this.before = this.taken()
    this.arm()
    return true
  }

  /** Nothing waits any more. */
  end(): void {
    if (!this.timer) return
    this.count(true)
    this.timer.cancel()
    this.timer = undefined
  }

  /** @param waited whether bytes have waited since the last look. */
  private count(waited: boolean): void {
    const { before } = this
    const now = this.clock.monotonic()
    const after = this.taken()
    if (!waited || before === undefined || after === undefined) this.rose = now
    else {
      this.waited += now - this.looked
      this.read += after - before
      if (after > before) this.rose = now
    }
    this.before = after
    this.looked = now
  }

  /** One timer for the earlier of the two limits, as far as is known now. */
  private arm(): void {
    const slow = this.looked + Math.max(SLOW_AFTER, (this.read * 1000) / SLOWEST) - this.waited
    const due = Math.min(this.rose + MAX_SILENCE_MS, slow)
    this.timer = this.clock.after(Math.max(1, Math.ceil(due - this.looked)), this.look)
  }

  private readonly look = (): void => {
    const { response } = this
    if (response.destroyed || response.writableFinished) return
    // Where nothing waits now, as in a download whose disk is slow, the time is not the caller's.
    this.count(unsent(response) > 0)
    const silent = this.looked - this.rose >= MAX_SILENCE_MS
    const slow = this.waited >= SLOW_AFTER && this.read * 1000 < this.waited * SLOWEST
    if (silent || slow) response.destroy()
    else this.arm()
  }

  /**
   * Bytes of the connection that the system has taken so far; keep-alive comments, which queue up meanwhile, do not change it.
   * Undefined for a reply behind another one in its pipeline: the wait is not its own.
   */
  private taken(): number | undefined {
    const { socket } = this.response
    return socket ? socket.bytesWritten - socketQueue(socket) : undefined
  }
}

/** Bytes of a reply that the system has not taken yet. */
export function unsent(response: Watched): number {
  // A reply behind another one in its pipeline has no socket, and holds its bytes itself.
  return response.socket ? socketQueue(response.socket) : response.writableLength
}

/** Field that Node's own socket time-out reads. */
function socketQueue(socket: Socket & { _handle?: { writeQueueSize?: number } | null }): number {
  return (socket._handle?.writeQueueSize ?? 0) + socket.writableLength
}

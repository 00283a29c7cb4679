/**
 * The connection of one caller, as the pipeline sees it, over HTTP. How the body comes is the difference between a request that Node's
 * server has parsed and a plain one, which has come whole.
 */

import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { Clock } from '../core/clock.ts'
import { entryAt } from '../core/entry-at.ts'
import { Fault } from '../core/faults.ts'
import { gauge, type Tallies } from '../core/metrics.ts'
import { hashOf } from '../core/secret.ts'
import { EventWriter } from '../dialects/sse/writer.ts'
import type { ClientConnection, Reading } from '../pipeline/client-connection.ts'
import { BODY_WEIGHT, type BodyMemory, type BodyShare, noBodyMemory } from './body-memory.ts'
import type { CallerReply, CallerRequest } from './caller.ts'
import type { ClientAddresses } from './client-address.ts'
import { giveUpBody } from './lingering-close.ts'
import type { PlainRequest } from './plain/reply.ts'
import { ReadingWatch, unsent } from './reading-watch.ts'
import { type BodySource, readPieces, readWhole } from './request-body.ts'

export const openStreams = gauge('open_streams', 'Streams being relayed now.')

/** What the connections of one listener share. */
export interface HttpConnectionSource {
  clock: Clock
  memory: BodyMemory
  /** Milliseconds after which a body has to have come at a certain rate on average. */
  slowAfter: number
  /** What failed authentications of a caller count by. */
  addresses: Pick<ClientAddresses, 'of'>
  tallies: Tallies
}

export abstract class HttpConnection implements ClientConnection {
  readonly contentLength: number | undefined
  protected readonly request: CallerRequest
  protected readonly response: CallerReply
  protected readonly source: HttpConnectionSource
  protected readonly share: BodyShare
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
    this.share = source.memory.open()
    this.contentLength = contentLengthOf(request)
  }

  abstract readBody(limit: number, reading?: Reading): Promise<Buffer>

  /** Called before the head of a whole reply: the body may not have been read. */
  protected abstract giveUpBody(status: number): void

  address(): string {
    return this.source.addresses.of(this.request)
  }

  digest(secret: string): string {
    return digestOn(this.request.socket, secret)
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
    const length = lengthOf(json)
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
    this.writer = new EventWriter(this.response)
    this.writer.open(headers)
    const streams = this.source.tallies.of(openStreams)
    streams.add()
    this.response.once('close', () => streams.add(-1))
  }

  bytes(text: string): boolean {
    return this.watched(this.writer?.writeBytes(text))
  }

  text(text: string): boolean {
    return this.watched(this.writer?.writeText(text))
  }

  onDrain(fn: () => void): void {
    this.drained = fn
  }

  endStream(text: string, raw = false): void {
    if (raw) this.writer?.writeBytes(text)
    this.writer?.end(raw ? '' : text)
    const waiting = unsent(this.response)
    // The last events of some formats hold all of the answer once more.
    if (waiting > LARGE) this.queued = waiting
    if (this.watch || waiting > 0) this.endWatched()
  }

  probe(): void {
    const { response } = this
    if (response.writableEnded || response.destroyed) return
    if (this.writer) this.text(': \n\n')
    else if (!response.headersSent) response.writeProcessing()
  }

  /** A write that found the socket full starts the stall clock and waits for the drain. */
  private watched(flowing: boolean | undefined): boolean {
    if (flowing !== false || this.response.destroyed) return true
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
    last = { secret, digest: hashOf(secret) }
    socket[LAST] = last
  }
  return last.digest
}

/** Bytes of the body as announced. */
export function contentLengthOf({ headers }: Pick<IncomingMessage, 'headers'>): number | undefined {
  const length = headers['content-length']
  return length === undefined ? undefined : Number(length)
}

function lengthOf(json: string | readonly Buffer[]): number {
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

/** The connection of one caller over Node's HTTP server. */
export class NodeConnection extends HttpConnection {
  declare protected readonly request: IncomingMessage
  declare protected readonly response: ServerResponse
  private readonly expectsContinue: boolean

  constructor(request: IncomingMessage, response: ServerResponse, source: HttpConnectionSource, expectsContinue: boolean) {
    super(request, response, source)
    this.expectsContinue = expectsContinue
  }

  readBody(limit: number, reading?: Reading): Promise<Buffer> {
    if (reading?.payer !== undefined) this.share.for(reading.payer)
    return readWhole(this.request, limit, this.bodySource(reading))
  }

  /** The body as it comes; it waits while a piece is worked on. @throws Fault 408, 499, 503. */
  readPieces(): AsyncGenerator<Buffer> {
    return readPieces(this.request, this.bodySource())
  }

  /** Sends bytes whose length the headers state, as fast as the caller takes them. @param bytes undefined for a head alone. */
  download(status: number, headers: OutgoingHttpHeaders, bytes: Readable | undefined): void {
    const { response } = this
    if (response.destroyed) {
      bytes?.destroy()
      return
    }
    response.writeHead(status, headers)
    if (!bytes) {
      response.end()
      return
    }
    this.endWatched()
    response.once('close', () => bytes.destroy())
    bytes.once('error', () => response.destroy())
    bytes.pipe(response)
  }

  protected giveUpBody(status: number): void {
    giveUpBody(this.request, this.response, status, this.source.clock)
  }

  private bodySource({ cancel, count }: Reading = {}): BodySource {
    const { share, source } = this
    if (this.expectsContinue) this.response.writeContinue()
    return { share, length: this.contentLength, clock: source.clock, slowAfter: source.slowAfter, cancel, count }
  }
}

/** The connection of one caller whose request has come whole. */
export class PlainClient extends HttpConnection {
  declare protected readonly request: PlainRequest

  /** @throws Fault 413 beyond the limit, 499 where the caller has left, 503 without memory for it, and the reason of the cancel. */
  async readBody(limit: number, { payer, cancel }: Reading = {}): Promise<Buffer> {
    const { share, request } = this
    const { body, socket } = request
    if (payer !== undefined) share.for(payer)
    if (body.length > limit) throw new Fault('too_large', { message: `Request payload too large: at most ${limit} bytes are accepted` })
    if (cancel?.aborted) throw cancel.reason
    if (socket.destroyed) throw new Fault('client_gone')
    if (!share.takeNow(body.length * BODY_WEIGHT)) await this.room(body.length * BODY_WEIGHT)
    share.arrived()
    return request.takeBody()
  }

  /** It has come. */
  protected giveUpBody(): void {}

  private room(bytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (granted: boolean): void => (granted ? resolve() : reject(noBodyMemory()))
      if (this.share.take(bytes, done)) resolve()
    })
  }
}

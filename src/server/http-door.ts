/** The pipeline's door to one caller, over Node's HTTP server. */
import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { Clock, Timer } from '../core/clock.ts'
import { hashOf } from '../core/secret.ts'
import type { Door, Reading } from '../pipeline/door.ts'
import { EventWriter } from '../sse/writer.ts'
import type { BodyMemory, BodyShare } from './body-memory.ts'
import type { ClientAddresses } from './client-address.ts'
import { giveUpBody } from './lingering-close.ts'
import { writePieces } from './piece-writer.ts'
import { type BodySource, readPieces, readWhole } from './request-body.ts'

/** A caller that reads nothing for so long is cut off. */
const WRITE_STALL = 60_000

/** What the doors of one listener share. */
export interface DoorSource {
  clock: Clock
  memory: BodyMemory
  /** Milliseconds after which a body has to have come at a certain rate on average. */
  slowAfter: number
  /** What failed authentications of a caller count by. */
  addresses: Pick<ClientAddresses, 'of'>
  /** Counts event streams. */
  streams: { opened(): void; closed(): void }
}

export class HttpDoor implements Door {
  readonly contentLength: number | undefined
  private readonly request: IncomingMessage
  private readonly response: ServerResponse
  private readonly source: DoorSource
  private readonly clock: Clock
  private readonly expectsContinue: boolean
  private readonly share: BodyShare
  private writer: EventWriter | undefined
  private stall: Timer | undefined
  private drained: (() => void) | undefined

  constructor(request: IncomingMessage, response: ServerResponse, source: DoorSource, expectsContinue: boolean) {
    this.request = request
    this.response = response
    this.source = source
    this.clock = source.clock
    this.expectsContinue = expectsContinue
    this.share = source.memory.open()
    this.contentLength = contentLengthOf(request)
  }

  address(): string {
    return this.source.addresses.of(this.request)
  }

  digest(secret: string): string {
    const { socket }: { socket: Known } = this.request
    let last = socket[LAST]
    if (last?.secret !== secret) {
      last = { secret, digest: hashOf(secret) }
      socket[LAST] = last
    }
    return last.digest
  }

  readBody(limit: number, reading?: Reading): Promise<Buffer> {
    if (reading?.payer !== undefined) this.share.for(reading.payer)
    return readWhole(this.request, limit, this.bodySource(reading))
  }

  /** The body as it comes; it waits while a piece is worked on. @throws Fault 408, 499, 503. */
  readPieces(): AsyncGenerator<Buffer> {
    return readPieces(this.request, this.bodySource())
  }

  reserve(bytes: number): Promise<void> | undefined {
    return this.share.reserve(bytes)
  }

  /** The exchange holds its body no longer. */
  release(): void {
    this.share.release()
  }

  /** Bytes whose length the headers tell, as fast as the caller takes them. @param bytes undefined for a head alone. */
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

  whole(status: number, headers: OutgoingHttpHeaders, json: string | readonly Buffer[]): void {
    const { response, request } = this
    if (response.headersSent || response.destroyed) return
    giveUpBody(request, response, status, this.clock)
    const length = lengthOf(json)
    const head: OutgoingHttpHeader[] = ['Content-Type', 'application/json', 'Content-Length', length]
    for (const name in headers) {
      const value = headers[name]
      if (value !== undefined) head.push(name, value)
    }
    response.writeHead(status, head)
    if (typeof json !== 'string') {
      writePieces(response, json)
      if (length > LARGE) this.endWatched()
      return
    }
    // Head and body leave in one write; as latin1, where that is the same, without a look at every character.
    response.end(json, length === json.length ? 'latin1' : 'utf8')
    if (length > LARGE && this.unsent() > 0) this.endWatched()
  }

  /** The reply has been said, but not all of it taken. */
  private endWatched(): void {
    if (!this.stall) this.watchStall()
    this.response.once('close', () => this.stall?.cancel())
  }

  openStream(headers: OutgoingHttpHeaders): void {
    this.writer = new EventWriter(this.response)
    this.writer.open(headers)
    const { streams } = this.source
    streams.opened()
    this.response.once('close', () => streams.closed())
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

  endStream(text: string): void {
    this.writer?.end(text)
    if (this.stall || this.unsent() > 0) this.endWatched()
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
    if (!this.stall) {
      this.watchStall()
      this.writer?.onDrain(() => {
        this.stall?.cancel()
        this.stall = undefined
        const fn = this.drained
        this.drained = undefined
        fn?.()
      })
    }
    return false
  }

  /** Cuts a caller off that has taken nothing for so long; one that is merely slow has time. */
  private watchStall(): void {
    const before = this.taken()
    this.stall = this.clock.after(WRITE_STALL, () => {
      if (this.response.destroyed || this.response.writableFinished) return
      if (this.taken() === before) this.response.destroy()
      else this.watchStall()
    })
  }

  /** Bytes that the system has taken so far; keep-alive comments, which queue up meanwhile, do not change it. */
  private taken(): number {
    return (this.response.socket?.bytesWritten ?? 0) - this.unsent()
  }

  /** Bytes that the system has not taken yet: what Node's own socket time-out looks at. */
  private unsent(): number {
    const socket = this.response.socket as (Socket & { _handle?: { writeQueueSize?: number } | null }) | null
    return (socket?._handle?.writeQueueSize ?? 0) + (socket?.writableLength ?? 0)
  }

  private bodySource({ cancel, count }: Reading = {}): BodySource {
    const { share, clock } = this
    if (this.expectsContinue) this.response.writeContinue()
    return { share, clock, slowAfter: this.source.slowAfter, cancel, count }
  }
}

/** The secret that a connection sent last, so that its digest is computed once per connection and not once per request. */
const LAST = Symbol('last secret')
type Known = Socket & { [LAST]?: { readonly secret: string; readonly digest: string } }

/** Bytes of the body as announced. */
export function contentLengthOf({ headers }: IncomingMessage): number | undefined {
  const length = headers['content-length']
  return length === undefined ? undefined : Number(length)
}

function lengthOf(json: string | readonly Buffer[]): number {
  return typeof json === 'string' ? Buffer.byteLength(json) : json.reduce((sum, piece) => sum + piece.length, 0)
}

/** Smaller replies fit what the system takes at once. */
const LARGE = 64 * 1024

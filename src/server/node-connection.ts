/** The connection of one caller over Node's HTTP server, whose body comes in pieces. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { Reading } from '../pipeline/client-connection.ts'
import { probeReply } from './early-letters.ts'
import { HttpConnection, type HttpConnectionSource } from './http-connection.ts'
import { closeBehindReply, giveUpBody } from './lingering-close.ts'
import { type BodySource, readPieces, readWhole } from './request-body.ts'

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

  protected closeBehind(): void {
    closeBehindReply(this.request, this.response, this.source.clock)
  }

  protected sendLetter(): void {
    probeReply(this.response)
  }

  private bodySource({ cancel, count }: Reading = {}): BodySource {
    const { share, source } = this
    if (this.expectsContinue) this.response.writeContinue()
    return { share, length: this.contentLength, clock: source.clock, slowAfter: source.slowAfter, cancel, count }
  }
}

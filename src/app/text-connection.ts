/** A connection without a socket: the body is there, and the reply is kept. */
import type { OutgoingHttpHeaders } from 'node:http'
import { Fault } from '../core/faults.ts'
import type { ClientConnection } from '../pipeline/client-connection.ts'

export class TextConnection implements ClientConnection {
  status = 0
  replyText = ''
  readonly contentLength: number
  private readonly body: Buffer

  constructor(text: string) {
    this.body = Buffer.from(text)
    this.contentLength = this.body.length
  }

  readBody(limit: number): Promise<Buffer> {
    if (this.body.length <= limit) return Promise.resolve(this.body)
    return Promise.reject(new Fault('too_large', { message: `Request payload too large: at most ${limit} bytes are accepted` }))
  }

  whole(status: number, _headers: OutgoingHttpHeaders, json: string | readonly Buffer[]): void {
    this.status = status
    this.replyText = typeof json === 'string' ? json : Buffer.concat(json).toString()
  }

  openStream(): void {}
  bytes(): boolean {
    return true
  }
  text(): boolean {
    return true
  }
  onDrain(): void {}
  endStream(): void {}
  probe(): void {}
}

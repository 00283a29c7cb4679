/** The caller's end of a simulated request: no socket, only what was answered and when. */
import type { Clock } from '../../src/core/clock.ts'
import type { ClientConnection } from '../../src/pipeline/client-connection.ts'

export class CallerConnection implements ClientConnection {
  readonly contentLength: number
  /** Status of the reply, 0 until it comes; that of a stream is 200 however it ends. */
  status = 0
  /** Virtual milliseconds of the first content, or of the whole reply; 0 until it comes. */
  firstAt = 0
  ended = false
  /** Text of the reply, or the last piece of a stream. */
  last = ''
  private readonly clock: Clock
  private readonly body: Buffer

  constructor(clock: Clock, body: Buffer) {
    this.clock = clock
    this.body = body
    this.contentLength = body.length
  }

  /** True where the caller has a whole answer without an error in it. */
  get served(): boolean {
    return this.ended && this.status === 200 && !this.last.includes('"error":')
  }

  readBody(): Promise<Buffer> {
    return Promise.resolve(this.body)
  }

  whole(status: number, _headers: unknown, json: string): void {
    this.status = status
    this.firstAt = this.clock.monotonic()
    this.finish(json)
  }

  openStream(): void {
    this.status = 200
  }

  bytes(text: string): boolean {
    return this.text(text)
  }

  /** Comments and lifecycle events say nothing; the first content is what a caller waits for. */
  text(text: string): boolean {
    if (this.firstAt === 0 && text.includes('"content":"An')) this.firstAt = this.clock.monotonic()
    return true
  }

  onDrain(): void {
    throw new Error('a simulated caller is never slow')
  }

  endStream(text: string): void {
    this.finish(text)
  }

  probe(): void {}

  private finish(text: string): void {
    if (this.ended) throw new Error('a request was answered twice')
    this.ended = true
    this.last = text
  }
}

/** The reply to a plain request: what the server uses of Node's ServerResponse, written straight to the socket. */
import type { IncomingHttpHeaders, OutgoingHttpHeader, OutgoingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { STATUS_CODES, validateHeaderName, validateHeaderValue } from '../../core/node-http.ts'
import type { CallerReply, CallerRequest } from '../caller.ts'
import { FIRST_LETTERS } from '../early-letters.ts'

export class PlainRequest implements CallerRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly socket: Socket
  /** Released once it is read: the request lives as long as its reply. */
  body: Buffer

  constructor(socket: Socket, { path, headers, body }: { path: string; headers: IncomingHttpHeaders; body: Buffer }) {
    this.path = path
    this.headers = headers
    this.socket = socket
    this.body = body
  }
}

/** Interface of the connection of a reply. */
export interface ReplyConnection {
  readonly socket: Socket
  /** All connections of one kind: the two lines that a connection is kept with, and the date, are the last lines of a head. */
  readonly requests: { keptLines(): string }
  /** Called once the system has taken all of the reply. */
  flushed(error?: Error | null): void
}

/** Names that have been found to be valid: the gateway writes few. */
const valid = new Set<string>()

type End = 'finish' | 'close'

const NO_LISTENERS: readonly { readonly event: End; readonly fn: () => void }[] = []

/**
 * Reports `finish` and `close` when the system has taken all of it, and `close` alone when the connection has ended before. An emitter of
 * Node's would do so, and keep 200 bytes more meanwhile.
 */
export class PlainReply implements CallerReply {
  readonly req: PlainRequest
  /** Bodies are framed by what writes them. */
  chunkedEncoding = false
  shouldKeepAlive = true
  /** True where the connection ends with this reply although its head says nothing of it. */
  lingers = false
  headersSent = false
  writableEnded = false
  writableFinished = false
  readonly socket: Socket
  private readonly connection: ReplyConnection
  /** The head, until it leaves with the first bytes of the body. */
  private head = ''
  private listeners = NO_LISTENERS
  /** Number of the first letters that have left. */
  private letters = 0

  constructor(request: PlainRequest, connection: ReplyConnection) {
    this.req = request
    this.connection = connection
    this.socket = connection.socket
  }

  get destroyed(): boolean {
    return this.socket.destroyed
  }

  get writableLength(): number {
    return this.socket.writableLength
  }

  /** @throws TypeError where a header cannot be written, as Node's own does. */
  writeHead(status: number, headers: OutgoingHttpHeaders | OutgoingHttpHeader[]): void {
    let head = `${FIRST_LETTERS.slice(this.letters)}${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`
    if (Array.isArray(headers)) for (let at = 0; at + 1 < headers.length; at += 2) head += headerLine(String(headers[at]), headers[at + 1])
    else for (const name in headers) head += headerLine(name, headers[name])
    this.head = `${head}${this.shouldKeepAlive ? this.connection.requests.keptLines() : CLOSED_LINES}\r\n`
    this.headersSent = true
  }

  write(chunk: string | Buffer, encoding?: BufferEncoding): boolean {
    const { socket } = this
    if (typeof chunk === 'string' && encoding === 'latin1') return socket.write(this.takeHead() + chunk, 'latin1')
    const hasHead = this.holdHead()
    const flowing = typeof chunk === 'string' ? socket.write(chunk, encoding) : socket.write(chunk)
    if (hasHead) socket.uncork()
    return flowing
  }

  end(text = '', encoding: BufferEncoding = 'utf8'): void {
    const { connection, socket } = this
    const flushed = (error?: Error | null): void => connection.flushed(error)
    this.writableEnded = true
    if (encoding === 'latin1') socket.write(this.takeHead() + text, 'latin1', flushed)
    else {
      const hasHead = this.holdHead()
      socket.write(text, encoding, flushed)
      if (hasHead) socket.uncork()
    }
  }

  /** Writers that wait for room wait for that of the connection. */
  once(event: End | 'drain', fn: () => void): void {
    if (event === 'drain') this.socket.once('drain', fn)
    else this.on(event, fn)
  }

  /** It ends once. */
  on(event: End, fn: () => void): void {
    this.listeners = [...this.listeners, { event, fn }]
  }

  /** Each of them comes once at most. */
  report(end: End): void {
    for (const { event, fn } of this.listeners) if (event === end) fn()
  }

  /** Sends one of the first letters, before the rest is known. */
  sendLetter(): void {
    if (this.letters === FIRST_LETTERS.length) return
    this.socket.write(FIRST_LETTERS.charAt(this.letters++), 'latin1')
  }

  destroy(): void {
    this.socket.destroy()
  }

  private takeHead(): string {
    const { head } = this
    this.head = ''
    return head
  }

  /** Has the head leave in one write with what follows, which is of another encoding. @returns false where it has left. */
  private holdHead(): boolean {
    if (this.head === '') return false
    this.socket.cork()
    this.socket.write(this.takeHead(), 'latin1')
    return true
  }
}

const CLOSED_LINES = 'Connection: close\r\n'

function headerLine(name: string, value: OutgoingHttpHeader | undefined): string {
  if (value === undefined) return ''
  if (!valid.has(name)) {
    validateHeaderName(name)
    if (valid.size < MAX_NAMES) valid.add(name)
  }
  if (typeof value === 'number') return `${name}: ${value}\r\n`
  if (typeof value !== 'string') return value.map((one) => headerLine(name, one)).join('')
  validateHeaderValue(name, value)
  return `${name}: ${value}\r\n`
}

/** Names may come from plugins. */
const MAX_NAMES = 200

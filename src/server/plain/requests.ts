/**
 * The short way for requests that come whole and in the plain form: the head is read here and the reply is written to the socket,
 * without Node's HTTP server, which takes 10 µs more for each (decision 25). Everything else, and every connection on which something
 * else comes, is handed to Node's server with all bytes that have come.
 */
import type { IncomingHttpHeaders, Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { MACHINES_ON } from '../../machines/switch.ts'
import { isHost, lastHost } from '../edge-guard.ts'
import { closeLingering, READING_TIME } from '../lingering-close.ts'
import { PlainReply, PlainRequest, type ReplyConnection } from './reply.ts'

interface PlainRequestsOptions {
  /** Milliseconds. */
  readonly keepAlive: number
  /** Bytes of a head. */
  readonly maxHeaders: number
  readonly clock: Clock
  /** Answers a request. @returns false where Node's server has to take it; nothing has been written then. */
  readonly answer: (request: PlainRequest, reply: PlainReply) => boolean
  /** Refuses what never becomes a request, and closes the connection. */
  readonly refuse: (socket: Socket, fault: Fault) => void
  /** Nothing more is read of the connection until the reply under way has ended. */
  readonly unread: (socket: Socket) => void
}

/** Bytes of a head with its body: what one read of a socket brings. Longer bodies cost far more than what is spared here. */
const LONGEST = 64 * 1024

/** Reads that a request may come in: what comes in more is slow, and what has come is joined at each. */
const MAX_PIECES = 16

/** Milliseconds in which a first request has to begin, and any request to come whole; Node's time-outs hold for what takes longer. */
const MAX_SILENCE_MS = 1_000

/** As Node's server, which adds it so that a client that honours the header never meets a closed connection (`keepAliveTimeoutBuffer`). */
const KEEP_ALIVE_BUFFER = 1_000

const END_OF_HEAD = '\r\n\r\n'

export class PlainRequests {
  /** Called with each reply before it is answered. */
  onReply: ((reply: PlainReply) => void) | undefined
  readonly options: PlainRequestsOptions
  private readonly connections = new Map<Socket, PlainConnection>()
  readonly listeners = connectionListeners(this.connections)
  private readonly keptTail: string
  /** The second that `kept` was written for. */
  private second = 0
  private kept = ''

  constructor(options: PlainRequestsOptions) {
    this.options = options
    this.keptTail = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(options.keepAlive / 1000)}\r\n`
  }

  /** @param toNode gives the socket to Node's HTTP server. */
  take(socket: Socket, toNode: (socket: Socket) => void): void {
    this.connections.set(socket, new PlainConnection(socket, this, toNode))
  }

  left(socket: Socket): void {
    this.connections.delete(socket)
  }

  /** Replies under way. */
  open(): PlainReply[] {
    return [...this.connections.values()].flatMap(({ reply }) => reply ?? [])
  }

  /** Closes the connections that wait for their next request. */
  closeIdle(): void {
    for (const connection of this.connections.values()) connection.closeIdle()
  }

  closeAll(): void {
    for (const socket of this.connections.keys()) socket.destroy()
  }

  /** Last lines of a head, of one text for each second. */
  keptLines(): string {
    const second = Math.floor(this.options.clock.now() / 1000)
    if (second !== this.second) {
      this.second = second
      this.kept = `Date: ${new Date(second * 1000).toUTCString()}\r\n${this.keptTail}`
    }
    return this.kept
  }
}

/**
 * Puts the short way before the parser of a server that has no other listeners for connections yet.
 * @returns takes a socket that Node has released as a connection that has just been made.
 */
export function takePlainRequests(server: Server, plain: PlainRequests): (socket: Socket) => void {
  const parsers = server.listeners('connection') as ((this: Server, socket: Socket) => void)[]
  server.removeAllListeners('connection')
  const toNode = (socket: Socket): void => {
    for (const parser of parsers) parser.call(server, socket)
  }
  const take = MACHINES_ON ? (socket: Socket): void => plain.take(socket, toNode) : toNode
  server.on('connection', take)
  return take
}

type WholeRequest = PlainHead & { readonly body: Buffer }

class PlainConnection implements ReplyConnection {
  readonly socket: Socket
  readonly requests: PlainRequests
  private readonly toNode: (socket: Socket) => void
  /** Of the request that is being answered. */
  reply: PlainReply | undefined
  /** Bytes of the next request that have come. */
  private received: Buffer | undefined
  private pieces = 0
  /** When the first piece came of one that comes in several, on the clock that never steps back. */
  private begunAt = 0
  private silence = 0
  private hasAnswered = false
  /** The caller has closed its sending side. */
  private hasEnded = false

  constructor(socket: Socket, requests: PlainRequests, toNode: (socket: Socket) => void) {
    this.socket = socket
    this.requests = requests
    this.toNode = toNode
    this.wait(MAX_SILENCE_MS)
    const { data, end, closed, failed, late } = requests.listeners
    socket.on('data', data).on('end', end).on('close', closed).on('error', failed).on('timeout', late)
  }

  closeIdle(): void {
    if (!this.reply && !this.received && this.hasAnswered) this.socket.destroy()
  }

  /** @param silence milliseconds without a byte in either direction, after which `late` is called. */
  private wait(silence: number): void {
    if (this.silence === silence) return
    this.silence = silence
    this.socket.setTimeout(silence)
  }

  data(chunk: Buffer): void {
    const bytes = this.received ? Buffer.concat([this.received, chunk]) : chunk
    if (!this.reply) this.next(bytes)
    else {
      // Another request behind this one: it waits its turn, and so does the end of the connection, with which it could not be handed on.
      this.received = bytes
      this.socket.pause()
      this.requests.options.unread(this.socket)
    }
  }

  /** Answers a request that has come whole, waits for the rest of one that may be plain, and hands on anything else. */
  private next(bytes: Buffer): void {
    this.pieces++
    const request = this.read(bytes)
    if (request === 'unfinished' && this.isInTime()) {
      this.received = bytes
      this.wait(MAX_SILENCE_MS)
      return
    }
    this.received = undefined
    this.pieces = 0
    if (!request || request === 'unfinished' || !this.answer(request)) this.handOn(bytes)
  }

  /** @returns undefined for what is not plain. */
  private read(bytes: Buffer): WholeRequest | 'unfinished' | undefined {
    const { maxHeaders } = this.requests.options
    const end = bytes.indexOf(END_OF_HEAD)
    if (end === -1) return mayBePlain(bytes) && this.mayWait(bytes.length + 1) ? 'unfinished' : undefined
    const start = end + END_OF_HEAD.length
    const head = start <= maxHeaders ? plainHead(bytes.toString('latin1', 0, start)) : undefined
    if (!head) return undefined
    const length = start + head.length
    if (bytes.length === length) return { ...head, body: bytes.subarray(start) }
    return bytes.length < length && this.mayWait(length) ? 'unfinished' : undefined
  }

  /** Pieces that each come in time do not add up to a wait that no limit of Node's has begun to count. */
  private isInTime(): boolean {
    const now = this.requests.options.clock.monotonic()
    if (this.pieces === 1) this.begunAt = now
    return now - this.begunAt < MAX_SILENCE_MS
  }

  private mayWait(length: number): boolean {
    return length <= LONGEST && this.pieces < MAX_PIECES
  }

  private answer(whole: WholeRequest): boolean {
    const request = new PlainRequest(this.socket, whole)
    const reply = new PlainReply(request, this)
    this.reply = reply
    this.requests.onReply?.(reply)
    if (this.requests.options.answer(request, reply)) return true
    this.reply = undefined
    reply.report('close')
    return false
  }

  /** Gives the connection to Node's server, which it stays with. */
  private handOn(bytes: Buffer | undefined): void {
    const { socket } = this
    this.detach()
    this.toNode(socket)
    socket.off('error', this.requests.listeners.failed)
    // Node's parser listens by now, so that these bytes reach it before anything that comes later.
    if (bytes && bytes.length > 0) socket.unshift(bytes)
    socket.resume()
  }

  private detach(): void {
    const { socket } = this
    this.received = undefined
    this.requests.left(socket)
    socket.setTimeout(0)
    const { data, end, closed, late } = this.requests.listeners
    socket.off('data', data).off('end', end).off('close', closed).off('timeout', late)
  }

  /** The system has taken all of the reply. */
  flushed(error?: Error | null): void {
    const { reply, socket } = this
    if (error || !reply) return
    this.reply = undefined
    this.hasAnswered = true
    this.wait(this.requests.options.keepAlive + KEEP_ALIVE_BUFFER)
    reply.writableFinished = true
    reply.report('finish')
    reply.report('close')
    if (reply.lingers) {
      this.detach()
      closeLingering(socket, this.requests.options.clock, READING_TIME)
    } else if (!reply.shouldKeepAlive) socket.destroySoon()
    else if (this.received || this.hasEnded) this.goOn()
  }

  /** Turns to what has come meanwhile. */
  private goOn(): void {
    const { received, socket } = this
    if (socket.destroyed) return
    if (received) {
      this.received = undefined
      socket.resume()
      this.next(received)
    }
    if (this.hasEnded && !this.reply) this.end()
  }

  end(): void {
    this.hasEnded = true
    if (this.reply) return
    if (this.received) {
      this.detach()
      this.requests.options.refuse(this.socket, new Fault('bad_request', { message: 'Not a valid HTTP/1.1 request' }))
    } else this.socket.end()
  }

  late(): void {
    if (this.reply) return
    if (this.received || !this.hasAnswered) this.handOn(this.received)
    else this.socket.destroy()
  }

  closed(): void {
    const { reply } = this
    this.reply = undefined
    this.requests.left(this.socket)
    reply?.report('close')
  }
}

/** The listeners of all sockets: with functions of its own each connection would keep 400 bytes more. */
function connectionListeners(connections: ReadonlyMap<Socket, PlainConnection>) {
  return {
    data(this: Socket, chunk: Buffer): void {
      connections.get(this)?.data(chunk)
    },
    end(this: Socket): void {
      connections.get(this)?.end()
    },
    late(this: Socket): void {
      connections.get(this)?.late()
    },
    closed(this: Socket): void {
      connections.get(this)?.closed()
    },
    /** The end of the connection follows. */
    failed(): void {},
  }
}

/**
 * The head of a request in the one form that nearly all callers of an API send: POST, a path without a query, a body whose length is
 * stated. Whatever may be read in two ways is not of this form (RFC 9112, sections 2.2, 5 and 6), and goes to Node's server.
 */
interface PlainHead {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Bytes of the body. */
  readonly length: number
}

/** Lines of printable ASCII, each with CR and LF, and an empty one at the end. */
const LINES = /^(?:[ -~]+\r\n)+\r\n$/
const METHOD = 'POST '
const VERSION = ' HTTP/1.1'
/** Of the paths of the API. */
const PATH = /^(?:\/[\w.-]+)+$/
const NAME = /^[A-Za-z][A-Za-z0-9-]*$/
const LENGTH = /^(?:0|[1-9]\d{0,7})$/

/** Headers that change how the message is framed, what comes after it, or how the gateway answers it. */
const NOT_PLAIN: ReadonlySet<string> = new Set([
  ...['transfer-encoding', 'expect', 'upgrade', 'trailer', 'te', 'keep-alive', 'proxy-connection', 'origin', 'set-cookie'],
])

/** Headers of a request, here and at Node's server. */
export const MAX_HEADERS = 100

/** Names as clients write them, so that most are made lower case by a look-up. */
const LOWER = new Map<string, string>()
const COMMON = [
  ...['Host', 'Connection', 'Content-Type', 'Content-Length', 'Authorization', 'Accept', 'Accept-Encoding', 'Accept-Language'],
  ...['User-Agent', 'X-Api-Key', 'Anthropic-Version', 'Anthropic-Beta', 'Sec-Fetch-Mode', 'Traceparent', 'X-Session-Id'],
]
for (const name of COMMON) {
  LOWER.set(name, name.toLowerCase())
  LOWER.set(name.toLowerCase(), name.toLowerCase())
}

const lower = (name: string): string | undefined => LOWER.get(name) ?? (NAME.test(name) ? name.toLowerCase() : undefined)

/**
 * @param text the head with the empty line that ends it, one character per byte.
 * @returns undefined for any other form, right or wrong.
 */
export function plainHead(text: string): PlainHead | undefined {
  if (!text.startsWith(METHOD) || !LINES.test(text)) return undefined
  const first = text.indexOf('\r\n')
  const path = text.slice(METHOD.length, first - VERSION.length)
  if (!text.startsWith(VERSION, first - VERSION.length) || !PATH.test(path)) return undefined
  const headers = headersIn(text, first + 2)
  const length = headers?.['content-length']
  if (headers === undefined || length === undefined || !LENGTH.test(length)) return undefined
  return { path, headers, length: Number(length) }
}

/** @param bytes the first ones of a connection or request. @returns false where they cannot become a plain request. */
function mayBePlain(bytes: Buffer): boolean {
  const shown = Math.min(bytes.length, METHOD.length)
  return bytes.toString('latin1', 0, shown) === METHOD.slice(0, shown)
}

/** @returns undefined where a header is repeated, missing, or not plain. */
function headersIn(text: string, start: number): IncomingHttpHeaders | undefined {
  const headers: IncomingHttpHeaders = {}
  let count = 0
  for (let at = start; at < text.length - 2; ) {
    const end = text.indexOf('\r\n', at)
    const colon = text.indexOf(':', at)
    if (colon === -1 || colon > end || ++count > MAX_HEADERS) return undefined
    const name = lower(text.slice(at, colon))
    if (name === undefined || headers[name] !== undefined || NOT_PLAIN.has(name)) return undefined
    headers[name] = text.slice(colon + 1, end).trim()
    at = end + 2
  }
  const { host, connection } = headers
  const keeps = connection === undefined || connection === 'keep-alive' || connection.toLowerCase() === 'keep-alive'
  return keeps && host !== undefined && (host === lastHost || isHost(host)) ? headers : undefined
}

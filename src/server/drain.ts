/** The drain: takes no new connections, lets open exchanges finish within the grace time, then closes the sockets. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock, Timer } from '../core/clock.ts'
import { isIgnoredOffer } from '../core/websocket-handshake.ts'
import type { CallerReply } from './caller.ts'
import type { Front } from './front.ts'
import { markLast } from './lingering-close.ts'
import type { PlainReply } from './plain/reply.ts'
import type { PlainRequests } from './plain/requests.ts'

/** Connections without an open exchange get this long to close by themselves. */
const LINGER_MS = 1_000

export interface DrainResult {
  /** Exchanges that were cut because the grace time was over, or because a second signal came. */
  readonly cut: number
}

/** Something that is under way: it may end by itself, or be cut. */
export interface OpenExchange {
  /** The drain has begun; nothing more may follow on this connection. */
  last?(): void
  cut(): void
}

export class Drain {
  private readonly clock: Clock
  private readonly graceMs: () => number
  private readonly onBegin: () => void
  private readonly exchanges = new Set<OpenExchange>()
  private readonly servers = new Set<Server>()
  private readonly fronts = new Set<Front>()
  private readonly plain = new Set<PlainRequests>()
  private readonly connections = new Set<Connection>()
  /** Open replies of Node's servers. */
  private replies = 0
  private begun: PromiseWithResolvers<DrainResult> | undefined
  private grace: Timer | undefined
  private lingering: Timer | undefined
  private cutCount = 0
  private listening = 0

  /**
   * @param graceMs is read when the drain begins, so that a reload of the configuration counts.
   * @param onBegin called when it begins.
   */
  constructor(clock: Clock, graceMs: () => number, onBegin: () => void = () => {}) {
    this.clock = clock
    this.graceMs = graceMs
    this.onBegin = onBegin
    const drain = this
    this.closed = function closed() {
      const connection = (this.req.socket as Followed)[CONNECTION]
      if (connection && --connection.open === 0) connection.last = undefined
      drain.replies--
      if (drain.draining && drain.open === 0) drain.linger()
    }
    this.left = function left() {
      const connection = this[CONNECTION]
      if (connection) drain.connections.delete(connection)
    }
  }

  /** True from the first signal on: readiness is red. */
  get draining(): boolean {
    return this.begun !== undefined
  }

  get open(): number {
    let replies = 0
    for (const plain of this.plain) replies += plain.open().length
    return this.exchanges.size + this.replies + replies
  }

  /** Counts an exchange as under way. @returns to be called when it has ended; calling it twice does nothing. */
  track(exchange: OpenExchange): () => void {
    this.exchanges.add(exchange)
    if (this.draining) exchange.last?.()
    return () => {
      if (this.exchanges.delete(exchange) && this.draining && this.open === 0) this.linger()
    }
  }

  /**
   * Counts every reply and upgraded socket of a server. Call it after the server has its own handlers.
   * Nothing is made for a request: a set of open replies would keep the garbage collector from ever freeing them early. Plain replies
   * are looked at only once the drain has begun.
   * @param fronts listen for the server.
   */
  follow(server: Server, plain?: PlainRequests, fronts: readonly Front[] = []): void {
    this.servers.add(server)
    for (const front of fronts) this.fronts.add(front)
    if (plain) {
      this.plain.add(plain)
      if (this.draining) this.endPlain(plain)
    }
    server.on('connection', (socket: Followed) => {
      const connection: Connection = { socket, open: 0, last: undefined }
      socket[CONNECTION] = connection
      this.connections.add(connection)
      socket.on('close', this.left)
    })
    // First in line, so that `Connection: close` is set before a handler writes the head.
    const begun = (_request: IncomingMessage, response: ServerResponse): void => this.replyBegun(response)
    for (const event of ['request', 'checkContinue', 'checkExpectation']) {
      // Listening for the latter two changes what Node does by itself, so only where the server has taken them over.
      if (server.listenerCount(event) > 0) server.prependListener(event, begun)
    }
    server.prependListener('upgrade', (request: IncomingMessage, socket: Followed & Duplex) => {
      // The connection stays with HTTP.
      if (isIgnoredOffer(request)) return
      const last = (): void => {
        socket[DRAINING] = true
        socket[ON_DRAIN]?.()
      }
      socket.once('close', this.track({ last, cut: () => cut(socket) }))
    })
  }

  private replyBegun(response: CallerReply): void {
    const connection = (response.req.socket as Followed)[CONNECTION]
    if (connection) {
      connection.open++
      connection.last = response
    }
    this.replies++
    if (this.draining) announceLast(response)
    response.once('close', this.closed)
  }

  /** Every reply of the short way is its connection's last. */
  private endPlain(plain: PlainRequests): void {
    const begun = (reply: PlainReply): void => {
      announceLast(reply)
      reply.once('close', () => {
        if (this.open === 0) this.linger()
      })
    }
    plain.onReply = begun
    plain.open().forEach(begun)
  }

  /** One listener for all replies, and one for all connections. */
  private readonly closed: (this: CallerReply) => void
  private readonly left: (this: Followed) => void

  private closeIdle(): void {
    for (const server of this.servers) server.closeIdleConnections()
    for (const plain of this.plain) plain.closeIdle()
  }

  /** Begins once; later calls give the same promise. Resolves when every connection is gone. */
  begin(): Promise<DrainResult> {
    if (this.begun) return this.begun.promise
    this.begun = Promise.withResolvers()
    this.onBegin()
    for (const server of [...this.servers, ...[...this.fronts].map((front) => front.server)]) {
      if (!server.listening) continue
      this.listening++
      server.close(() => this.serverClosed())
    }
    this.closeIdle()
    for (const exchange of this.exchanges) exchange.last?.()
    for (const { last } of this.connections) if (last) announceLast(last)
    for (const plain of this.plain) this.endPlain(plain)
    this.grace = this.clock.after(this.graceMs(), () => this.cutAll())
    if (this.open === 0) this.linger()
    return this.begun.promise
  }

  /** The second signal: what is still open is cut now. */
  hurry(): void {
    if (this.begun) this.cutAll()
  }

  private cutAll(): void {
    this.cutCount += this.open
    const open = [...this.exchanges]
    this.exchanges.clear()
    for (const exchange of open) exchange.cut()
    for (const { socket, open: replies } of this.connections) if (replies > 0) cut(socket)
    for (const plain of this.plain) for (const { socket } of plain.open()) cut(socket)
    for (const server of this.servers) server.closeAllConnections()
    for (const plain of this.plain) plain.closeAll()
    for (const front of this.fronts) front.cut()
    if (this.listening === 0) this.finish()
  }

  /** Every exchange has ended; only idle connections are left. */
  private linger(): void {
    if (this.listening === 0) {
      this.finish()
      return
    }
    this.closeIdle()
    this.lingering?.cancel()
    this.lingering = this.clock.after(LINGER_MS, () => {
      // A request that came in meanwhile on an open connection has the grace time, as any other.
      if (this.open === 0) this.cutAll()
    })
  }

  private serverClosed(): void {
    this.listening--
    if (this.listening === 0 && this.open === 0) this.finish()
  }

  private finish(): void {
    this.grace?.cancel()
    this.lingering?.cancel()
    this.begun?.resolve({ cut: this.cutCount })
  }
}

interface Connection {
  readonly socket: Socket
  /** Replies under way on it. */
  open: number
  last: CallerReply | undefined
}

const CONNECTION = Symbol('connection')
const CUT = Symbol('cut')
const DRAINING = Symbol('draining')
const ON_DRAIN = Symbol('on drain')
type Followed = Socket & { [CONNECTION]?: Connection; [CUT]?: true; [DRAINING]?: true; [ON_DRAIN]?: () => void }

/** Calls `fn` when the drain begins, now where it has begun, so that an upgraded connection can end in order. */
export function onDrain(socket: Followed, fn: () => void): void {
  socket[ON_DRAIN] = fn
  if (socket[DRAINING]) fn()
}

function cut(socket: Followed): void {
  socket[CUT] = true
  socket.destroy()
}

/** True where the shutdown has closed the connection, not its caller. */
export function wasCut(socket: Socket): boolean {
  return (socket as Followed)[CUT] === true
}

function announceLast(response: CallerReply): void {
  markLast(response)
  if (!response.headersSent) response.shouldKeepAlive = false
  // The head of a running stream promised to keep the connection; it is closed after the last byte.
  else response.once('finish', () => response.req.socket.destroySoon())
}

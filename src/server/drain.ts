/** An orderly end: no new connections, open exchanges finish within the grace time, then the sockets go. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock, Timer } from '../core/clock.ts'

/** Connections without an open exchange get this long to close by themselves. */
const LINGER_MS = 1_000

export interface DrainResult {
  /** Exchanges that were cut because the grace time was over, or because a second signal came. */
  readonly cut: number
}

/** Something that is under way: it may end by itself, or be cut. */
export interface Exchange {
  /** The drain has begun; nothing more may follow on this connection. */
  last?(): void
  cut(): void
}

export class Drain {
  private readonly clock: Clock
  private readonly graceMs: number
  private readonly exchanges = new Set<Exchange>()
  private readonly servers = new Set<Server>()
  private begun: PromiseWithResolvers<DrainResult> | undefined
  private grace: Timer | undefined
  private lingering: Timer | undefined
  private cutCount = 0
  private listening = 0

  constructor(clock: Clock, graceMs: number) {
    this.clock = clock
    this.graceMs = graceMs
  }

  /** True from the first signal on: readiness is red. */
  get draining(): boolean {
    return this.begun !== undefined
  }

  get open(): number {
    return this.exchanges.size
  }

  /** Counts an exchange as under way. @returns to be called when it has ended; calling it twice does nothing. */
  track(exchange: Exchange): () => void {
    this.exchanges.add(exchange)
    if (this.draining) exchange.last?.()
    return () => {
      if (this.exchanges.delete(exchange) && this.draining && this.exchanges.size === 0) this.linger()
    }
  }

  /** Tracks every reply and upgraded socket of a server. Call it after the server has its own handlers. */
  follow(server: Server): void {
    this.servers.add(server)
    const follow = (request: IncomingMessage, response: ServerResponse) => {
      const done = this.track({ last: () => announceLast(request, response), cut: () => request.socket.destroy() })
      response.once('close', done)
    }
    // First in line, so that `Connection: close` is set before a handler writes the head.
    // Where nobody listens to an Expect event node answers it by itself, so it must stay unheard.
    for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) {
      if (server.listenerCount(event) > 0) server.prependListener(event, follow)
    }
    server.prependListener('upgrade', (_request: IncomingMessage, socket: Duplex) => {
      socket.once('close', this.track({ cut: () => socket.destroy() }))
    })
  }

  /** Begins once; later calls give the same promise. Resolves when every connection is gone. */
  begin(): Promise<DrainResult> {
    if (this.begun) return this.begun.promise
    this.begun = Promise.withResolvers()
    for (const server of this.servers) {
      if (!server.listening) continue
      this.listening++
      server.close(() => this.serverClosed())
      server.closeIdleConnections()
    }
    for (const exchange of this.exchanges) exchange.last?.()
    this.grace = this.clock.after(this.graceMs, () => this.cutAll())
    if (this.exchanges.size === 0) this.linger()
    return this.begun.promise
  }

  /** The second signal: what is still open is cut now. */
  hurry(): void {
    if (this.begun) this.cutAll()
  }

  private cutAll(): void {
    this.cutCount += this.exchanges.size
    const open = [...this.exchanges]
    this.exchanges.clear()
    for (const exchange of open) exchange.cut()
    for (const server of this.servers) server.closeAllConnections()
    if (this.listening === 0) this.finish()
  }

  /** Every exchange has ended; what is left are connections that have nothing to say. */
  private linger(): void {
    if (this.listening === 0) {
      this.finish()
      return
    }
    for (const server of this.servers) server.closeIdleConnections()
    this.lingering?.cancel()
    this.lingering = this.clock.after(LINGER_MS, () => {
      // A request that came in meanwhile on an open connection has the grace time, as any other.
      if (this.exchanges.size === 0) this.cutAll()
    })
  }

  private serverClosed(): void {
    this.listening--
    if (this.listening === 0 && this.exchanges.size === 0) this.finish()
  }

  private finish(): void {
    this.grace?.cancel()
    this.lingering?.cancel()
    this.begun?.resolve({ cut: this.cutCount })
  }
}

function announceLast(request: IncomingMessage, response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close')
  // The head of a running stream promised to keep the connection; it is closed after the last byte.
  else response.once('finish', () => request.socket.destroySoon())
}

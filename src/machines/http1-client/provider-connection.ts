/** One HTTP/1.1 connection to a provider for requests that are whole when they are sent: one after the other, each with its reply. */
import type { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import type { Dispatcher } from 'undici'
import type { Phase } from '../../services/connections/connection-failure.ts'
import type { Connecting } from '../../services/connections/connector.ts'
import { ConnectionEnded, isTlsRecord, StaleConnection, TlsExpected } from './network-fault.ts'
import { ChunkedBody, isFarewell, type PlainReply, plainReply } from './plain-reply.ts'
import { polledTime, toTicks } from './polled-time.ts'
import { headerFields, KEEP_ALIVE, keptFor, MAX_INTERIM, tooManyInterim } from './reply-fields.ts'
import { ReplyParser, type ReplyReceiver } from './reply-parser.ts'
import { RunningRequest, type WholeRequest } from './running-request.ts'

/** Reports of connections to their pool. */
export interface ConnectionOwner {
  /** Milliseconds from its beginning after which a connection takes no request any more. */
  readonly maxAge: number
  /** Monotonic milliseconds until which no connection is used again. */
  readonly singleUseUntil: number
  opened(): void
  /** The connection can take another request. */
  free(connection: ProviderConnection): void
  closed(connection: ProviderConnection): void
  /** A connection had been closed while it was idle, which its request has found out. */
  stale(): void
  /** The provider has sent bytes that nothing requested. */
  surplus(): void
  /** The connection turned out to have ended before anything was written: the request goes over a new one. */
  again(request: WholeRequest, handler: Dispatcher.DispatchHandler): void
}

/** The connection that a socket belongs to. */
const OWNER = Symbol('connection')
type Owned = Socket & { [OWNER]?: ProviderConnection }

/** @returns undefined for a socket of another client. */
export function socketConnection(socket: Socket): ProviderConnection | undefined {
  return (socket as Owned)[OWNER]
}

// Of all connections: with functions of its own each would keep some 400 bytes more.
function ended(this: Socket): void {
  socketConnection(this)?.halfClosed()
}

function received(this: Socket, bytes: Buffer): void {
  socketConnection(this)?.read(bytes)
}

function failed(this: Socket, error: NodeJS.ErrnoException): void {
  socketConnection(this)?.broken(error)
}

function closed(this: Socket): void {
  socketConnection(this)?.lost(new ConnectionEnded())
}

/**
 * Milliseconds after a request is written within which the end of its connection shows that the provider had closed it before: the end
 * comes a round trip later. What ends later may have been worked on, and is never repeated (RFC 9110 section 9.2.2).
 */
const STALE_WITHIN = 250
/** Bytes of a body that may take a while to be written. */
const LARGE = 16 * 1024

/** After it the parser reads chunks. */
const HEAD_OF_CHUNKS = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'

type State = 'connecting' | 'idle' | 'checking' | 'busy' | 'closed'

export class ProviderConnection implements ReplyReceiver {
  /** Monotonic milliseconds until which an idle one may be used. */
  usableUntil = 0
  /** Until it stands. */
  attempt: Connecting | undefined
  private readonly owner: ConnectionOwner
  /** Made where a reply needs it. */
  private parser: ReplyParser | undefined
  /** The body of a reply that the parser has not seen. */
  private chunks: ChunkedBody | undefined
  /** The parser is given what it has to have seen: nothing of that is the reply's. */
  private catchingUp = false
  private socket: Socket | undefined
  private state: State = 'connecting'
  private running: RunningRequest | undefined
  /** Of the reply: whether the parser has seen some; its status, 0 before the head; whether it is whole; whether the connection may live on. */
  private parsing = false
  private status = 0
  private whole = false
  private interim = 0
  /** Of the request: what its reply is. */
  private isRelayed = false
  private isHead = false
  private keepAlive = true
  private keptFor = KEEP_ALIVE
  /** A reply has come whole over the connection. */
  private served = false
  /** Monotonic milliseconds: when it began to be made, and how long that took. */
  private readonly began = performance.now()
  private connectTime = 0
  /** The moment of `polledTime` at which the request was written, infinite while it is. */
  private writtenAt = 0

  constructor(owner: ConnectionOwner) {
    this.owner = owner
  }

  /** The connection stands, or could not be made. */
  connected(error: Error | null, socket: Socket | null, byEvents: boolean): void {
    this.attempt = undefined
    if (error || !socket) {
      this.fail(error ?? new Error('no socket'))
      return
    }
    if (this.state === 'closed') {
      socket.destroy()
      return
    }
    this.socket = socket
    this.connectTime = performance.now() - this.began
    const owned: Owned = socket
    owned[OWNER] = this
    // What the connector listens with has done its work, and would keep its options.
    for (const listener of socket.listeners('error')) socket.off('error', listener as () => void)
    socket.on('end', ended).on('error', failed).on('close', closed)
    if (byEvents) socket.on('data', received)
    this.owner.opened()
    if (this.running) this.write(this.running)
  }

  /** Takes a request. One that has served before is first looked at: see `check`. @returns what ends the request. */
  send(request: WholeRequest, handler: Dispatcher.DispatchHandler): RunningRequest {
    const running = new RunningRequest(this, request, handler)
    this.running = running
    if (this.state === 'connecting') return running
    this.state = 'checking'
    this.socket?.ref()
    setImmediate(ProviderConnection.check, this)
    return running
  }

  /**
   * Bytes or an end that wait on an idle connection must be found before the next request is written, or it would be answered
   * by them (GHSA-35p6-xmwp-9g52 of undici). The event loop has looked at all connections when this runs.
   */
  private static check(connection: ProviderConnection): void {
    if (connection.state === 'checking' && connection.running) connection.write(connection.running)
  }

  private write(running: RunningRequest): void {
    this.state = 'busy'
    const { socket } = this
    const { request, handler } = running
    handler.onRequestStart?.(running, {})
    // The handler may have given the call up.
    if (!socket || !request || this.running !== running) return
    running.request = undefined
    const { head, body } = request
    this.isRelayed = request.isRelayed
    this.isHead = request.isHead
    if (body === undefined) {
      this.writtenAt = polledTime.note()
      socket.write(head, 'latin1')
      return
    }
    const length = Buffer.byteLength(body)
    const start = `${head}content-length: ${length}\r\n\r\n`
    const written = length > LARGE ? this.whenWritten(running) : undefined
    if (written === undefined) this.writtenAt = polledTime.note()
    if (typeof body === 'string' && length === body.length) socket.write(start + body, 'latin1', written)
    else {
      socket.cork()
      socket.write(start, 'latin1')
      if (typeof body === 'string') socket.write(body, 'utf8', written)
      else socket.write(body, written)
      socket.uncork()
    }
  }

  private whenWritten(running: RunningRequest): (error?: Error | null) => void {
    this.writtenAt = Number.POSITIVE_INFINITY
    return (error) => {
      if (!error && this.running === running) this.writtenAt = polledTime.note()
    }
  }

  /** Bytes have come. @param bytes of a buffer that the next ones are written to. */
  read(bytes: Buffer): void {
    // Nothing was requested: what a provider sends of itself must never become a reply.
    if (this.state !== 'busy') {
      this.fail(new ConnectionEnded())
      if (!isFarewell(bytes)) this.owner.surplus()
      return
    }
    let error: Error | undefined
    try {
      const reply = this.parsing || this.chunks || this.isRelayed ? undefined : plainReply(bytes)
      if (reply) error = this.take(reply)
      else if (this.chunks) error = this.readChunks(this.chunks, bytes)
      else error = this.parse(bytes)
    } catch (thrown) {
      error = asError(thrown)
    }
    if (this.whole) {
      if (error) this.followed()
      this.answered(error === undefined)
    } else if (error) this.fail(isTlsRecord(bytes) ? new TlsExpected('a record of TLS', { cause: error }) : error)
  }

  /** Something follows the reply. Behind one that has no content it may be the content that some providers send nevertheless. */
  private followed(): void {
    if (this.keepAlive && !this.isHead && this.status !== 204 && this.status !== 304) this.owner.surplus()
    this.keepAlive = false
  }

  private parse(bytes: Buffer): Error | undefined {
    this.parsing = true
    this.parser ??= new ReplyParser(this)
    return this.parser.execute(bytes)
  }

  /** The content of all chunks that have come is handed on in one piece. */
  private readChunks(chunks: ChunkedBody, bytes: Buffer): Error | undefined {
    const size = chunks.read(bytes)
    if (size > 0) this.body(Buffer.from(bytes.subarray(0, size)))
    if (chunks.outcome === 'more') return undefined
    this.chunks = undefined
    const rest = bytes.subarray(chunks.at)
    if (chunks.outcome === 'whole') {
      if (rest.length > 0) this.followed()
      this.complete()
      return undefined
    }
    this.catchingUp = true
    const error = this.parse(Buffer.from(`${HEAD_OF_CHUNKS}${chunks.before}`, 'latin1'))
    this.catchingUp = false
    return error ?? this.parse(rest)
  }

  /** Takes an answer that needs no parser, or the beginning of one. */
  private take({ status, fields, chunked, body }: PlainReply): Error | undefined {
    const { running } = this
    if (!running) return undefined
    this.status = status
    this.keptFor = keptFor(fields['keep-alive'])
    this.keepAlive = this.keptFor > 0
    running.handler.onResponseStart?.(running, status, fields)
    if (chunked) {
      this.chunks = new ChunkedBody()
      return this.readChunks(this.chunks, body)
    }
    if (body.length > 0) this.body(Buffer.from(body))
    this.complete()
    return undefined
  }

  begin(): void {
    if (this.catchingUp) return
    if (this.whole) this.followed()
    else this.status = 0
  }

  head(status: number, headers: readonly string[], keepAlive: boolean, upgrade: boolean): boolean {
    if (this.whole || !this.running || this.catchingUp) return false
    if (status < 200 && ++this.interim > MAX_INTERIM) throw tooManyInterim()
    const fields = headerFields(headers)
    this.status = status
    // A reply without content (RFC 9110 sections 15.3.5 and 15.4.5) whose provider may send some nevertheless.
    const mayFollow = (status === 204 || status === 304) && (Number(fields['content-length'] ?? 0) > 0 || 'transfer-encoding' in fields)
    this.keptFor = keptFor(fields['keep-alive'])
    // Behind a reply to HEAD some providers send content nevertheless.
    this.keepAlive = keepAlive && !upgrade && !mayFollow && !this.isHead && this.keptFor > 0
    if (upgrade || status === 101) throw new ConnectionEnded()
    this.running.handler.onResponseStart?.(this.running, status, fields)
    return this.isHead
  }

  body(bytes: Buffer): void {
    const { running } = this
    if (running && !this.whole && !this.catchingUp) running.handler.onResponseData?.(running, bytes)
  }

  complete(): void {
    // Interim replies come before the one that counts (RFC 9110 section 15.2).
    if (this.status >= 200) this.whole = true
  }

  /** Stage that a connection waits for which does not stand yet. */
  get phase(): Phase | undefined {
    return this.attempt?.phase
  }

  pause(): void {
    this.socket?.pause()
  }

  resume(): void {
    this.socket?.resume()
  }

  /** The connection has ended, and neither the gateway nor what the provider sent is the reason. */
  lost(error: Error): void {
    if (!this.isStale()) {
      this.fail(error)
      return
    }
    this.fail(new StaleConnection(error))
    this.owner.stale()
  }

  private isStale(): boolean {
    if (this.state !== 'busy' || !this.served || this.parsing || this.status !== 0) return false
    return polledTime.since(this.writtenAt) < toTicks(Math.max(STALE_WITHIN, 2 * this.connectTime))
  }

  /** Ends the connection, and its request with this error. */
  fail(error: Error): void {
    if (this.state === 'closed') return
    const { running, state } = this
    this.close()
    if (!running) return
    if (state === 'checking' && running.request && !running.aborted) this.owner.again(running.request, running.handler)
    else running.handler.onResponseError?.(running, error)
  }

  /** Closes the connection, which has no request. */
  close(): void {
    if (this.state === 'closed') return
    this.state = 'closed'
    if (this.running) this.running.connection = undefined
    this.running = undefined
    this.attempt?.cancel()
    this.attempt = undefined
    this.socket?.destroy()
    this.parser?.close()
    this.owner.closed(this)
  }

  /** The reply is whole. @param clean whether nothing else came behind it. */
  private answered(clean: boolean): void {
    const { running } = this
    if (!running) return
    running.connection = undefined
    this.running = undefined
    if (running.paused) this.resume()
    // A reply that came before the whole request was written leaves a connection whose provider may not read the rest.
    const isWritten = this.socket?.writableLength === 0
    if (clean && isWritten && this.keepAlive && this.state === 'busy') this.release()
    else this.close()
    try {
      running.handler.onResponseEnd?.(running, {})
    } catch (thrown) {
      running.handler.onResponseError?.(running, asError(thrown))
    }
  }

  private release(): void {
    const now = performance.now()
    const left = this.began + this.owner.maxAge - now
    if (left <= 0 || now < this.owner.singleUseUntil) {
      this.close()
      return
    }
    this.state = 'idle'
    this.served = true
    this.parsing = false
    this.chunks = undefined
    this.status = 0
    this.whole = false
    this.interim = 0
    this.usableUntil = now + Math.min(this.keptFor, left)
    // An idle connection does not keep the process alive.
    this.socket?.unref()
    this.owner.free(this)
  }

  /** The provider has closed its side: some replies end with their connection (RFC 9112 section 6.3). */
  halfClosed(): void {
    if (this.status === 0 || this.keepAlive) {
      this.lost(new ConnectionEnded())
      return
    }
    const error = this.parser?.finish()
    if (this.whole) this.answered(false)
    else this.fail(error ?? new ConnectionEnded())
  }

  broken(error: NodeJS.ErrnoException): void {
    // A provider that closes without reading all that was sent to it (RFC 9112 section 9.6).
    if (error.code === 'ECONNRESET' && this.status !== 0 && !this.keepAlive) this.halfClosed()
    else this.lost(error)
  }
}

const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)))

/** One HTTP/1.1 connection to a provider for requests that are whole when they are sent: one after the other, each with its reply. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import type { Dispatcher } from 'undici'
import { StaleConnection } from './network-fault.ts'
import { ChunkedBody, type PlainReply, plainReply } from './plain-reply.ts'
import { ReplyParser, type ReplyReceiver } from './reply-parser.ts'

/** A request as its bytes are written. */
export interface WholeRequest {
  /** Request line and headers but for the length of the body. */
  readonly head: string
  readonly body: string | Buffer
}

/** What the connections of a pool report to it. */
export interface ConnectionOwner {
  opened(): void
  /** The connection can take another request. */
  free(connection: ProviderConnection): void
  closed(connection: ProviderConnection): void
  /** A connection had been closed while it was idle, which its request has found out. */
  stale(): void
  /** The connection turned out to have ended before anything was written: the request goes over a new one. */
  again(request: WholeRequest, handler: Dispatcher.DispatchHandler): void
}

/** Milliseconds that an idle connection is kept where the provider names no time, and at most. */
const KEEP_ALIVE = 30_000
const LONGEST_KEEP_ALIVE = 600_000
/** Milliseconds by which a connection is given up before its provider would close it. */
const MARGIN = 2_000

const TIMEOUT = /timeout=(\d{1,9})/

/** The connection that a socket belongs to. */
const OWNER = Symbol('connection')
type Owned = Socket & { [OWNER]?: ProviderConnection }

/** @returns undefined for a socket of another client. */
export function connectionOf(socket: Socket): ProviderConnection | undefined {
  return (socket as Owned)[OWNER]
}

/** Of all connections: with functions of its own each would keep some 400 bytes more. */
const check = (connection: ProviderConnection): void => connection.check()

function ended(this: Socket): void {
  connectionOf(this)?.halfClosed()
}

function failed(this: Socket, error: NodeJS.ErrnoException): void {
  connectionOf(this)?.broken(error)
}

function closed(this: Socket): void {
  connectionOf(this)?.lost(new ConnectionEnded())
}

/**
 * Milliseconds after a request is written within which the end of its connection shows that the provider had closed it before: the end
 * comes a round trip later. What ends later may have been worked on, and is never repeated (RFC 9110 section 9.2.2).
 */
const STALE_WITHIN = 250
/** Bytes of a body that may take a while to be written. */
const LARGE = 16 * 1024

/** A request with its reply. It lets go of the connection as the reply ends, so that a late call of its handler cannot end the next one. */
class Running implements Dispatcher.DispatchController {
  aborted = false
  paused = false
  reason: Error | null = null
  /** Let go of once it is written: a large body must not wait for its reply. */
  request: WholeRequest | undefined
  readonly handler: Dispatcher.DispatchHandler
  private connection: ProviderConnection | undefined

  constructor(connection: ProviderConnection, request: WholeRequest, handler: Dispatcher.DispatchHandler) {
    this.connection = connection
    this.request = request
    this.handler = handler
  }

  pause(): void {
    this.paused = true
    this.connection?.pause()
  }

  resume(): void {
    this.paused = false
    this.connection?.resume()
  }

  abort(reason: Error): void {
    if (this.connection === undefined) return
    this.aborted = true
    this.reason = reason
    this.connection.fail(reason)
  }

  ended(): void {
    this.connection = undefined
  }
}

/** After it the parser reads chunks. */
const HEAD_OF_CHUNKS = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'

type State = 'connecting' | 'idle' | 'checking' | 'busy' | 'closed'

export class ProviderConnection implements ReplyReceiver {
  /** Monotonic milliseconds until which an idle one may be used. */
  usableUntil = 0
  private readonly owner: ConnectionOwner
  /** Made where a reply needs it. */
  private parser: ReplyParser | undefined
  /** The body of a reply that the parser has not seen. */
  private chunks: ChunkedBody | undefined
  /** The parser is given what it has to have seen: nothing of that is the reply's. */
  private catchingUp = false
  private socket: Socket | undefined
  private state: State = 'connecting'
  private running: Running | undefined
  /** Of the reply: whether the parser has seen some; its status, 0 before the head; whether it is whole; whether the connection may live on. */
  private parsing = false
  private status = 0
  private whole = false
  private keepAlive = true
  private keptFor = KEEP_ALIVE
  /** A reply has come whole over the connection. */
  private served = false
  /** Monotonic milliseconds: when it began to be made; how long that took; when the request was written, infinite while it is. */
  private readonly began = performance.now()
  private connectTime = 0
  private writtenAt = 0

  constructor(owner: ConnectionOwner) {
    this.owner = owner
  }

  /** The connection stands, or could not be made. */
  connected(error: Error | null, socket: Socket | null): void {
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
    // What undici's connector listens with has done its work, and would keep its timer and its options (lib/core/connect.js of 8.12.4).
    for (const listener of socket.listeners('error')) socket.off('error', listener as () => void)
    socket.on('end', ended).on('error', failed).on('close', closed)
    this.owner.opened()
    if (this.running) this.write(this.running)
  }

  /** Takes a request. One that has served before is first looked at: see `check`. @returns what ends the request. */
  send(request: WholeRequest, handler: Dispatcher.DispatchHandler): Running {
    const running = new Running(this, request, handler)
    this.running = running
    if (this.state === 'connecting') return running
    this.state = 'checking'
    this.socket?.ref()
    setImmediate(check, this)
    return running
  }

  /**
   * Bytes or an end that wait on an idle connection must be found before the next request is written, or it would be answered
   * by them (GHSA-35p6-xmwp-9g52 of undici). The event loop has looked at all connections when this runs.
   */
  check(): void {
    if (this.state === 'checking' && this.running) this.write(this.running)
  }

  private write(running: Running): void {
    this.state = 'busy'
    const { socket } = this
    const { request, handler } = running
    handler.onRequestStart?.(running, {})
    // The handler may have given the call up.
    if (!socket || !request || this.running !== running) return
    running.request = undefined
    const { head, body } = request
    const length = Buffer.byteLength(body)
    const start = `${head}content-length: ${length}\r\n\r\n`
    const written = length > LARGE ? this.whenWritten(running) : undefined
    if (written === undefined) this.writtenAt = performance.now()
    if (typeof body === 'string' && length === body.length) socket.write(start + body, 'latin1', written)
    else {
      socket.cork()
      socket.write(start, 'latin1')
      if (typeof body === 'string') socket.write(body, 'utf8', written)
      else socket.write(body, written)
      socket.uncork()
    }
  }

  private whenWritten(running: Running): (error?: Error | null) => void {
    this.writtenAt = Number.POSITIVE_INFINITY
    return (error) => {
      if (!error && this.running === running) this.writtenAt = performance.now()
    }
  }

  /** Bytes have come. @param bytes of a buffer that the next ones are written to. */
  read(bytes: Buffer): void {
    // Nothing was requested: what a provider sends of itself must never become a reply.
    if (this.state !== 'busy') {
      this.fail(new ConnectionEnded())
      return
    }
    let error: Error | undefined
    try {
      const reply = this.parsing || this.chunks ? undefined : plainReply(bytes)
      if (reply) error = this.take(reply)
      else if (this.chunks) error = this.readChunks(this.chunks, bytes)
      else error = this.parse(bytes)
    } catch (thrown) {
      error = errorOf(thrown)
    }
    if (this.whole) this.answered(error === undefined)
    else if (error) this.fail(error)
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
      // Something follows the reply.
      if (rest.length > 0) this.keepAlive = false
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
    // Something follows the reply.
    if (this.whole) this.keepAlive = false
    else this.status = 0
  }

  head(status: number, headers: readonly string[], keepAlive: boolean, upgrade: boolean): void {
    if (this.whole || !this.running || this.catchingUp) return
    const fields = fieldsOf(headers)
    this.status = status
    // A reply without content (RFC 9110 sections 15.3.5 and 15.4.5) whose provider may send some nevertheless.
    const mayFollow = (status === 204 || status === 304) && (Number(fields['content-length'] ?? 0) > 0 || 'transfer-encoding' in fields)
    this.keptFor = keptFor(fields['keep-alive'])
    this.keepAlive = keepAlive && !upgrade && !mayFollow && this.keptFor > 0
    if (upgrade || status === 101) throw new ConnectionEnded()
    this.running.handler.onResponseStart?.(this.running, status, fields)
  }

  body(bytes: Buffer): void {
    const { running } = this
    if (running && !this.whole && !this.catchingUp) running.handler.onResponseData?.(running, bytes)
  }

  complete(): void {
    // Interim replies come before the one that counts (RFC 9110 section 15.2).
    if (this.status >= 200) this.whole = true
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
    return performance.now() - this.writtenAt <= Math.max(STALE_WITHIN, 2 * this.connectTime)
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
    this.running?.ended()
    this.running = undefined
    this.socket?.destroy()
    this.parser?.close()
    this.owner.closed(this)
  }

  /** The reply is whole. @param clean whether nothing else came behind it. */
  private answered(clean: boolean): void {
    const { running } = this
    if (!running) return
    running.ended()
    this.running = undefined
    if (running.paused) this.resume()
    // A reply that came before the whole request was written leaves a connection whose provider may not read the rest.
    const isWritten = this.socket?.writableLength === 0
    if (clean && isWritten && this.keepAlive && this.state === 'busy') this.release()
    else this.close()
    try {
      running.handler.onResponseEnd?.(running, {})
    } catch (thrown) {
      running.handler.onResponseError?.(running, errorOf(thrown))
    }
  }

  private release(): void {
    this.state = 'idle'
    this.served = true
    this.parsing = false
    this.chunks = undefined
    this.status = 0
    this.whole = false
    this.usableUntil = performance.now() + this.keptFor
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

/** The other side has closed the connection; with the code that undici gives it, by which `networkFault` knows it. */
class ConnectionEnded extends Error {
  readonly code = 'UND_ERR_SOCKET'

  constructor() {
    super('other side closed')
  }
}

const errorOf = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)))

/** @param headers flat list. @returns by names in lower case; a list where a name is repeated. */
function fieldsOf(headers: readonly string[]): IncomingHttpHeaders {
  const fields: Record<string, string | string[]> = {}
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]?.toLowerCase() ?? ''
    const value = headers[i + 1] ?? ''
    // Not what every object inherits.
    const before = Object.hasOwn(fields, name) ? fields[name] : undefined
    fields[name] = before === undefined ? value : [before, value].flat()
  }
  return fields
}

/** Milliseconds, from the parameter that providers send beside `Connection: keep-alive`; 0 or less where none are left. */
function keptFor(header: string | string[] | undefined): number {
  const seconds = header === undefined ? undefined : TIMEOUT.exec(`${header}`)?.[1]
  return seconds === undefined ? KEEP_ALIVE : Math.min(Number(seconds) * 1000 - MARGIN, LONGEST_KEEP_ALIVE)
}

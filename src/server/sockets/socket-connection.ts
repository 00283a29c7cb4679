/** The connection of one caller, as the pipeline sees it, for one response over a WebSocket. */

import type { X509Certificate } from 'node:crypto'
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { Fault } from '../../core/faults.ts'
import { isEncrypted } from '../../core/request-scheme.ts'
import type { SocketBody, SocketFormat } from '../../dialects/types.ts'
import { utf8 } from '../../machines/sse/frames.ts'
import type { ClientConnection, Reading } from '../../pipeline/client-connection.ts'
import { BODY_WEIGHT, type BodyShare } from '../body-memory.ts'
import type { Watched } from '../caller.ts'
import { digestOn, type HttpConnectionSource, ReadingWatch } from '../http-connection.ts'
import { trustedCertificate } from '../tls/client-certificate.ts'

const DATA = 'data: '
const LINE_OF_DATA = `\n${DATA}`
const DONE = '[DONE]'

class EventMessages {
  private readonly ws: WebSocket
  private readonly socket: Socket
  /** The beginning of an event whose end has not come. */
  private held = ''
  private corked = false
  /** The last event, as long as it is text. */
  private last: string | undefined

  private readonly mark: string

  /** @param mark stands in place of the brace that events begin with, where it is not empty. */
  constructor(ws: WebSocket, socket: Socket, mark: string) {
    this.ws = ws
    this.socket = socket
    this.mark = mark
  }

  /** @param text whole events; comments between them become pings. @param raw true where it holds bytes, one per character. @returns false if the client should be waited for. */
  write(text: string, raw: boolean): boolean {
    const events = this.held === '' ? text : this.held + text
    let at = 0
    for (let end = events.indexOf('\n\n'); end !== -1; end = events.indexOf('\n\n', at)) {
      this.event(events, at, end, raw)
      at = end + 2
    }
    this.held = events.slice(at)
    return !this.socket.writableNeedDrain
  }

  /** @returns the last event. */
  end(text: string): Buffer | undefined {
    this.last = undefined
    this.write(text, false)
    return this.last === undefined ? undefined : Buffer.from(this.last)
  }

  private event(events: string, at: number, end: number, raw: boolean): void {
    const line = events.startsWith(DATA, at) ? at - 1 : events.indexOf(LINE_OF_DATA, at)
    this.cork()
    if (line === -1 || line > end) {
      this.ws.ping()
      return
    }
    const json = events.slice(line + LINE_OF_DATA.length, end)
    if (json === DONE) return
    const { mark } = this
    const message = mark === '' ? json : mark + json.slice(1)
    if (raw) this.ws.send(Buffer.from(message, 'latin1'), { binary: false })
    else {
      this.ws.send(message)
      this.last = json
    }
  }

  /** Messages of one turn leave in one write. */
  private cork(): void {
    if (this.corked) return
    this.corked = true
    this.socket.cork()
    process.nextTick(() => {
      this.corked = false
      this.socket.uncork()
    })
  }
}

/** Parts that all responses of a connection share. */
export interface Channel {
  readonly ws: WebSocket
  readonly socket: Socket
  /** The handshake. */
  readonly request: IncomingMessage
  readonly format: SocketFormat
  readonly source: HttpConnectionSource
  readonly watch: ReadingWatch
}

/** @returns the watch over how fast a client takes its messages. */
export function watchOver(socket: Socket, clock: HttpConnectionSource['clock']): ReadingWatch {
  const watched: Watched = {
    socket,
    get destroyed() {
      return socket.destroyed
    },
    get writableFinished() {
      return socket.writableFinished
    },
    get writableLength() {
      return socket.writableLength
    },
    destroy: () => socket.destroy(),
  }
  return new ReadingWatch(watched, clock)
}

export interface Incoming {
  readonly lane: string | undefined
  /** Bytes of the body, about: at least as many. */
  readonly length: number
  /** @throws Fault 400. */
  body(): SocketBody
  /** Holds the memory of the message. */
  readonly share: BodyShare
  /** The reply has ended. @param last its last event, undefined where it failed before the first one. */
  ended(last: Buffer | undefined): void
}

const EMPTY = Buffer.alloc(0)

/** The key was good at the handshake: what is left of the connection would hold a place for nothing. */
const UNAUTHORIZED = 401
/** RFC 6455 section 7.4.1. */
const POLICY = 1008

/** The conversation of a request is kept beside what is made of its body. */
const WEIGHT = BODY_WEIGHT + 1

/** A failure as a message of its lane. @param json the dialect's `faultBody`. */
export function failureMessage(
  { format }: Pick<Channel, 'format'>,
  lane: string | undefined,
  json: string,
  headers: OutgoingHttpHeaders,
): string {
  const mark = format.laneMark(lane)
  const text = format.headed(json, headers)
  return mark === '' ? text : mark + text.slice(1)
}

export class SocketConnection implements ClientConnection {
  readonly contentLength: number
  /** The conversation of the request; undefined until its body has been read. */
  conversation: Buffer | undefined
  private readonly channel: Channel
  private readonly incoming: Incoming
  private readonly messages: EventMessages
  private body: Incoming['body'] | undefined
  private streaming = false
  private over = false
  /** Messages wait for the client. */
  private waits = false
  private drained: (() => void) | undefined

  constructor(channel: Channel, incoming: Incoming) {
    this.channel = channel
    this.incoming = incoming
    this.contentLength = incoming.length
    this.body = incoming.body
    this.messages = new EventMessages(channel.ws, channel.socket, channel.format.laneMark(incoming.lane))
  }

  address(): string {
    return this.channel.source.addresses.of(this.channel.request)
  }

  digest(secret: string): string {
    return digestOn(this.channel.socket, secret)
  }

  isEncrypted(): boolean {
    return isEncrypted(this.channel.socket)
  }

  certificate(): X509Certificate | undefined {
    return trustedCertificate(this.channel.socket)
  }

  async readBody(limit: number, { cancel }: Reading = {}): Promise<Buffer> {
    const { share } = this.incoming
    const { bytes, conversation } = this.body?.() ?? { bytes: EMPTY, conversation: EMPTY }
    // It holds the message.
    this.body = undefined
    if (bytes.length > limit) {
      throw new Fault('too_large', {
        message: `Request payload too large: at most ${limit} bytes are accepted, with the conversation so far`,
      })
    }
    const waiting = share.reserve(Math.max(0, bytes.length * WEIGHT - share.held))
    if (waiting) await waiting
    if (cancel?.aborted) throw cancel.reason
    this.conversation = conversation
    return bytes
  }

  reserve(bytes: number): Promise<void> | undefined {
    return this.incoming.share.reserve(bytes)
  }

  /** A failure: a reply that is no stream has no other use here. */
  whole(status: number, headers: OutgoingHttpHeaders, json: string | readonly Buffer[]): void {
    if (this.over) return
    const { ws } = this.channel
    ws.send(failureMessage(this.channel, this.incoming.lane, typeof json === 'string' ? json : Buffer.concat(json).toString(), headers))
    this.end(undefined)
    if (status === UNAUTHORIZED) ws.close(POLICY, 'the key can no longer be used')
  }

  openStream(_headers: OutgoingHttpHeaders): void {
    this.streaming = true
    this.channel.source.streams.count++
  }

  bytes(text: string): boolean {
    return this.watched(this.messages.write(text, true))
  }

  text(text: string): boolean {
    return this.watched(this.messages.write(text, false))
  }

  onDrain(fn: () => void): void {
    this.drained = fn
  }

  endStream(text: string, raw = false): void {
    if (this.over) return
    const last = this.messages.end(raw ? utf8(text) : text)
    this.watched(!this.channel.socket.writableNeedDrain)
    this.end(last)
  }

  probe(): void {
    this.channel.ws.ping()
  }

  /** The exchange holds its body no longer. Messages that wait for their client count until it has them, or has left. */
  release(): void {
    if (this.streaming) this.channel.source.streams.count--
    this.streaming = false
    const { socket } = this.channel
    const { share } = this.incoming
    if (!socket.writableNeedDrain || socket.destroyed) {
      share.release()
      return
    }
    share.keep(socket.writableLength)
    const done = (): void => {
      socket.off('drain', done)
      socket.off('close', done)
      share.release()
    }
    socket.on('drain', done)
    socket.on('close', done)
  }

  private end(last: Buffer | undefined): void {
    this.over = true
    this.incoming.ended(last)
  }

  /** Starts the clock where messages wait for the client. */
  private watched(flowing: boolean): boolean {
    const { socket, watch } = this.channel
    if (flowing || socket.destroyed) return true
    if (this.waits) return false
    this.waits = true
    watch.begin()
    socket.once('drain', () => {
      watch.end()
      this.waits = false
      const { drained } = this
      this.drained = undefined
      drained?.()
    })
    return false
  }
}

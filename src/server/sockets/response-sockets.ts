/** The WebSockets of a process over which clients request responses: which handshakes are accepted, and what becomes of the open ones. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { ServerOptions, WebSocketServer } from 'ws'
import type { Timer } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { FirstUse } from '../../core/first-use.ts'
import { isEncrypted } from '../../core/request-scheme.ts'
import type { SocketFormat } from '../../dialects/types.ts'
import { gauge } from '../../machines/metrics/metrics.ts'
import { keyBucket } from '../../pipeline/request/admission.ts'
import type { Caller } from '../../pipeline/request/authentication/method.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import { digestOn, type HttpConnectionSource } from '../http-connection.ts'
import { trustedCertificate } from '../tls/client-certificate.ts'
import { Histories } from './histories.ts'
import { ResponseSocket, type SocketHost } from './response-socket.ts'
import { type Channel, watchOver } from './socket-connection.ts'

/** Parts that a configuration decides. */
export interface SocketServing {
  /** WebSockets that the process holds at once. */
  readonly maxConnections: number
  /** Bytes of the longest message. */
  readonly maxBody: number
  /** @throws Fault 401, 403, 429. */
  authenticate(caller: Caller): ApiKey | Promise<ApiKey>
  /** Headers of what is left of the key's limits per minute. */
  rates(key: ApiKey): Promise<Readonly<Record<string, string>>>
}

/** Part of the connections that one key, with those that it has issued, may hold. */
const PAYER_PART = 0.5

/** Milliseconds between two looks at every connection: a ping, and the end of those that are too old or silent. */
const LOOK = 30_000

/** Milliseconds that a client has for its part of the closing handshake. */
const CLOSING = 5_000

/** Pieces of one message; clients that send pieces of 64 KB need half as many for the longest one. */
const MAX_FRAGMENTS = 1024

/** RFC 6455 section 4.1; the only version of the protocol in use. */
const VERSION = '13'

/** Headers of the reply to a handshake beside those that the protocol needs. */
const RATES = new WeakMap<IncomingMessage, Readonly<Record<string, string>>>()

const openSockets = gauge('websockets', 'WebSockets that are open now, for Responses.')

export interface ResponseSocketsSource {
  readonly connections: HttpConnectionSource
  /** @returns undefined where they are switched off. */
  readonly serving: () => SocketServing | undefined
  readonly host: SocketHost
}

export class ResponseSockets {
  private readonly source: ResponseSocketsSource
  private readonly open = new Set<ResponseSocket>()
  private readonly ofPayers = new Map<string, number>()
  private histories: Histories | undefined
  private timer: Timer | undefined
  /** Loaded with the first handshake. */
  private readonly server = new FirstUse(makeServer)

  constructor(source: ResponseSocketsSource) {
    this.source = source
  }

  /** Takes over a connection. @throws Fault 401, 403, 426, 429 or 503 where it does not; nothing has been written then. */
  async accept(request: IncomingMessage, socket: Duplex, head: Buffer, format: SocketFormat): Promise<void> {
    const { connections, serving } = this.source
    const settings = serving()
    if (!settings) throw upgradeRequired('upgrade: Responses over WebSocket is switched off here; send them over HTTP')
    if (!format.knows(request.headers)) throw upgradeRequired('openai-beta: this version of Responses over WebSocket is not known here')
    if (request.headers['sec-websocket-version'] !== VERSION) {
      throw upgradeRequired(`sec-websocket-version: expected ${VERSION}`, { 'Sec-WebSocket-Version': VERSION })
    }
    const connection = {
      address: () => connections.addresses.of(request),
      digest: (secret: string) => digestOn(request.socket, secret),
      isEncrypted: () => isEncrypted(request.socket),
      certificate: () => trustedCertificate(request.socket),
    }
    const key = await settings.authenticate({ headers: request.headers, connection })
    const payer = keyBucket(key)
    const rates = await settings.rates(key)
    const server = await this.server.get()
    this.checkRoom(payer, settings.maxConnections)
    server.options.maxPayload = settings.maxBody
    RATES.set(request, rates)
    // The same socket, by its narrower type.
    const { socket: taken } = request
    server.handleUpgrade(request, socket, head, (ws) =>
      this.add(payer, { ws, socket: taken, request, format, source: connections, watch: watchOver(taken, connections.clock) }),
    )
  }

  /** Ends all of them at once. */
  close(): void {
    this.timer?.cancel()
    this.timer = undefined
    for (const each of this.open) each.terminate()
  }

  private checkRoom(payer: string, most: number): void {
    const full = this.open.size >= most
    if (!full && (this.ofPayers.get(payer) ?? 0) < Math.max(1, Math.floor(most * PAYER_PART))) return
    const whose = full ? 'the gateway' : 'this key'
    throw new Fault('unavailable', {
      message: `Service temporarily unavailable: ${whose} has as many WebSockets open as are allowed`,
      retryAfter: 10,
    })
  }

  private add(payer: string, channel: Channel): void {
    const { host, connections } = this.source
    this.histories ??= new Histories(connections.memory)
    const added = new ResponseSocket(channel, { payer, host, histories: this.histories })
    this.open.add(added)
    this.ofPayers.set(payer, (this.ofPayers.get(payer) ?? 0) + 1)
    const sockets = connections.metrics.of(openSockets)
    sockets.add()
    channel.ws.once('close', () => {
      sockets.add(-1)
      this.open.delete(added)
      const left = (this.ofPayers.get(payer) ?? 0) - 1
      if (left > 0) this.ofPayers.set(payer, left)
      else this.ofPayers.delete(payer)
    })
    this.timer ??= connections.clock.after(LOOK, this.look)
  }

  private readonly look = (): void => {
    this.timer = this.open.size > 0 ? this.source.connections.clock.after(LOOK, this.look) : undefined
    for (const each of this.open) each.look()
  }
}

/** RFC 9110 section 15.5.22: the reply names the protocol. */
function upgradeRequired(message: string, headers: Record<string, string> = {}): Fault {
  return new Fault('upgrade_required', { message, headers: { Upgrade: 'websocket', ...headers } })
}

/** Without compression: a context of it per connection takes more memory than the rest (documentation of ws, "WebSocket compression"). */
async function makeServer(): Promise<WebSocketServer> {
  const { WebSocketServer } = await import('ws')
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxFragments: MAX_FRAGMENTS,
    closeTimeout: CLOSING,
    // Some clients put secrets there, which an answer would repeat.
    handleProtocols: () => false,
  } as ServerOptions)
  server.on('headers', (lines, request) => {
    for (const [name, value] of Object.entries(RATES.get(request) ?? {})) lines.push(`${name}: ${value}`)
  })
  return server
}

/** The public listener: limits and time-outs of the connection, and a JSON error for what never becomes a request. */

import cluster from 'node:cluster'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createPlainServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { systemClock } from '../core/clock.ts'
import { Fault, type FaultCode, faultReply } from '../core/faults.ts'
import { listenerUrl } from '../core/listener-url.ts'
import { createServer, STATUS_CODES } from '../core/node-http.ts'
import { isHandshake, isIgnoredOffer } from '../core/websocket-handshake.ts'
import type { Front } from './front.ts'
import { closeLingering, isBehindLast, lingers, takeBodies } from './lingering-close.ts'
import { gatewayAddress, listenError } from './listen-error.ts'
import type { PlainReply, PlainRequest } from './plain/reply.ts'
import { MAX_HEADERS, PlainRequests, takePlainRequests } from './plain/requests.ts'
import { acceptProxyHeaders, type ProxyProtocolOptions } from './proxy-protocol.ts'
import type { ListenerCertificate } from './tls/listener-certificate.ts'
import { openSecureFront } from './tls/secure-front.ts'
import { listenOn, openUnixFront, type UnixSocket } from './unix-socket.ts'
import { ignoreOffer } from './upgrade-offers.ts'

/**
 * Connections that the system holds for the next turn of the event loop; it takes less where `net.core.somaxconn` says so (4096 since Linux
 * 5.4). Of Node's 511, a burst while one turn lasts is more: what does not fit is dropped, and its caller tries again after 1, 3 and 7 s.
 */
const BACKLOG = 4096

export interface ListenerOptions {
  host: string
  /** 0 takes a free port. */
  port: number
  /** Milliseconds: idle keep-alive, whole head, whole exchange. */
  keepAlive: number
  headerTimeout: number
  deadline: number
  /** Bytes of all headers together. */
  maxHeaders: number
  /** Set where balancers name their callers before the first request. */
  proxyHeaders?: ProxyProtocolOptions | undefined
  /** Set where the listener speaks TLS. */
  certificate?: ListenerCertificate | undefined
  /** Unix sockets beside the port, which speak plain HTTP. */
  sockets?: readonly UnixSocket[]
}

export interface RequestHandler {
  request(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void
  /** Answers a request of the short way. @returns false where Node's server has to take it. */
  readonly plain: (request: PlainRequest, reply: PlainReply) => boolean
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** The caller has closed its sending side; it may still read. */
  halfClosed(socket: Socket): void
  /** Nothing more is read of the connection until the reply under way has ended. */
  unread(socket: Socket): void
}

export interface Listener {
  readonly server: Server
  /** Listen for `server` where it does not itself. */
  readonly fronts: readonly Front[]
  readonly plain: PlainRequests
  readonly url: string
}

/** @throws the system's error where the address cannot be taken. */
export async function listen(options: ListenerOptions, handler: RequestHandler): Promise<Listener> {
  const server = createServer({
    keepAliveTimeout: options.keepAlive,
    headersTimeout: options.headerTimeout,
    // A body that comes too slowly is refused earlier (body-arrival.ts); this bounds what no exchange reads.
    requestTimeout: Math.max(options.headerTimeout, options.deadline),
    connectionsCheckingInterval: 5000,
    maxHeaderSize: options.maxHeaders,
    // The edge guard requires it, and answers with the usual error body.
    requireHostHeader: false,
    noDelay: true,
    // Behind a request that is still answered nothing is handed over; an offer that is ignored there ends the connection (gateway.ts).
    shouldUpgradeCallback: (request) => (isHandshake(request) || isIgnoredOffer(request)) && !replying(request.socket),
  })
  const { keepAlive, maxHeaders } = options
  const plain = new PlainRequests({
    keepAlive,
    maxHeaders,
    clock: systemClock,
    answer: handler.plain,
    refuse,
    unread: (socket) => handler.unread(socket),
  })
  const takeConnection = takePlainRequests(server, plain)
  const { certificate, headerTimeout: handshakeTimeout } = options
  const front = certificate && openSecureFront(server, certificate, { handshakeTimeout, refuse })
  // So that callers whose certificates are still good connect anew, and few of them meet the refusal of an open connection.
  certificate?.onTrustChange(() => {
    plain.closeIdle()
    server.closeIdleConnections()
  })
  const entrance = front?.server ?? server
  if (options.proxyHeaders) acceptProxyHeaders(entrance, options.proxyHeaders)
  // A caller may close its sending side after the request and still wait for the reply.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.maxHeadersCount = MAX_HEADERS
  const take = (request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void => {
    followQueued(response)
    // What follows the last request of a connection is no request (RFC 9112 section 9.6).
    if (isBehindLast(response)) return
    handler.request(request, response, expectsContinue)
  }
  server.on('request', (request, response) => take(request, response, false))
  server.on('checkContinue', (request, response) => take(request, response, true))
  server.on('checkExpectation', (request, response) => take(request, response, false))
  server.on('upgrade', (request: IncomingMessage, socket, head) => {
    takeBodies(request.socket)
    if (isIgnoredOffer(request)) ignoreOffer(request, head, takeConnection)
    else handler.upgrade(request, released(socket), head)
  })
  refuseNoRequests(server)
  // One listener for all connections.
  const halfClosed = function halfClosed(this: Socket): void {
    handler.halfClosed(this)
  }
  server.on('connection', (socket) => socket.on('end', halfClosed))
  await new Promise<void>((resolve, reject) => {
    const failed = (error: Error): void => reject(listenError(error, gatewayAddress(options.host, options.port)))
    entrance.once('error', failed)
    entrance.listen(
      { port: options.port, host: options.host, backlog: BACKLOG, ...(ownSocket() ? { reusePort: true, exclusive: true } : undefined) },
      () => {
        entrance.off('error', failed)
        resolve()
      },
    )
  })
  const { port } = entrance.address() as AddressInfo
  const fronts = front ? [front] : []
  try {
    for (const socket of options.sockets ?? []) {
      const unix = openUnixFront(server)
      await listenOn(unix.server, socket)
      fronts.push(unix)
    }
  } catch (error) {
    for (const each of [entrance, ...fronts.map((open) => open.server)]) each.close()
    throw error
  }
  return { server, fronts, plain, url: listenerUrl(front ? 'https' : 'http', options.host, port) }
}

/**
 * True if a worker listens on a socket of its own, among which the system deals out connections (SO_REUSEPORT): that costs
 * the owner nothing, and nothing hangs when a worker dies. Elsewhere Node shares the owner's socket among workers.
 */
function ownSocket(): boolean {
  return cluster.isWorker && process.platform === 'linux'
}

/** Takes the address for a moment. @returns the port, a free one where `port` is 0. @throws Error that names the setting where it is taken. */
export async function freeAddress(host: string, port: number): Promise<number> {
  const server = createPlainServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenError(error, gatewayAddress(host, port))))
    server.listen({ host, port, exclusive: true }, resolve)
  })
  const { port: found } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return found
}

/** Has a server answer with the usual error body what never becomes a request, and a tunnel; Node would close the connection without one. */
export function refuseNoRequests(server: Server): void {
  server.on('connect', (request, socket) => {
    takeBodies(request.socket)
    refuse(released(socket), new Fault('method_not_allowed'))
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => refuse(socket, parserFault(error)))
}

/** Node has released the socket: without a listener of ours an error on it would end the process. */
function released(socket: Duplex): Duplex {
  return socket.on('error', () => {})
}

const PARSER_FAULTS: Readonly<Record<string, FaultCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'client_timeout',
}

function parserFault(error: NodeJS.ErrnoException): Fault {
  const code = PARSER_FAULTS[error.code ?? '']
  return code ? new Fault(code) : new Fault('bad_request', { message: 'Not a valid HTTP/1.1 request' })
}

/** The reply that Node has assigned to the socket, until it has been written (lib/_http_server.js, assignSocket). */
function replying(socket: Duplex): ServerResponse | undefined {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined
}

/** Replies after which their connection is refused. */
const waiting = new WeakSet<ServerResponse>()

/** Answers on the bare socket and closes it: what follows on it can no longer be trusted. Earlier requests get their replies first. */
export function refuse(socket: Duplex, fault: Fault): void {
  if (lingers(socket as Socket)) return
  const busy = replying(socket)
  // A whole request is not the one that is at fault.
  if (busy?.req.complete && !socket.destroyed) {
    // Every further piece is an error of the parser again: one wait is enough.
    if (waiting.has(busy)) return
    waiting.add(busy)
    busy.once('close', () => refuse(socket, fault))
    return
  }
  if (socket.destroyed || !socket.writable || busy?.headersSent) {
    socket.destroy()
    return
  }
  const { status, headers, json } = faultReply(fault)
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(json)}`,
    'Connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${lines.join('\r\n')}\r\n\r\n${json}`)
  closeLingering(socket as Socket, systemClock)
}

const QUEUED = Symbol('queued replies')
type Pipelined = Socket & { [QUEUED]?: Set<ServerResponse> }

/**
 * Replies to pipelined requests that wait for their turn. Node ends them when the connection closes, but not after a
 * CONNECT: there it takes its close listener away and forgets them (lib/_http_server.js of 24.21, onParserExecuteCommon),
 * and whatever waits for the end of such a reply would wait for ever.
 * Makes sure that a reply ends with its connection. Call it as the request comes.
 */
function followQueued(response: ServerResponse): void {
  // Only a reply behind another one has no socket yet.
  if (response.socket) return
  const socket: Pipelined = response.req.socket
  let queued = socket[QUEUED]
  if (!queued) {
    queued = new Set()
    socket[QUEUED] = queued
    socket.once('close', () => process.nextTick(endAll, socket))
  }
  const followed = queued
  followed.add(response)
  response.once('close', () => followed.delete(response))
}

function endAll(socket: Pipelined): void {
  for (const response of socket[QUEUED] ?? []) {
    response.destroy()
    if (!response.closed) response.emit('close')
  }
}

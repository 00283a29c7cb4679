/**
 * The passage: a provider's own operations, relayed untouched behind our authentication.
 * http-proxy-3 makes the upstream request and the WebSocket tunnel; replies are relayed by us,
 * since the library leaves the caller hanging when the upstream dies in the middle of a body.
 */
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { Socket } from 'node:net'
import { ProxyServer } from 'http-proxy-3'
import type { Provider } from '../catalog/types.ts'
import type { Clock } from '../core/clock.ts'
import { badField, Fault } from '../core/faults.ts'
import { Agent as HttpAgent, ServerResponse as HttpReply } from '../core/node-http.ts'
import { networkFault } from './network-fault.ts'
import { upgradedHeaders, upstreamHeaders } from './passage-headers.ts'
import { type PassageCall, PassageRun } from './passage-run.ts'

export type { PassageCall, PassageEnd } from './passage-run.ts'

/** Idle upstream sockets are closed before the common servers' own five seconds. */
const IDLE_SOCKET_MS = 4_000

export class Passage {
  private readonly clock: Clock
  private readonly runs = new WeakMap<IncomingMessage, PassageRun>()
  private readonly proxy = new ProxyServer({ ignorePath: true, changeOrigin: true, selfHandleResponse: true })
  private readonly http = new HttpAgent({ keepAlive: true, timeout: IDLE_SOCKET_MS })
  private readonly https = new HttpsAgent({ keepAlive: true, timeout: IDLE_SOCKET_MS })

  constructor(clock: Clock) {
    this.clock = clock
    this.proxy.on('proxyReq', (upstream, request, _response, _options, socket) =>
      this.runs.get(request)?.started(upstream, socket, request),
    )
    this.proxy.on('proxyRes', (reply, request) => {
      const run = this.runs.get(request)
      if (run) run.relay(reply)
      else reply.destroy()
    })
    // Every error reaches the callback of its own call; the library throws where nobody listens here as well.
    this.proxy.on('error', () => {})
  }

  /** Relays one HTTP request. It takes the request over: its headers become those that go upstream. */
  web(request: IncomingMessage, response: ServerResponse, call: PassageCall): void {
    const run = new PassageRun(this.clock, call, response)
    if (run.leftAlready(request.socket)) return
    try {
      const target = passageTarget(call.provider, call.path)
      refuseUnframed(request)
      if (request.headers.expect?.toLowerCase() === '100-continue') response.writeContinue()
      request.headers = upstreamHeaders(request.headers, { headers: call.provider.headers, auth: call.auth, upgrade: false })
      this.runs.set(request, run)
      const agent = target.protocol === 'https:' ? this.https : this.http
      this.proxy.web(request, response, { target, agent }, (error) => run.fail(networkFault(error, response.headersSent)))
    } catch (error) {
      run.fail(error instanceof Fault ? error : new Fault('internal', { cause: error }))
    }
  }

  /** Opens a WebSocket to the provider and joins the two ends. `socket` is the caller's, as node's `upgrade` event gave it. */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer, call: PassageCall): void {
    // Node has let go of the socket: without a listener of our own its errors would end the process.
    socket.on('error', () => {})
    const response = replyOn(request, socket)
    const run = new PassageRun(this.clock, call, response)
    if (run.leftAlready(socket)) return
    try {
      if (request.method !== 'GET' || request.headers.upgrade?.toLowerCase() !== 'websocket') {
        throw badField('Upgrade', 'expected a GET with the value websocket')
      }
      const target = passageTarget(call.provider, call.path)
      request.headers = upstreamHeaders(request.headers, { headers: call.provider.headers, auth: call.auth, upgrade: true })
      this.tunnel(request, socket, head, { run, response, target })
    } catch (error) {
      run.fail(error instanceof Fault ? error : new Fault('internal', { cause: error }))
    }
  }

  /** Closes idle upstream sockets; open exchanges are the drain's. */
  close(): void {
    this.http.destroy()
    this.https.destroy()
    this.proxy.removeAllListeners()
  }

  private tunnel(
    request: IncomingMessage,
    socket: Socket,
    head: Buffer,
    to: { run: PassageRun; response: ServerResponse; target: URL },
  ): void {
    const { run, response, target } = to
    const onUpstream = (upstream: ClientRequest) => {
      upstream.once('socket', (upstreamSocket: Socket) => run.started(upstream, upstreamSocket))
      // Heard before the library's own listener, which writes these headers to the caller.
      upstream.once('upgrade', (reply: IncomingMessage, upstreamSocket: Socket) => {
        reply.headers = upgradedHeaders(reply.headers)
        response.detachSocket(socket)
        run.opened(socket, upstreamSocket)
      })
      // The library's own relay of a refusal hangs as its replies do; this one takes its place once it has been set.
      queueMicrotask(() => {
        upstream.removeAllListeners('response')
        upstream.once('response', (reply: IncomingMessage) => run.relay(reply))
      })
    }
    // Heard within the call itself, so that it is this call's and no other's.
    this.proxy.once('proxyReqWs', onUpstream)
    try {
      this.proxy.ws(request, socket, head, { target }, (error) => run.fail(networkFault(error, response.headersSent)))
    } finally {
      this.proxy.off('proxyReqWs', onUpstream)
    }
  }
}

/**
 * The address of a passage call: the provider's base URL and the caller's path, which cannot climb out of it.
 * @throws Fault 404 for a provider without an address, 400 for a path that would leave the base URL.
 */
export function passageTarget(provider: Provider, path: string): URL {
  if (provider.baseUrl === undefined) throw new Fault('not_found', { message: `Provider ${provider.slug} has no address to pass on to` })
  const base = new URL(provider.baseUrl)
  const root = base.pathname.replace(/\/+$/, '')
  const target = path.startsWith('/') ? URL.parse(`${base.origin}${root}${path}`) : null
  if (!target || target.origin !== base.origin || !target.pathname.startsWith(`${root}/`)) {
    throw badField('path', "expected a path below the provider's base URL")
  }
  target.hash = ''
  return target
}

/** The library gives these two methods a length of 0 and their chunks would follow as another request. */
function refuseUnframed(request: IncomingMessage): void {
  const { method, headers } = request
  if ((method === 'DELETE' || method === 'OPTIONS') && headers['transfer-encoding'] !== undefined) {
    throw badField('Transfer-Encoding', `${method} needs a Content-Length`)
  }
}

/** A reply on a socket that node has let go of; it is the last one there. */
function replyOn(request: IncomingMessage, socket: Socket): ServerResponse {
  const response = new HttpReply(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.once('finish', () => socket.destroySoon())
  return response
}

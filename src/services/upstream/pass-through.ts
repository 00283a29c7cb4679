/** The pass-through: a provider's own operations, relayed untouched behind our authentication. */
import type { Agent, ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ProxyServer } from 'http-proxy-3'
import type { Clock } from '../../core/clock.ts'
import { badField, Fault } from '../../core/faults.ts'
import { ServerResponse as HttpReply } from '../../core/node-http.ts'
import { HANDSHAKE, isHandshake } from '../../core/websocket-handshake.ts'
import { networkFault } from '../../machines/http1-client/network-fault.ts'
import type { Provider } from '../../routing/catalog/types.ts'
import type { PassThroughCall } from './pass-through-call.ts'
import { bodyFraming, type Framing, upgradedHeaders, upgradeRequestHeaders, upstreamHeaders } from './pass-through-headers.ts'
import { PassThroughRequest } from './pass-through-request.ts'
import { PassThroughRun } from './pass-through-run.ts'
import type { PoolSettings, Pools } from './pools.ts'

/** WebSockets of the pass-through. http-proxy-3 makes the upgrade request and joins the two sockets. */
class PassThroughTunnel {
  private readonly proxy = new ProxyServer({ ignorePath: true, changeOrigin: true })

  constructor() {
    // Every error reaches the callback of its own call; the library throws where nothing listens here as well.
    this.proxy.on('error', () => {})
  }

  /** Opens a WebSocket. The request's headers are those that go upstream; each tunnel has a connection of its own. */
  open(
    caller: { request: IncomingMessage; socket: Socket; head: Buffer; response: ServerResponse },
    run: PassThroughRun,
    { target, agent, ours }: { target: URL; agent: Agent; ours: PassThroughCall['ours'] },
  ): void {
    const { request, socket, head, response } = caller
    const onUpstream = (upstream: ClientRequest) => {
      run.begin({ abort: () => upstream.destroy() })
      upstream.once('socket', (upstreamSocket: Socket) => watchStart(run, upstream, upstreamSocket))
      // Runs before the library's own listener, which writes these headers to the caller.
      upstream.once('upgrade', (reply: IncomingMessage, upstreamSocket: Socket) => {
        reply.headers = upgradedHeaders(reply.headers, ours)
        response.detachSocket(socket)
        socket.removeAllListeners('readable')
        run.opened(socket, upstreamSocket)
      })
      // The library's relay of a refusal leaves the caller hanging when the provider dies in the middle of a body
      // (ws-incoming.js of 2.0.1); this listener takes its place once it has been set.
      queueMicrotask(() => {
        upstream.removeAllListeners('response')
        upstream.once('response', (reply: IncomingMessage) => relay(reply, run))
      })
    }
    // The listener is added within the call itself, so that it gets this call's event and no other's.
    this.proxy.once('proxyReqWs', onUpstream)
    try {
      this.proxy.ws(request, socket, head, { target, agent }, (error) => run.fail(networkFault(error, response.headersSent)))
    } finally {
      this.proxy.off('proxyReqWs', onUpstream)
    }
  }

  close(): void {
    this.proxy.removeAllListeners()
  }
}

function watchStart(run: PassThroughRun, upstream: ClientRequest, socket: Socket): void {
  if (run.over) return
  if (socket.connecting) {
    const connect = run.limit(run.limits.connect, 'upstream_connect')
    socket.once('connect', () => connect.cancel())
  }
  const firstByte = run.limit(run.limits.firstByteWhole, 'upstream_silent')
  upstream.once('response', () => firstByte.cancel())
  upstream.once('upgrade', () => firstByte.cancel())
}

/** Relays a reply that refuses the upgrade; its death in the middle closes the caller at once. */
function relay(reply: IncomingMessage, run: PassThroughRun): void {
  reply.on('error', (error) => run.fail(networkFault(error, true)))
  reply.once('close', () => {
    if (!reply.complete) run.fail(new Fault('upstream_cut'))
  })
  reply.once('end', () => run.complete())
  if (!run.head(reply.statusCode ?? 502, reply.headers)) return
  reply.on('data', (chunk: Buffer) => {
    if (run.data(chunk)) return
    reply.pause()
    run.onDrain(() => reply.resume())
  })
}

/** Nothing reads the socket until the WebSocket stands, so that its end would go unnoticed. */
function followHandshake(socket: Socket, run: PassThroughRun): void {
  socket.on('readable', () => {
    // What has come is for the provider; without any it is the end.
    if (socket.readableLength === 0) socket.read()
  })
  socket.once('end', () => run.gaveUp())
}

export type { PassThroughCall, PassThroughEnd, ReplyReader, SentBody } from './pass-through-call.ts'
export type { ListedPages, Page } from './pass-through-page.ts'

export class PassThroughProxy {
  private readonly clock: Clock
  private readonly pools: Pick<Pools, 'for' | 'agent'>
  private readonly tunnel = new PassThroughTunnel()

  /** @param pools are closed by their owner. */
  constructor(clock: Clock, pools: Pick<Pools, 'for' | 'agent'>) {
    this.clock = clock
    this.pools = pools
  }

  /** Relays one HTTP request. */
  web(request: IncomingMessage, response: ServerResponse, call: PassThroughCall): void {
    const run = new PassThroughRun(this.clock, call, { request, response })
    if (run.leftAlready(request.socket)) return
    try {
      const { body } = call
      const framing: Framing = body ? { kind: 'length', bytes: body.length } : bodyFraming(request.headers)
      if (!body && request.headers.expect?.toLowerCase() === '100-continue') response.writeContinue()
      run.turnsPages((path) => this.send(run, { request, call, path }, { kind: 'none' }))
      this.send(run, { request, call, path: call.path }, framing)
    } catch (error) {
      run.fail(error instanceof Fault ? error : new Fault('internal', { cause: error }))
    }
  }

  /** @param path of the call, or of a further page of its list. */
  private send(
    run: PassThroughRun,
    { request, call, path }: { request: IncomingMessage; call: PassThroughCall; path: string },
    framing: Framing,
  ): void {
    const { provider, auth, trace, body } = call
    const method = request.method ?? 'GET'
    const target = passThroughTarget(provider, path)
    const { authorize } = call
    const credential = authorize && ((others: readonly string[]) => authorize(method, target, others))
    const headers = upstreamHeaders(request.headers, { headers: provider.headers, auth, credential, trace })
    if (call.reader || call.pages) headers['accept-encoding'] = 'identity'
    const pool = this.pools.for(settingsFor(provider, target))
    const head = { method, path: target.pathname + target.search, headers, framing }
    new PassThroughRequest(run, pool).send(body ?? request, head)
  }

  /** Opens a WebSocket to the provider and joins the two ends. `socket` is the caller's, as Node's `upgrade` event gave it. */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer, call: PassThroughCall): void {
    // Node has released the socket: without a listener of our own its errors would end the process.
    socket.on('error', () => {})
    const response = replyOn(request, socket)
    const run = new PassThroughRun(this.clock, call, { request, response })
    if (run.leftAlready(socket)) return
    try {
      if (!isHandshake(request)) throw badField('Upgrade', HANDSHAKE)
      const { provider, auth, trace, authorize } = call
      const target = passThroughTarget(provider, call.path)
      const credential = authorize && ((others: readonly string[]) => authorize('GET', target, others))
      request.headers = upgradeRequestHeaders(request.headers, { headers: provider.headers, auth, credential, trace })
      const agent = this.pools.agent(settingsFor(provider, target))
      followHandshake(socket, run)
      this.tunnel.open({ request, socket, head, response }, run, { target, agent, ours: call.ours })
    } catch (error) {
      run.fail(error instanceof Fault ? error : new Fault('internal', { cause: error }))
    }
  }

  close(): void {
    this.tunnel.close()
  }
}

const settingsFor = ({ timeouts, connection }: Provider, { origin }: URL): PoolSettings => ({
  origin,
  connectTimeout: timeouts.connect,
  connection,
})

/**
 * The address of a pass-through call: the provider's base URL and the caller's path, which cannot climb out of it.
 * @throws Fault 404 for a provider without an address, 400 for a path that would leave the base URL.
 */
export function passThroughTarget(provider: Provider, path: string): URL {
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

/** A reply on a socket that Node has released; it is the last one there. */
function replyOn(request: IncomingMessage, socket: Socket): ServerResponse {
  const response = new HttpReply(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.once('finish', () => socket.destroySoon())
  return response
}

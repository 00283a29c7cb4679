/** WebSockets of the pass-through. http-proxy-3 makes the upgrade request and joins the two sockets. */
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ProxyServer } from 'http-proxy-3'
import { Fault } from '../../core/faults.ts'
import { networkFault } from './network-fault.ts'
import { upgradedHeaders } from './pass-through-headers.ts'
import type { PassThroughRun } from './pass-through-run.ts'

export class PassThroughTunnel {
  private readonly proxy = new ProxyServer({ ignorePath: true, changeOrigin: true })

  constructor() {
    // Every error reaches the callback of its own call; the library throws where nothing listens here as well.
    this.proxy.on('error', () => {})
  }

  /** Opens a WebSocket. The request's headers are those that go upstream; each tunnel has a connection of its own. */
  open(
    caller: { request: IncomingMessage; socket: Socket; head: Buffer; response: ServerResponse },
    run: PassThroughRun,
    target: URL,
  ): void {
    const { request, socket, head, response } = caller
    const onUpstream = (upstream: ClientRequest) => {
      run.begin({ abort: () => upstream.destroy() })
      upstream.once('socket', (upstreamSocket: Socket) => watchStart(run, upstream, upstreamSocket))
      // Heard before the library's own listener, which writes these headers to the caller.
      upstream.once('upgrade', (reply: IncomingMessage, upstreamSocket: Socket) => {
        reply.headers = upgradedHeaders(reply.headers)
        response.detachSocket(socket)
        run.opened(socket, upstreamSocket)
      })
      // The library's relay of a refusal leaves the caller hanging when the provider dies in the middle of a body
      // (ws-incoming.js of 2.0.1); this listener takes its place once it has been set.
      queueMicrotask(() => {
        upstream.removeAllListeners('response')
        upstream.once('response', (reply: IncomingMessage) => relay(reply, run))
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

/** A proxy of HTTP that opens tunnels (RFC 9110 section 9.3.6), whatever name they lead to, to ports of this machine. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Test } from 'tap'

export interface ConnectProxy {
  /** Without userinfo. */
  readonly url: string
  /** `host:port` of each tunnel, and what it brought as `Proxy-Authorization`. */
  readonly tunnels: { readonly target: string; readonly authorization: string | undefined }[]
  /** Status in place of a tunnel. */
  refusal: string | undefined
}

/** @param tls certificate and key, for a proxy that is itself called over TLS. */
export async function startProxy(
  t: Test,
  { host = '127.0.0.1', tls }: { host?: string; tls?: { cert: string; key: string } } = {},
): Promise<ConnectProxy> {
  const server = tls ? createSecureServer(tls) : createServer()
  const sockets = new Set<Socket>()
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    const target = request.url ?? ''
    proxy.tunnels.push({ target, authorization: request.headers['proxy-authorization'] })
    socket.on('error', () => undefined)
    if (proxy.refusal !== undefined) {
      socket.end(`HTTP/1.1 ${proxy.refusal}\r\nContent-Length: 0\r\n\r\n`)
      return
    }
    const upstream = connect(Number(target.split(':').at(-1)), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      socket.pipe(upstream).pipe(socket)
    })
    for (const each of [socket, upstream]) {
      sockets.add(each)
      each
        .on('error', () => undefined)
        .on('close', () => {
          socket.destroy()
          upstream.destroy()
        })
    }
  })
  server.listen(0, host)
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.closeAllConnections()
    server.close()
  })
  const proxy: ConnectProxy = {
    url: `${tls ? 'https' : 'http'}://${host}:${(server.address() as AddressInfo).port}`,
    tunnels: [],
    refusal: undefined,
  }
  return proxy
}

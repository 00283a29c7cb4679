/** The operator's listener: health, readiness, metrics, and whatever routes later parts add. Loopback unless configured otherwise. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline, Readable } from 'node:stream'
import { asFault, Fault, faultBody } from '../core/faults.ts'
import type { Json } from '../core/json.ts'
import { createServer } from '../core/node-http.ts'

export interface AdminReply {
  status: number
  /** Sent as JSON, unless one of the others is there. */
  body?: Json
  text?: { type: string; content: string }
  /** Too long for one string; taken as fast as the reader reads. An error on the way cuts the connection. */
  chunks?: { type: string; content: Iterable<string> | AsyncIterable<string> }
}

export type AdminRoute = (request: IncomingMessage, url: URL) => AdminReply | Promise<AdminReply>

export interface AdminOptions {
  host?: string
  /** 0 takes a free port. */
  port: number
  metrics: { text(): Promise<string>; readonly contentType: string }
  /** Why the process should get no traffic; empty when it should. */
  notReady: () => readonly string[] | Promise<readonly string[]>
  /**
   * Further routes by method and path, such as `GET /keys`. They win over the built-in ones, and answer only where they are
   * asked for by an address, by `localhost` or by `host`.
   */
  routes?: ReadonlyMap<string, AdminRoute>
  /** Told what went wrong behind a 500. */
  onError?: (error: unknown) => void
}

export interface Admin {
  readonly url: string
  /** Stops listening and closes every connection. */
  close(): Promise<void>
}

/** Starts the listener. @throws the system's error where the address cannot be taken. */
export async function startAdmin(options: AdminOptions): Promise<Admin> {
  const host = options.host ?? '127.0.0.1'
  const further = [...(options.routes ?? [])].map(([name, route]): [string, AdminRoute] => [name, onlyByOwnName(route, host)])
  const routes = new Map<string, AdminRoute>([...builtIn(options), ...further])
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 30_000 }, (request, response) => {
    void answer(routes, request, options.onError).then((reply) => send(response, reply))
  })
  await listen(server, host, options.port)
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** `localhost`, or an address: names that nobody elsewhere can lead to this machine. */
const PLAIN_HOST = /^(localhost|[\d.]+|\[[0-9a-f:.]+\])(:\d+)?$/i

/** A web page can lead a name of its own to this machine, and then read what its own name answers (DNS rebinding). */
function onlyByOwnName(route: AdminRoute, host: string): AdminRoute {
  return (request, url) => {
    const asked = request.headers.host ?? ''
    if (!PLAIN_HOST.test(asked) && asked.replace(/:\d+$/, '').toLowerCase() !== host.toLowerCase())
      throw new Fault('forbidden', { message: 'host: expected the address of this listener, or localhost' })
    return route(request, url)
  }
}

function builtIn(options: AdminOptions): [string, AdminRoute][] {
  return [
    ['GET /healthz', () => ({ status: 200, body: { status: 'ok' } })],
    [
      'GET /readyz',
      async () => {
        const reasons = [...(await options.notReady())]
        return reasons.length === 0 ? { status: 200, body: { status: 'ready' } } : { status: 503, body: { status: 'not ready', reasons } }
      },
    ],
    ['GET /metrics', async () => ({ status: 200, text: { type: options.metrics.contentType, content: await options.metrics.text() } })],
  ]
}

async function answer(
  routes: ReadonlyMap<string, AdminRoute>,
  request: IncomingMessage,
  onError: AdminOptions['onError'],
): Promise<AdminReply> {
  try {
    // A fixed base: the Host header is the caller's and names nothing here.
    const url = URL.parse(request.url ?? '/', 'http://admin.invalid')
    if (!url) throw new Fault('bad_request', { message: 'The request target is not a path' })
    const method = request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET')
    const route = routes.get(`${method} ${url.pathname}`)
    if (route) return await route(request, url)
    const known = [...routes.keys()].some((name) => name.endsWith(` ${url.pathname}`))
    throw new Fault(known ? 'method_not_allowed' : 'not_found')
  } catch (error) {
    const fault = asFault(error)
    if (fault.status >= 500) onError?.(error)
    return { status: fault.status, body: faultBody(fault) as Json }
  }
}

function send(response: ServerResponse, reply: AdminReply): void {
  if (reply.chunks) {
    response.writeHead(reply.status, { 'content-type': reply.chunks.type, 'cache-control': 'no-store' })
    pipeline(Readable.from(reply.chunks.content), response, () => {})
    return
  }
  const type = reply.text?.type ?? 'application/json'
  const content = reply.text?.content ?? JSON.stringify(reply.body ?? null)
  response.writeHead(reply.status, { 'content-type': type, 'content-length': Buffer.byteLength(content), 'cache-control': 'no-store' })
  response.end(content)
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

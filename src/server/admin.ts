/** The operator's listeners: health, readiness and metrics without a token, all else with the admin token. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Server as NetServer, Socket } from 'node:net'
import { pipeline, Readable } from 'node:stream'
import { asFault, Fault, faultBody, faultReply } from '../core/faults.ts'
import type { Json } from '../core/json.ts'
import { listenerUrl } from '../core/listener-url.ts'
import { createServer } from '../core/node-http.ts'
import type { Attempts } from '../pipeline/request/attempt-buckets.ts'
import type { AdminReply, AdminRoute } from './admin-route.ts'
import { type AdminAddresses, tokenCheck } from './admin-token.ts'
import type { ClientAddresses } from './client-address.ts'
import type { ControlRoom } from './control-room/control-room.ts'
import { headFault } from './edge-guard.ts'
import { closeFront, type Front } from './front.ts'
import { type AddressSource, listenError } from './listen-error.ts'
import { refuse, refuseNoRequests } from './listener.ts'
import { isOwnName } from './own-host.ts'
import type { ListenerCertificate } from './tls/listener-certificate.ts'
import { openSecureFront } from './tls/secure-front.ts'
import { listenOn, removeStale } from './unix-socket.ts'

export interface AdminOptions extends AdminAddresses {
  metrics: { text(): Promise<string>; readonly contentType: string }
  /** Why the process should get no traffic; empty when it should. */
  notReady: () => readonly string[] | Promise<readonly string[]>
  /** Notes for the operator about a process that is ready. */
  notes?: () => readonly string[]
  /** Further routes by method and path, such as `GET /keys`; a caller needs the token, or the socket. */
  routes?: ReadonlyMap<string, AdminRoute>
  /** Served on the port alone, not on the socket or the listener for health. */
  controlRoom?: Pick<ControlRoom, 'handle' | 'opens' | 'close'>
  /** Wrong tokens, by the address that they came from. Without it they are not limited. */
  wrongTokens?: { readonly failures: Pick<Attempts, 'check' | 'count'>; readonly addresses: Pick<ClientAddresses, 'of'> }
  /** Set where the port speaks TLS; the socket and the listener for health do not. */
  certificate?: ListenerCertificate | undefined
  /** Called with the error behind a 500. */
  onError?: (error: unknown) => void
}

export interface Admin {
  readonly url: string
  /** Address of the listener for health alone, where there is one. */
  readonly healthUrl: string | undefined
  /** Stops listening and closes every connection. */
  close(): Promise<void>
}

/** Starts the listeners. @throws Error that names the setting where an address cannot be taken, with nothing left open. */
export async function startAdmin(options: AdminOptions): Promise<Admin> {
  const {
    host = '127.0.0.1',
    port,
    names = new Set<string>(),
    token,
    socket,
    socketMode = 0o600,
    health,
    certificate,
    controlRoom,
    wrongTokens,
    onError,
  } = options
  const open = new Map<string, AdminRoute>(builtIn(options))
  const all = new Map<string, AdminRoute>([...open, ...(options.routes ?? [])])
  const isOperator = tokenCheck(token)
  const servers: Server[] = []
  const fronts: Front[] = []
  /** @param isOwn whether a request names this listener; any does where absent. */
  const serve = (
    handle: (request: IncomingMessage) => Promise<AdminReply>,
    { room, isOwn = () => true }: { room?: AdminOptions['controlRoom']; isOwn?: (request: IncomingMessage) => boolean } = {},
  ): Server => {
    /** Connections that end: requests that were sent behind a refused one are not looked at. */
    const refused = new WeakSet<Socket>()
    const server = createServer({ ...LIMITS, requireHostHeader: false }, (request, response) => {
      if (refused.has(request.socket)) return
      const fault = headFault(request) ?? (isOwn(request) ? undefined : anotherName(request))
      if (fault) {
        refused.add(request.socket)
        response.shouldKeepAlive = false
        send(response, refusal(fault))
      } else if (!room?.handle(request, response)) void handle(request).then((reply) => send(response, reply))
    })
    refuseNoRequests(server)
    servers.push(server)
    return server
  }
  const close = async (): Promise<void> => {
    controlRoom?.close()
    await Promise.all([...fronts.map(closeFront), ...servers.map(closed)])
  }
  try {
    const server = serve(
      (request) => answer({ open, all, isOperator: isOperator(request.headers.authorization), controlRoom, wrongTokens }, request, onError),
      {
        room: controlRoom,
        isOwn: ({ url, headers }) => PROBED.has(url ?? '') || headers.host === undefined || isOwnName(headers.host, names),
      },
    )
    const front = certificate && openSecureFront(server, certificate, { handshakeTimeout: LIMITS.headersTimeout, refuse })
    if (front) fronts.push(front)
    const taken = await listen(front?.server ?? server, { host, port, setting: 'admin.port', option: '--admin-port' })
    const url = listenerUrl(front ? 'https' : 'http', host, taken)
    if (socket !== undefined) {
      const place = { path: socket, mode: socketMode, setting: 'admin.socket' }
      await removeStale(place)
      await listenOn(
        serve((request) => answer({ open, all, isOperator: true }, request, onError)),
        place,
      )
    }
    const probed = new Map([...open].filter(([name]) => HEALTH.has(name)))
    const probes = serve((request) => answer({ open: probed, all: probed, isOperator: true }, request, onError))
    const healthPort = health && (await listen(probes, { ...health, setting: 'admin.health_port' }))
    return { url, healthUrl: health && listenerUrl('http', health.host, healthPort ?? health.port), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Milliseconds for a head and a whole request, and between two looks for those that take longer. */
const LIMITS = { headersTimeout: 10_000, requestTimeout: 30_000, connectionsCheckingInterval: 5_000 }

/** Operations of the listener for health alone. */
const HEALTH: ReadonlySet<string> = new Set(['GET /healthz', 'GET /readyz'])
/** Balancers send any name; they say nothing that a page could use. */
const PROBED: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

const anotherName = ({ headers }: IncomingMessage): Fault =>
  new Fault('forbidden', {
    message: `host: ${String(headers.host).slice(0, 100)} is no name of this listener; admin.hosts of the configuration adds one`,
    metadata: { field: 'host' },
  })

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    // Where it has never listened the callback comes with an error that says so.
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

function builtIn(options: AdminOptions): [string, AdminRoute][] {
  return [
    ['GET /healthz', () => ({ status: 200, body: { status: 'ok' } })],
    [
      'GET /readyz',
      async () => {
        const reasons = [...(await options.notReady())]
        if (reasons.length > 0) return { status: 503, body: { status: 'not ready', reasons } }
        const notes = options.notes?.() ?? []
        return { status: 200, body: { status: 'ready', ...(notes.length > 0 ? { notes: [...notes] } : {}) } }
      },
    ],
    ['GET /metrics', async () => ({ status: 200, text: { type: options.metrics.contentType, content: await options.metrics.text() } })],
  ]
}

interface Access {
  /** Routes that need no token. */
  readonly open: ReadonlyMap<string, AdminRoute>
  readonly all: ReadonlyMap<string, AdminRoute>
  readonly isOperator: boolean
  /** Its sessions open some routes. */
  readonly controlRoom?: Pick<ControlRoom, 'opens'> | undefined
  readonly wrongTokens?: AdminOptions['wrongTokens'] | undefined
}

async function answer(access: Access, request: IncomingMessage, onError: AdminOptions['onError']): Promise<AdminReply> {
  const { open, all, isOperator, controlRoom, wrongTokens } = access
  try {
    // A fixed base: the Host header is the caller's and names nothing here.
    const url = URL.parse(request.url ?? '/', 'http://admin.invalid')
    if (!url) throw new Fault('bad_request', { message: 'The request target is not a path' })
    const method = request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET')
    const name = `${method} ${url.pathname}`
    // Without the token a caller does not learn which other paths there are.
    if (!isOperator && !open.has(name) && !(await controlRoom?.opens(name, request))) {
      if (wrongTokens && request.headers.authorization !== undefined) countWrong(wrongTokens, request)
      throw new Fault('invalid_key', { message: TOKEN_NEEDED, headers: { 'WWW-Authenticate': 'Bearer' } })
    }
    const route = all.get(name)
    if (route) return await route(request, url)
    const known = [...all.keys()].some((each) => each.endsWith(` ${url.pathname}`))
    throw new Fault(known ? 'method_not_allowed' : 'not_found')
  } catch (error) {
    const fault = asFault(error)
    if (fault.status >= 500) onError?.(error)
    return refusal(fault)
  }
}

/** As the API listener does with wrong keys: the right one is never refused. @throws Fault 429. */
function countWrong({ failures, addresses }: NonNullable<AdminOptions['wrongTokens']>, request: IncomingMessage): void {
  const address = addresses.of(request)
  failures.check(address, 'Too many wrong tokens from this address')
  failures.count(address)
}

const refusal = (fault: Fault): AdminReply => ({ status: fault.status, headers: faultReply(fault).headers, body: faultBody(fault) as Json })

const TOKEN_NEEDED = 'Expected the admin token as a bearer token: admin.token of the configuration, or the file beside the store'

function send(response: ServerResponse, reply: AdminReply): void {
  if (reply.chunks) {
    response.writeHead(reply.status, { 'content-type': reply.chunks.type, 'cache-control': 'no-store' })
    pipeline(Readable.from(reply.chunks.content), response, () => {})
    return
  }
  const type = reply.text?.type ?? 'application/json'
  const content = reply.text?.content ?? JSON.stringify(reply.body ?? null)
  response.writeHead(reply.status, {
    ...reply.headers,
    'content-type': type,
    'content-length': Buffer.byteLength(content),
    'cache-control': 'no-store',
  })
  response.end(content)
}

/** @returns the port. */
async function listen(server: NetServer, source: AddressSource): Promise<number> {
  const { host, port } = source
  await listening(server, () => server.listen(port, host)).catch((error: Error) => {
    throw listenError(error, source)
  })
  return (server.address() as AddressInfo).port
}

function listening(server: NetServer, begin: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.once('listening', () => {
      server.off('error', reject)
      resolve()
    })
    begin()
  })
}

/** From a request line to what answers it: completions through the chain, other operations by the route table. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex, Readable } from 'node:stream'
import type { Clock } from '../core/clock.ts'
import { absoluteDocs, asFault, Fault, faultReply } from '../core/faults.ts'
import { type GenerationIds, randomTag } from '../core/ids.ts'
import type { JsonObject } from '../core/json.ts'
import type { ClientDialect } from '../dialects/types.ts'
import type { Front, Operation } from '../pipeline/chain.ts'
import type { ClientConnection } from '../pipeline/client-connection.ts'
import { Exchange } from '../pipeline/exchange.ts'
import { dialectByBody, type PlanDialects, planDialects } from '../pipeline/plan/format.ts'
import { brandHeaders } from '../pipeline/request/receive.ts'
import type { Telemetry } from '../services/telemetry/telemetry.ts'
import type { Page } from './consent-page.ts'
import type { Cors } from './cors.ts'
import { wasCut } from './drain.ts'
import { edgeFault } from './edge-guard.ts'
import { contentLengthOf, HttpConnection, type HttpConnectionSource } from './http-connection.ts'
import { closeAfterReply, giveUpBody, lingers, takeBodies } from './lingering-close.ts'
import { type RequestHandler, refuse } from './listener.ts'
import { OVERLOADED, type Overload } from './overload.ts'
import { ResponseSockets, type SocketServing } from './sockets/response-sockets.ts'
import { traceOperation } from './traces/operation-spans.ts'

export interface OperationRequest {
  method: string
  path: string
  query: URLSearchParams
  request: IncomingMessage
  /** What failed authentications of the caller count by. */
  address(): string
  /** The whole body. @throws Fault 413 where it is longer than `limit` bytes. */
  readBody(limit: number): Promise<Buffer>
  /** The body as it comes, as fast as the pieces are taken. Throws a fault where the caller leaves. */
  readPieces(): AsyncIterable<Buffer>
}

/** A body of JSON, or bytes with headers of their own: undefined where only the head was requested. */
export type Answer = { status: number; body: JsonObject } | { status: number; headers: OutgoingHttpHeaders; bytes: Readable | undefined }

/** @returns undefined where no operation has the path. @throws Fault. */
export type Operations = (operation: OperationRequest) => Promise<Answer> | undefined

/** What answers a person's browser. @returns undefined where no page has the path. */
export type Pages = (call: OperationRequest) => Promise<Page> | undefined

export interface PassThroughRoutes {
  matches(path: string): boolean
  /** Rejects with the fault that refuses it; nothing has been answered then. */
  request(request: IncomingMessage, response: ServerResponse, reserve: (payer: string) => Promise<void> | undefined): Promise<void>
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
}

/** What a configuration decides; replaced whole on reload, running exchanges keep theirs. */
export interface Serving {
  fronts: Readonly<Record<Operation, Front>>
  /** True for the slug of a model that gives vectors. */
  embeds: (slug: string) => boolean
  brand: string
  operations: Operations
  pages: Pages
  passThrough: PassThroughRoutes
  /** Undefined where responses are served over HTTP alone. */
  sockets: SocketServing | undefined
  /** Undefined where pages of other origins may not call. */
  cors: Cors | undefined
  /** Address under which callers reach the gateway. */
  publicUrl: string | undefined
}

/**
 * Milliseconds after which a caller that has closed its sending side is probed with a write:
 * if it no longer listens, the first write brings a reset and the second one finds it.
 */
const PROBES = [40, 60]

/** Takes a body of any client format and returns its plan. */
const PLAN_PATH = '/v1/plan'

/** Bytes: four stream buffers of 64 KB, two for each direction. */
const PASS_BUFFERS = 256 * 1024

/** The exchange's connection that a socket waits for. */
const CONNECTION = Symbol('connection')
type Speaking = Socket & { [CONNECTION]?: HttpConnection | undefined }

interface Refusal {
  readonly status: number
  readonly head: (string | number)[]
  readonly json: string
}

interface Opened {
  exchange: Exchange
  connection: HttpConnection
}

export class Gateway implements RequestHandler {
  serving: Serving
  private readonly clock: Clock
  private readonly ids: GenerationIds
  private readonly clients: ReadonlyMap<string, ClientDialect>
  private readonly formats: PlanDialects
  private readonly oops: (error: unknown) => void
  private readonly connections: HttpConnectionSource
  private readonly overload: Pick<Overload, 'refuses'>
  private readonly telemetry: Pick<Telemetry, 'tracing'>
  private readonly sockets: ResponseSockets
  /** What is answered under overload, by the dialect of the caller. */
  private readonly overloaded = new Map<ClientDialect | undefined, Refusal>()

  /** @param clients client dialects by path. */
  constructor(source: {
    serving: Serving
    clock: Clock
    ids: GenerationIds
    clients: ReadonlyMap<string, ClientDialect>
    oops: (error: unknown) => void
    connections: HttpConnectionSource
    overload: Pick<Overload, 'refuses'>
    telemetry: Pick<Telemetry, 'tracing'>
  }) {
    this.serving = source.serving
    this.clock = source.clock
    this.ids = source.ids
    this.clients = source.clients
    this.formats = planDialects(source.clients)
    this.oops = source.oops
    this.connections = source.connections
    this.overload = source.overload
    this.telemetry = source.telemetry
    this.sockets = new ResponseSockets({
      connections: this.connections,
      serving: () => this.serving.sockets,
      host: {
        refusal: (bytes) => (this.overload.refuses(bytes) ? OVERLOADED : undefined),
        exchange: (connection, { request, format }) => this.exchange(format.client, request, connection),
        run: (exchange, generates) => this.respond(exchange, generates),
      },
    })
  }

  request(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    if (lingers(request.socket)) return
    takeBodies(request.socket)
    const { cors } = this.serving
    if (cors?.answer(request, response)) return
    const fault = edgeFault(request)
    if (fault) {
      closeAfterReply(request, response, this.clock)
      this.writeFault(response, fault, this.clients.get(pathOf(request)))
      return
    }
    const path = pathOf(request)
    const client = this.clients.get(path)
    // Without a "100 Continue" it is unknown whether a body follows; only the connection of a completion sends one.
    if (expectsContinue && !((client || path === PLAN_PATH) && request.method === 'POST')) response.shouldKeepAlive = false
    if (this.isTooLate(path, client, request)) this.shed(request, response, client)
    else if (client && request.method === 'POST') {
      const { fronts } = this.serving
      const front = client.countBody ? fronts.count : client.embedding ? fronts.embed : fronts.generate
      this.complete(this.open(client, request, response, expectsContinue), front, response)
    } else if (path === PLAN_PATH) this.plan(request, response, expectsContinue)
    else if (client) this.writeFault(response, new Fault('method_not_allowed', { headers: { Allow: 'POST' } }), client)
    else if (this.serving.passThrough.matches(request.url ?? '')) this.pass(request, response)
    else void this.operate(request, response, expectsContinue)
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    takeBodies(request.socket)
    const fault = edgeFault(request)
    const format = this.clients.get(pathOf(request))?.socket
    if (fault) refuse(socket, fault)
    else if (format) this.sockets.accept(request, socket, head, format).catch((thrown) => refuse(socket, this.faultOf(thrown)))
    else if (this.serving.passThrough.matches(request.url ?? '')) {
      this.serving.passThrough.upgrade(request, socket, head).catch((thrown) => refuse(socket, this.faultOf(thrown)))
    } else refuse(socket, new Fault('bad_request', { message: 'upgrade: this path does not offer one' }))
  }

  /** A harmless byte provokes a reset if the caller has left, and does not if it has only finished sending. */
  halfClosed(socket: Socket): void {
    const connection = (socket as Speaking)[CONNECTION]
    if (!connection) return
    for (const ms of PROBES) this.clock.after(ms, () => connection.probe())
  }

  /** Under overload, requests that call a provider are refused, and plans; management and lists never are. */
  private isTooLate(path: string, client: ClientDialect | undefined, request: IncomingMessage): boolean {
    if (client || path === PLAN_PATH) return request.method === 'POST' && this.overload.refuses(contentLengthOf(request))
    return this.serving.passThrough.matches(request.url ?? '') && this.overload.refuses(undefined)
  }

  /** As cheap as possible: without authentication and without a log line. */
  private shed(request: IncomingMessage, response: ServerResponse, client: ClientDialect | undefined): void {
    let refusal = this.overloaded.get(client)
    if (!refusal) {
      const { status, headers, json } = faultReply(OVERLOADED, { body: client?.faultBody })
      const head = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(json), ...headers }
      refusal = { status, head: Object.entries(head).flat(), json }
      this.overloaded.set(client, refusal)
    }
    giveUpBody(request, response, refusal.status, this.clock)
    response.writeHead(refusal.status, refusal.head)
    response.end(refusal.json)
  }

  /** A pass-through streams both ways: what it holds at once is in the buffers of its two sockets. */
  private pass(request: IncomingMessage, response: ServerResponse): void {
    const share = this.connections.memory.open()
    response.once('close', () => share.release())
    const reserve = (payer: string): Promise<void> | undefined => {
      share.for(payer)
      return share.reserve(PASS_BUFFERS)
    }
    this.serving.passThrough.request(request, response, reserve).catch((thrown) => this.writeFault(response, this.faultOf(thrown)))
  }

  private plan(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    if (request.method !== 'POST') {
      this.writeFault(response, new Fault('method_not_allowed', { headers: { Allow: 'POST' } }))
      return
    }
    const format = queryOf(request).get('format')
    const client = dialectByBody(this.formats, format, this.serving.embeds)
    const opened = this.open(client, request, response, expectsContinue)
    // A plan leaves no spans.
    opened.exchange.trail.trace = undefined
    this.complete(opened, this.serving.fronts.plan, response)
  }

  /** Ends the WebSockets of responses, which a listener that closes would wait for. */
  closeSockets(): void {
    this.sockets.close()
  }

  private exchange(client: ClientDialect, request: IncomingMessage, connection: ClientConnection): Exchange {
    const { brand } = this.serving
    const exchange = new Exchange({
      id: this.ids.next(this.clock.now()),
      client,
      headers: request.headers,
      connection,
      clock: this.clock,
      brand,
      wantsMetadata: wantsMetadata(request, brand),
    })
    const { tracing } = this.telemetry
    if (tracing) exchange.trail.trace = tracing.begin(request.headers)
    return exchange
  }

  private respond(exchange: Exchange, generates: boolean): Promise<boolean> {
    const { fronts } = this.serving
    const front = generates ? fronts.generate : fronts.prepare
    return front(exchange).then(
      () => true,
      (error) => {
        this.oops(error)
        return false
      },
    )
  }

  private open(client: ClientDialect, request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): Opened {
    const connection = new HttpConnection(request, response, this.connections, expectsContinue)
    const exchange = this.exchange(client, request, connection)
    const socket: Speaking = request.socket
    socket[CONNECTION] = connection
    // Only the end of it: a long reply may wait for its caller when the exchange, and with it the body, are no longer needed.
    const {
      head: { cancel },
    } = exchange
    response.on('close', () => {
      // An idle connection must not keep its last request in memory.
      if (socket[CONNECTION] === connection) socket[CONNECTION] = undefined
      if (!response.writableFinished) cancel.abort(new Fault(wasCut(socket) ? 'shutdown' : 'client_gone'))
    })
    return { exchange, connection }
  }

  private complete({ exchange, connection }: Opened, front: Front, response: ServerResponse): void {
    front(exchange).then(
      () => connection.release(),
      (error) => {
        connection.release()
        this.oops(error)
        response.destroy()
      },
    )
  }

  private async operate(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): Promise<void> {
    const path = pathOf(request)
    traceOperation({ request, response, path }, { telemetry: this.telemetry, clock: this.clock })
    let connection: HttpConnection | undefined
    const opened = (): HttpConnection => {
      connection ??= new HttpConnection(request, response, this.connections, expectsContinue)
      return connection
    }
    const operation: OperationRequest = {
      method: request.method ?? 'GET',
      path,
      query: queryOf(request),
      request,
      address: () => this.connections.addresses.of(request),
      readBody: (limit) => opened().readBody(limit),
      readPieces: () => opened().readPieces(),
    }
    try {
      if (operation.path === '/' && operation.method === 'HEAD') {
        response.writeHead(200).end()
        return
      }
      const page = this.serving.pages(operation)
      if (page) {
        writePage(response, await page, operation.method)
        return
      }
      nameReply(response)
      const answer = await this.serving.operations(operation)
      if (!answer) throw new Fault('not_found', { message: `No such path: ${operation.path.slice(0, 200)}` })
      if ('headers' in answer) {
        opened().download(answer.status, answer.headers, answer.bytes)
        return
      }
      const text = JSON.stringify(answer.body)
      if (operation.method !== 'HEAD') {
        opened().whole(answer.status, {}, text)
        return
      }
      response.writeHead(answer.status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) })
      response.end()
    } catch (thrown) {
      this.writeFault(response, this.faultOf(thrown))
    } finally {
      connection?.release()
    }
  }

  private writeFault(response: ServerResponse, fault: Fault, client?: ClientDialect): void {
    if (response.headersSent) {
      response.destroy()
      return
    }
    nameReply(response, client)
    const { status, headers, json } = faultReply(absoluteDocs(fault, this.serving.publicUrl), { body: client?.faultBody })
    giveUpBody(response.req, response, status, this.clock)
    response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(json), ...headers })
    response.end(json)
  }

  /** An unexpected error is logged; the reply has nothing of it. */
  private faultOf(thrown: unknown): Fault {
    const fault = asFault(thrown)
    if (fault.code === 'internal') this.oops(fault.cause)
    return fault
  }
}

/**
 * Gives a reply that is no generation an id, in the header that the SDKs of the caller's format show as the id of the request (openai
 * 7.55.0 and @anthropic-ai/sdk 1.12.0, internal/parse.ts). Generations have their own; a reply under overload has none.
 */
function nameReply(response: ServerResponse, client?: ClientDialect): void {
  const usual = response.req.headers['anthropic-version'] === undefined ? 'X-Request-Id' : 'Request-Id'
  const name = client?.requestIdHeader ?? usual
  if (!response.hasHeader(name)) response.setHeader(name, `req-${randomTag()}`)
}

/** Paths of the API; those of the pass-through are the provider's and never reach this. */
const API = '/v1/'
const SLASH = 0x2f

/** The path of a request without its query. A slash at the end of an API path is left out: some clients add one. */
function pathOf({ url = '/' }: IncomingMessage): string {
  const mark = url.indexOf('?')
  const end = mark === -1 ? url.length : mark
  const slash = end > API.length && url.charCodeAt(end - 1) === SLASH && url.startsWith(API)
  return slash ? url.slice(0, end - 1) : end === url.length ? url : url.slice(0, end)
}

function queryOf({ url = '/' }: IncomingMessage): URLSearchParams {
  const mark = url.indexOf('?')
  return new URLSearchParams(mark === -1 ? '' : url.slice(mark))
}

function writePage(response: ServerResponse, { status, headers, html }: Page, method: string): void {
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(html) })
  response.end(method === 'HEAD' ? undefined : html)
}

/** The header counts whatever its case; any other value than `enabled` is off (contract section 0, row 21). */
function wantsMetadata({ headers }: IncomingMessage, brand: string): boolean {
  const { metadata, legacyMetadata } = brandHeaders(brand)
  const value = headers[metadata] ?? headers[legacyMetadata]
  return typeof value === 'string' && value.toLowerCase() === 'enabled'
}

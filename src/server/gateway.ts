/** From a request line to what answers it: completions through the chain, other operations by the route table. */
import type { X509Certificate } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type ApiReply, type BytesReply, replyJson } from '../api/reply.ts'
import type { Clock } from '../core/clock.ts'
import { absoluteDocs, asFault, Fault, faultReply } from '../core/faults.ts'
import { randomTag } from '../core/ids.ts'
import { isIgnoredOffer } from '../core/websocket-handshake.ts'
import type { ClientDialect } from '../dialects/types.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { PassThroughBody } from '../pipeline/pass-through/handler.ts'
import type { PassThroughRoutes } from '../pipeline/pass-through/routes.ts'
import { dialectByBody, type PlanDialects, planDialects } from '../pipeline/plan/format.ts'
import type { Telemetry } from '../services/telemetry/telemetry.ts'
import { BodyShare } from './body-memory.ts'
import type { Page } from './consent-page.ts'
import { probeReply } from './early-letters.ts'
import { edgeFault } from './edge-guard.ts'
import { type ExchangeServing, Exchanges, type ExchangesSource } from './exchanges.ts'
import { foreignPath } from './foreign-paths.ts'
import { type HttpConnectionSource, jsonLength, parseContentLength, requestSender } from './http-connection.ts'
import { LeavingCallers } from './leaving-callers.ts'
import { closeAfterReply, giveUpBody, lingers, takeBodies } from './lingering-close.ts'
import { type RequestHandler, refuse } from './listener.ts'
import { NodeConnection } from './node-connection.ts'
import type { Overload } from './overload.ts'
import { readWhole } from './request-body.ts'
import { ResponseSockets, type SocketServing } from './sockets/response-sockets.ts'
import { endWithTrust, trustedCertificate } from './tls/client-certificate.ts'
import { traceOperation } from './traces/operation-spans.ts'

export interface OperationRequest {
  method: string
  path: string
  query: URLSearchParams
  request: IncomingMessage
  /** Bucket of failed authentications of the caller. */
  address(): string
  /** Certificate of the caller. @throws Fault 401 where it is not trusted any more; the connection ends with the reply then. */
  certificate(): X509Certificate | undefined
  /** The whole body. @throws Fault 413 where it is longer than `limit` bytes. */
  readBody(limit: number): Promise<Buffer>
  /** The body as it comes, as fast as the pieces are taken. Throws a fault where the caller leaves. */
  readPieces(): AsyncIterable<Buffer>
}

export type Answer = ApiReply | BytesReply

/** @returns undefined where no operation has the path. @throws Fault. */
export type Operations = (operation: OperationRequest) => Promise<Answer | undefined>

/** Pages for a person's browser. @returns undefined where no page has the path. */
export type Pages = (call: OperationRequest) => Promise<Page> | undefined

/** Parts that a configuration decides; replaced whole on reload, running exchanges keep theirs. */
export interface Serving extends ExchangeServing {
  /** True for the slug of a model that gives vectors. */
  embeds: (slug: string) => boolean
  operations: Operations
  pages: Pages
  passThrough: PassThroughRoutes
  /** Undefined where responses are served over HTTP alone. */
  sockets: SocketServing | undefined
}

/** Takes a body of any client format and returns its plan. */
const PLAN_PATH = '/v1/plan'

/** Bytes: four stream buffers of 64 KB, two for each direction. */
const PASS_BUFFERS = 256 * 1024

export class Gateway implements RequestHandler {
  readonly plain: RequestHandler['plain']
  private current: Serving
  private readonly clock: Clock
  private readonly clients: ReadonlyMap<string, ClientDialect>
  private readonly formats: PlanDialects
  private readonly reportUnexpected: (error: unknown) => void
  private readonly connections: HttpConnectionSource
  private readonly overload: Pick<Overload, 'refusal'>
  private readonly telemetry: Pick<Telemetry, 'tracing'>
  private readonly exchanges: Exchanges
  private readonly sockets: ResponseSockets
  private readonly leaving: LeavingCallers

  constructor(source: Omit<ExchangesSource, 'leaving'> & { serving: Serving }) {
    this.current = source.serving
    this.clock = source.clock
    this.clients = source.clients
    this.formats = planDialects(source.clients)
    this.reportUnexpected = source.reportUnexpected
    this.connections = source.connections
    this.overload = source.overload
    this.telemetry = source.telemetry
    this.leaving = new LeavingCallers(source.clock)
    this.exchanges = new Exchanges({ ...source, leaving: this.leaving })
    this.plain = this.exchanges.plain
    this.sockets = new ResponseSockets({
      connections: this.connections,
      serving: () => this.serving.sockets,
      host: {
        refusal: (bytes) => this.overload.refusal(bytes, UNKNOWN),
        exchange: (connection, { request, format }) => this.exchanges.create(format.client, request, { connection }),
        run: (exchange, generates) => this.respond(exchange, generates),
      },
    })
  }

  get serving(): Serving {
    return this.current
  }

  set serving(serving: Serving) {
    this.current = serving
    this.exchanges.serving = serving
  }

  request(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    if (lingers(request.socket)) return
    takeBodies(request.socket)
    const { cors } = this.serving
    if (cors?.answer(request, response)) return
    const fault = edgeFault(request, this.serving.config.server.publicUrl)
    if (fault) {
      closeAfterReply(request, response, this.clock)
      this.writeFault(response, fault, this.clients.get(requestPath(request)))
      return
    }
    // It came behind a request that was still answered, so that Node's parser has dropped what came with it (upgrade-offers.ts).
    if (isIgnoredOffer(request)) closeAfterReply(request, response, this.clock)
    const path = requestPath(request)
    const client = this.clients.get(path)
    // Without a "100 Continue" it is unknown whether a body follows; only the connection of a completion sends one.
    if (expectsContinue && !((client || path === PLAN_PATH) && request.method === 'POST')) closeAfterReply(request, response, this.clock)
    const refusal = this.refusal(path, client, request)
    if (refusal) {
      giveUpBody(request, response, refusal.status, this.clock)
      this.exchanges.shed(response, client, refusal)
    } else if (client && request.method === 'POST') {
      this.exchanges.answer(client, response, new NodeConnection(request, response, this.connections, expectsContinue))
    } else if (path === PLAN_PATH) this.plan(request, response, expectsContinue)
    else if (client) this.writeFault(response, new Fault('method_not_allowed', { headers: { Allow: 'POST' } }), client)
    else if (this.serving.passThrough.matches(request.url ?? '')) this.pass(request, response)
    else void this.operate(request, response, expectsContinue)
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    takeBodies(request.socket)
    const fault = edgeFault(request, this.serving.config.server.publicUrl)
    const format = this.clients.get(requestPath(request))?.socket
    if (fault) refuse(socket, fault)
    else if (format) this.sockets.accept(request, socket, head, format).catch((thrown) => refuse(socket, this.loggedFault(thrown)))
    else if (this.serving.passThrough.matches(request.url ?? '')) {
      const refusal = this.overload.refusal(undefined, UNKNOWN)
      if (refusal) refuse(socket, refusal)
      else {
        // What passes on it is not looked at, so that no message can be refused.
        endWithTrust(request.socket)
        this.serving.passThrough.upgrade(request, socket, head).catch((thrown) => refuse(socket, this.loggedFault(thrown)))
      }
    } else refuse(socket, new Fault('bad_request', { message: 'upgrade: this path does not offer one' }))
  }

  halfClosed(socket: Socket): void {
    this.leaving.halfClosed(socket)
  }

  unread(socket: Socket): void {
    this.leaving.unread(socket)
  }

  /** Under overload, requests that call a provider are refused, and plans; management and lists never are. */
  private refusal(path: string, client: ClientDialect | undefined, request: IncomingMessage): Fault | undefined {
    if (client || path === PLAN_PATH)
      return request.method === 'POST' ? this.overload.refusal(parseContentLength(request), () => requestSender(request)) : undefined
    return this.serving.passThrough.matches(request.url ?? '') ? this.overload.refusal(undefined, UNKNOWN) : undefined
  }

  /** A pass-through streams both ways: what it holds at once is in the buffers of its two sockets. */
  private pass(request: IncomingMessage, response: ServerResponse): void {
    const share = new BodyShare(this.connections.memory)
    const { leaving } = this
    const { socket } = request
    const probed = { probe: () => probeReply(response) }
    leaving.begin(socket, probed)
    // A provider that does not take the body holds its caller back, whose bytes are not read meanwhile.
    if (!request.complete) leaving.unread(socket, () => !request.complete && request.isPaused())
    response.once('close', () => {
      leaving.end(socket, probed)
      share.release()
    })
    const { clock, slowAfter } = this.connections
    const body: PassThroughBody = {
      reserve: (payer) => {
        share.for(payer)
        return share.reserve(PASS_BUFFERS)
      },
      read: (limit) => {
        if (request.headers.expect?.toLowerCase() === '100-continue') response.writeContinue()
        return readWhole(request, limit, { share, length: parseContentLength(request), clock, slowAfter })
      },
    }
    this.serving.passThrough.request(request, response, body).catch((thrown) => {
      const fault = this.loggedFault(thrown)
      // What is left of a body that was not read to its end.
      if (!request.complete) giveUpBody(request, response, fault.status, this.clock)
      this.writeFault(response, fault)
    })
  }

  private plan(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    if (request.method !== 'POST') {
      this.writeFault(response, new Fault('method_not_allowed', { headers: { Allow: 'POST' } }))
      return
    }
    const format = requestQuery(request).get('format')
    const client = dialectByBody(this.formats, format, this.serving.embeds)
    const connection = new NodeConnection(request, response, this.connections, expectsContinue)
    const exchange = this.exchanges.create(client, request, { connection, traced: false })
    this.exchanges.run(exchange, response, { connection, front: this.serving.fronts.plan })
  }

  /** Ends the WebSockets of responses, which a listener that closes would wait for. */
  closeSockets(): void {
    this.sockets.close()
  }

  private respond(exchange: Exchange, generates: boolean): Promise<boolean> {
    const { fronts } = this.serving
    const front = generates ? fronts.generate : fronts.prepare
    return front(exchange).then(
      () => true,
      (error) => {
        this.reportUnexpected(error)
        return false
      },
    )
  }

  private async operate(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): Promise<void> {
    const path = requestPath(request)
    traceOperation({ request, response, path }, { telemetry: this.telemetry, clock: this.clock })
    let connection: NodeConnection | undefined
    const opened = (): NodeConnection => {
      connection ??= new NodeConnection(request, response, this.connections, expectsContinue)
      return connection
    }
    const operation: OperationRequest = {
      method: request.method ?? 'GET',
      path,
      query: requestQuery(request),
      request,
      address: () => this.connections.addresses.of(request),
      certificate: () => trustedCertificate(request.socket, response),
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
      const foreign = foreignPath(operation.method, path)
      if (foreign !== undefined) throw new Fault('not_found', { message: foreign })
      const answer = await this.serving.operations(operation)
      if (!answer) throw new Fault('not_found', { message: `No such path: ${operation.path.slice(0, 200)}` })
      if ('headers' in answer) {
        opened().download(answer.status, answer.headers, answer.bytes)
        return
      }
      const json = await replyJson(answer.body)
      if (operation.method !== 'HEAD') {
        opened().whole(answer.status, {}, json)
        return
      }
      response.writeHead(answer.status, { 'Content-Type': 'application/json', 'Content-Length': jsonLength(json) })
      response.end()
    } catch (thrown) {
      this.writeFault(response, this.loggedFault(thrown))
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
    const { status, headers, json } = faultReply(absoluteDocs(fault, this.serving.config.server.publicUrl), {
      body: client?.faultBody,
      codeForm: this.exchanges.codeForm(response.req.headers),
    })
    giveUpBody(response.req, response, status, this.clock)
    response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(json), ...headers })
    response.end(json)
  }

  /** An unexpected error is logged; the reply has nothing of it. */
  private loggedFault(thrown: unknown): Fault {
    const fault = asFault(thrown)
    if (fault.code === 'internal') this.reportUnexpected(fault.cause)
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

/** Paths of the formats, which clients call whose base address has no `/v1`; none of the management of the gateway. */
const WITHOUT_API = /^\/(?:chat\/completions|completions|responses|messages|embeddings|models)(?:\/|$)/

/**
 * The path of a request without its query. A slash at the end of an API path is left out: some clients add one. Clients of OpenAI's
 * formats want a base address that ends with `/v1`, those of Anthropic's one without it, so `/v1` also comes twice or not at all.
 */
function requestPath({ url = '/' }: IncomingMessage): string {
  const mark = url.indexOf('?')
  const end = mark === -1 ? url.length : mark
  const slash = end > API.length && url.charCodeAt(end - 1) === SLASH
  if (!url.startsWith(API)) {
    const path = url.slice(0, end)
    if (!WITHOUT_API.test(path)) return path
    return `/v1${slash ? path.slice(0, -1) : path}`
  }
  const from = url.startsWith(API, API.length - 1) ? API.length - 1 : 0
  return url.slice(from, slash ? end - 1 : end)
}

const UNKNOWN = (): undefined => undefined

function requestQuery({ url = '/' }: IncomingMessage): URLSearchParams {
  const mark = url.indexOf('?')
  return new URLSearchParams(mark === -1 ? '' : url.slice(mark))
}

function writePage(response: ServerResponse, { status, headers, html }: Page, method: string): void {
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(html) })
  response.end(method === 'HEAD' ? undefined : html)
}

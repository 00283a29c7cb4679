/** Answers requests that go through a chain: opens the exchange of each, ties it to its connection, and runs it. */
import type { IncomingMessage } from 'node:http'
import type { Config } from '../config/config.ts'
import type { Clock } from '../core/clock.ts'
import type { CodeForm } from '../core/error-codes.ts'
import { Fault, faultReply } from '../core/faults.ts'
import type { GenerationIds } from '../core/ids.ts'
import type { ClientDialect } from '../dialects/types.ts'
import type { Front, Operation } from '../pipeline/chain.ts'
import type { ClientConnection } from '../pipeline/client-connection.ts'
import { Exchange } from '../pipeline/exchange.ts'
import { chooseCodeForm } from '../pipeline/request/code-form.ts'
import type { Telemetry } from '../services/telemetry/telemetry.ts'
import type { CallerReply } from './caller.ts'
import type { Cors } from './cors.ts'
import { wasCut } from './drain.ts'
import { type HttpConnection, type HttpConnectionSource, PlainClient, requestSender } from './http-connection.ts'
import type { LeavingCallers } from './leaving-callers.ts'
import type { Overload } from './overload.ts'
import type { PlainReply, PlainRequest } from './plain/reply.ts'

/** Settings of them by the configuration. */
export interface ExchangeServing {
  fronts: Readonly<Record<Operation, Front>>
  config: Config
  /** Undefined where pages of other origins may not call. */
  cors: Cors | undefined
}

export interface ExchangesSource {
  serving: ExchangeServing
  /** Client dialects by path. */
  clients: ReadonlyMap<string, ClientDialect>
  connections: HttpConnectionSource
  overload: Pick<Overload, 'refusal' | 'refusesShort'>
  clock: Clock
  ids: GenerationIds
  reportUnexpected: (error: unknown) => void
  telemetry: Pick<Telemetry, 'tracing'>
  leaving: LeavingCallers
  /** Counts a request that is refused before it is an exchange. */
  shed: (fault: Fault) => void
}

interface Refusal {
  readonly status: number
  readonly head: (string | number)[]
  readonly json: string
}

export class Exchanges {
  serving: ExchangeServing
  private readonly source: ExchangesSource
  /** Reply under overload, by its fault and the dialect of the caller. */
  private readonly refusals = new WeakMap<Fault, Map<string, Refusal>>()

  constructor(source: ExchangesSource) {
    this.serving = source.serving
    this.source = source
  }

  /** @returns false for what is no plain completion: Node's server has to parse it. */
  readonly plain = (request: PlainRequest, reply: PlainReply): boolean => {
    const { clients, connections, overload } = this.source
    const client = clients.get(request.path)
    if (!client || this.serving.cors) return false
    // The body of a plain request is a short one.
    const refusal = overload.refusesShort ? overload.refusal(request.body.length, () => requestSender(request)) : undefined
    if (refusal) this.shed(reply, client, refusal)
    else this.answer(client, reply, new PlainClient(request, reply, connections))
    return true
  }

  /** Runs the request of a reply through the chain of its dialect's operation. */
  answer(client: ClientDialect, reply: CallerReply, connection: HttpConnection): void {
    const { fronts } = this.serving
    if (reply.req.headers['x-forwarded-for'] !== undefined) this.source.connections.addresses.look(reply.req)
    const front = client.countBody ? fronts.count : client.embedding ? fronts.embed : fronts.generate
    this.run(this.create(client, reply.req, { connection }), reply, { connection, front })
  }

  /** Refuses under overload as cheaply as possible: without authentication and without a log line. */
  shed(reply: CallerReply, client: ClientDialect | undefined, fault: Fault): void {
    this.source.shed(fault)
    let written = this.refusals.get(fault)
    if (!written) {
      written = new Map()
      this.refusals.set(fault, written)
    }
    const codeForm = this.codeForm(reply.req.headers)
    const name = `${client?.id} ${codeForm}`
    let refusal = written.get(name)
    if (!refusal) {
      const { status, headers, json } = faultReply(fault, { body: client?.faultBody, codeForm })
      const head = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(json), ...headers }
      refusal = { status, head: Object.entries(head).flat(), json }
      written.set(name, refusal)
    }
    reply.writeHead(refusal.status, refusal.head)
    reply.end(refusal.json, 'latin1')
  }

  /** Of a reply that is not of an exchange: its key is not known. */
  codeForm(headers: IncomingMessage['headers']): CodeForm {
    const { brand, errors } = this.serving.config
    return chooseCodeForm({ headers, header: brand.headers.errorCode, ofKey: undefined, configured: errors.code })
  }

  /** @param traced false for what leaves no spans. */
  create(
    client: ClientDialect,
    { headers }: Pick<IncomingMessage, 'headers'>,
    { connection, traced = true }: { connection: ClientConnection; traced?: boolean },
  ): Exchange {
    const { clock, ids, telemetry } = this.source
    const { config } = this.serving
    const at = clock.now()
    const exchange = new Exchange({
      wantsMetadata: wantsMetadata(headers, config.brand.headers),
      id: ids.next(at),
      at,
      client,
      headers,
      connection,
      clock,
      config,
    })
    if (traced && telemetry.tracing) exchange.history.trace = telemetry.tracing.begin(headers)
    return exchange
  }

  /** Runs an exchange to its end, which frees what its connection holds. A caller that leaves before the end of the reply cancels it. */
  run(exchange: Exchange, response: CallerReply, { connection, front }: { connection: HttpConnection; front: Front }): void {
    const { socket } = response.req
    const { leaving } = this.source
    leaving.begin(socket, connection)
    // Only the end of it: a long reply may wait for its caller when the exchange, and with it the body, are no longer needed.
    const { cancel } = exchange.head
    response.on('close', () => {
      connection.replyClosed()
      // An idle connection must not keep its last request in memory.
      leaving.end(socket, connection)
      if (!response.writableFinished) cancel.abort(new Fault(wasCut(socket) ? 'shutdown' : 'client_gone'))
    })
    front(exchange).then(
      () => connection.release(),
      (error) => {
        connection.release()
        this.source.reportUnexpected(error)
        response.destroy()
      },
    )
  }
}

/** The header counts whatever its case; any other value than `enabled` is off (docs/contract.md#router-metadata). */
function wantsMetadata(headers: IncomingMessage['headers'], { metadata, legacyMetadata }: Config['brand']['headers']): boolean {
  const value = headers[metadata] ?? headers[legacyMetadata]
  return typeof value === 'string' && value.toLowerCase() === 'enabled'
}

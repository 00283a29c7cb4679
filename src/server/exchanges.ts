/** Opens the exchange of a request, ties it to its connection, and runs it through a chain. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import type { GenerationIds } from '../core/ids.ts'
import type { ClientDialect } from '../dialects/types.ts'
import type { Front } from '../pipeline/chain.ts'
import type { ClientConnection } from '../pipeline/client-connection.ts'
import { Exchange } from '../pipeline/exchange.ts'
import { brandHeaders } from '../pipeline/request/receive.ts'
import type { Telemetry } from '../services/telemetry/telemetry.ts'
import type { CallerReply } from './caller.ts'
import { wasCut } from './drain.ts'
import type { HttpConnection } from './http-connection.ts'

export interface ExchangesSource {
  clock: Clock
  ids: GenerationIds
  oops: (error: unknown) => void
  telemetry: Pick<Telemetry, 'tracing'>
}

/**
 * Milliseconds after which a caller that has closed its sending side is probed with a write:
 * if it no longer listens, the first write brings a reset and the second one finds it.
 */
const PROBES = [40, 60]

/** The exchange's connection that a socket waits for. */
const CONNECTION = Symbol('connection')
type Speaking = Socket & { [CONNECTION]?: HttpConnection | undefined }

export class Exchanges {
  private readonly source: ExchangesSource

  constructor(source: ExchangesSource) {
    this.source = source
  }

  /** @param traced false for what leaves no spans. */
  create(
    client: ClientDialect,
    { headers }: Pick<IncomingMessage, 'headers'>,
    { connection, brand, traced = true }: { connection: ClientConnection; brand: string; traced?: boolean },
  ): Exchange {
    const { clock, ids, telemetry } = this.source
    const exchange = new Exchange({
      id: ids.next(clock.now()),
      client,
      headers,
      connection,
      clock,
      brand,
      wantsMetadata: wantsMetadata(headers, brand),
    })
    if (traced && telemetry.tracing) exchange.trail.trace = telemetry.tracing.begin(headers)
    return exchange
  }

  /** Runs an exchange to its end, which frees what its connection holds. A caller that leaves before the end of the reply cancels it. */
  run(exchange: Exchange, response: CallerReply, { connection, front }: { connection: HttpConnection; front: Front }): void {
    const socket: Speaking = response.req.socket
    socket[CONNECTION] = connection
    // Only the end of it: a long reply may wait for its caller when the exchange, and with it the body, are no longer needed.
    const { cancel } = exchange.head
    response.once('close', () => {
      // An idle connection must not keep its last request in memory.
      if (socket[CONNECTION] === connection) socket[CONNECTION] = undefined
      if (!response.writableFinished) cancel.abort(new Fault(wasCut(socket) ? 'shutdown' : 'client_gone'))
    })
    front(exchange).then(
      () => connection.release(),
      (error) => {
        connection.release()
        this.source.oops(error)
        response.destroy()
      },
    )
  }

  /** A harmless byte provokes a reset if the caller has left, and does not if it has only finished sending. */
  halfClosed(socket: Socket): void {
    const connection = (socket as Speaking)[CONNECTION]
    if (!connection) return
    for (const ms of PROBES) this.source.clock.after(ms, () => connection.probe())
  }
}

/** The header counts whatever its case; any other value than `enabled` is off (contract section 0, row 21). */
function wantsMetadata(headers: IncomingMessage['headers'], brand: string): boolean {
  const { metadata, legacyMetadata } = brandHeaders(brand)
  const value = headers[metadata] ?? headers[legacyMetadata]
  return typeof value === 'string' && value.toLowerCase() === 'enabled'
}

/** What a call of an endpoint is before it is sent: its dialect, its lane, and the request as that dialect writes it. */

import type { IncomingHttpHeaders } from 'node:http'
import { Fault } from '../../core/faults.ts'
import type { Encoded, Target, UpstreamDialect } from '../../dialects/types.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { Exchange } from '../exchange.ts'
import { upstreamCap } from '../money/reservation.ts'
import type { ChainParts } from '../parts.ts'
import { EventPath } from '../reply/event-path.ts'
import type { Lane } from '../reply.ts'
import { chooseLane } from './lanes.ts'

export interface EndpointCall {
  exchange: Exchange
  endpoint: Endpoint
  dialect: UpstreamDialect
  target: Target
  lane: Lane
}

/** What a call of this endpoint would be; nothing is sent. */
export function callOf(exchange: Exchange, endpoint: Endpoint, parts: Pick<ChainParts, 'upstreams' | 'forcedLane'>): EndpointCall {
  const dialect = parts.upstreams.get(endpoint.provider.dialect)
  if (!dialect) throw new Fault('internal', { cause: new Error(`no dialect ${endpoint.provider.dialect}`) })
  const target = targetOf(exchange, endpoint)
  return { exchange, endpoint, dialect, target, lane: laneOf(exchange, dialect, target, parts.forcedLane) }
}

export function targetOf(exchange: Exchange, endpoint: Endpoint): Target {
  return {
    model: endpoint.upstreamModel,
    stream: exchange.stream,
    outputCap: upstreamCap(exchange, endpoint),
    tier: endpoint.tier,
    supported: endpoint.supported,
    quirks: endpoint.quirks ?? endpoint.provider.quirks,
    user: endpoint.provider.user,
    maxOutput: endpoint.maxOutput,
    betas: betasOf(exchange.headers),
  }
}

/** Features that the caller asks a provider for by header. */
function betasOf(headers: IncomingHttpHeaders): string | undefined {
  const betas = headers['anthropic-beta'] ?? headers['x-anthropic-beta']
  return Array.isArray(betas) ? betas.join(',') : betas
}

function laneOf(exchange: Exchange, dialect: UpstreamDialect, target: Target, forced: Lane | undefined): Lane {
  const { pass } = dialect
  return chooseLane({
    sameWire: pass?.client === exchange.client.id,
    edited: exchange.edited,
    mutated:
      exchange.toolNames !== undefined ||
      exchange.answerWatch !== undefined ||
      exchange.taps?.some((tap) => tap.mode === 'mutate') === true,
    observed: exchange.taps !== undefined,
    reshaped: pass !== undefined && !pass.admits(exchange.body, target),
    forced,
  })
}

export function encode({ exchange, dialect, lane, target }: EndpointCall): Encoded {
  if (lane !== 'translate' && dialect.pass) return dialect.pass.request(exchange.body, target)
  return dialect.encodeRequest(exchange.request(), target)
}

/** The path lives as long as the exchange; an attempt that failed before content has left no trace in it. */
export function beginTurn(exchange: Exchange): EventPath {
  exchange.path ??= new EventPath(exchange)
  exchange.path.beginTurn(exchange.toolNames)
  return exchange.path
}

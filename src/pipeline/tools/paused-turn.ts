/**
 * Turns that a provider pauses in the middle of its own loop of tools: the gateway sends them back as they are and goes on, for callers
 * whose format has no word for such an end.
 */
import { isObject, type Json } from '../../core/json.ts'
import { type Guarded, narrow } from '../exchange.ts'
import type { Reply, Service } from '../layer.ts'
import { concludeTurn } from '../money/reservation.ts'
import { countTurn } from '../money/turn-count.ts'
import { appendTurn } from './tool-turn.ts'

/** Continuations of one turn. A provider whose loop ends after ten rounds of tools has then run a hundred. */
const MOST = 10

/** True where the request offers tools that the provider runs, and its format cannot hand a paused turn to the caller. */
export function mayPause({ request }: Guarded): boolean {
  if (request.client.showsPauses) return false
  if (request.edited) return request.canonical().tools.some(({ kind }) => kind === 'opaque')
  const { tools } = request.body
  return Array.isArray(tools) && tools.some((tool) => isObject(tool) && isProviders(tool.type))
}

/** A type with a colon is the gateway's own tool. */
function isProviders(type: Json | undefined): boolean {
  return typeof type === 'string' && type !== 'function' && !type.includes(':')
}

/** One turn of the model, however often its provider pauses. */
export async function wholeTurn(exchange: Guarded, next: Service<Guarded>): Promise<Reply> {
  let reply = await next(exchange)
  for (let left = MOST; left > 0 && isPaused(exchange, reply); left--) {
    countTurn(exchange, reply.turn)
    const concluding = concludeTurn(exchange)
    if (concluding) await concluding
    if (exchange.head.cancel.aborted) return reply
    appendTurn(exchange, [])
    // What the provider has said so far only it can read.
    narrow(
      exchange,
      exchange.route.endpoints.filter(({ provider }) => provider === reply.turn.endpoint.provider),
    )
    reply = await next(exchange)
  }
  return reply
}

function isPaused({ run: { path, mayPause } }: Guarded, { turn: { aborted, fault, refused, end } }: Reply): boolean {
  return mayPause && end?.paused === true && !aborted && !fault && !refused && path?.turn !== undefined && path.calls.length === 0
}

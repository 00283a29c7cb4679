/** Output caps of a request at an endpoint: what the provider is sent, and what fits its context and the credit. */
import type { Endpoint } from '../../routing/catalog/types.ts'
import { capWithin } from '../../routing/index.ts'
import type { Accepted, Exchange, MaybePlanned } from '../exchange.ts'
import type { OutputCap } from '../records.ts'
import { contextNeed } from '../request/client-request.ts'
import { mayReason } from './hidden-reasoning.ts'

/** Output cap that the hold pays for at the endpoint; undefined where no limit applies to it. A list of one is the usual case. */
export function plannedCap({ plan }: MaybePlanned, endpoint: Endpoint): OutputCap | undefined {
  return plan?.outputCaps?.find((cap) => cap.endpoint === endpoint)
}

/** The output cap that the endpoint is sent; undefined where none is needed to keep the charge within the hold. */
export function upstreamCap(exchange: MaybePlanned, endpoint: Endpoint): number | undefined {
  const cap = plannedCap(exchange, endpoint)
  if (cap === undefined) return undefined
  const declared = endpoint.maxOutput
  return declared !== undefined && cap.tokens >= declared ? undefined : cap.tokens
}

/** Output cap at the endpoint where that is below the caller's own cap; undefined where it is not. */
export function loweredCap(exchange: Accepted, endpoint: Endpoint): number | undefined {
  const { cap: own } = exchange.request.need
  if (own === undefined) return undefined
  const fitting = fittingCap(exchange, endpoint, own)
  return fitting < own ? fitting : undefined
}

/** Most tokens of a thought that a cap at the endpoint does not bound: the answer may cost as many more than the cap says. */
export function uncappedThought(endpoint: Endpoint): number {
  const { quirks = endpoint.provider.quirks } = endpoint
  const thought = quirks.thought_beyond_max_tokens
  if (thought === undefined || quirks.max_tokens_field === 'max_completion_tokens' || !mayReason(endpoint)) return 0
  return Math.min(thought, endpoint.context ?? Number.POSITIVE_INFINITY)
}

/** The caller's own cap, lowered to what the endpoint writes and to what the input leaves of its context. */
export function fittingCap(exchange: Accepted, endpoint: Endpoint, own: number): number {
  const declared = Math.min(own, endpoint.maxOutput ?? own)
  const { context } = endpoint
  if (context === undefined || exchange.request.need.textBytes + own <= context) return declared
  return Math.min(declared, capWithin(endpoint, contextNeed(exchange, context)))
}

/** The cap that ended the answer, where the credit had lowered it; undefined where the answer ended for another reason. */
export function creditCap(exchange: Exchange): number | undefined {
  const {
    run: { lastTurn },
  } = exchange
  const cap = lastTurn && lastTurn.end?.reason === 'length' ? plannedCap(exchange, lastTurn.endpoint) : undefined
  return cap?.lowered ? cap.tokens : undefined
}

/** The endpoints that would be tried, in order, each with what a call of it would be like; nothing is called. */

import { entryAt } from '../../core/entry-at.ts'
import { asFault, type Fault } from '../../core/faults.ts'
import type { Rate } from '../../core/money.ts'
import { rateText } from '../../core/money-text.ts'
import { ratesAt } from '../../core/price.ts'
import type { ServiceTier } from '../../core/service-tiers.ts'
import { TOKEN_KINDS } from '../../core/token-kinds.ts'
import type { Endpoint, Price } from '../../routing/catalog/types.ts'
import { endpointTag } from '../../routing/index.ts'
import { buildCall } from '../attempt/endpoint-call.ts'
import type { Lane } from '../attempt/turn.ts'
import type { ChainDependencies } from '../dependencies.ts'
import type { Planned } from '../exchange.ts'
import { plannedCap } from '../money/output-caps.ts'
import type { OutputCap } from '../records.ts'
import { priceMoment } from '../request/client-request.ts'
import { type PlaceReason, placeReasons } from './reasons.ts'

/** Decimal strings by kind: USD per million tokens, or per unit for `request`, `image` and `web_search`. */
export type PriceText = Record<string, string>

export type PlanCandidate = {
  /** From 1. */
  position: number
  /** Display name. */
  provider: string
  model: string
  /** Tag: `provider`, `provider/variant` or `provider/tier`. */
  endpoint: string
  /** As it would be for this request now; null where it is unknown. */
  price: PriceText | null
  /** Tokens of input and output together; null where unknown. */
  context: number | null
  max_output: number | null
  /** Output cap in tokens that the hold pays for, and whether the credit lowered it; absent without a limit or a price of output. */
  output_cap?: { tokens: number; lowered_by_credit: boolean }
  quantization: string
  /** With a key that a team has brought; absent: with the operator's account. */
  is_byok?: true
  tier: ServiceTier | null
  why: PlaceReason
  /** Lane of the reply; absent beyond the first `ENCODED` candidates. */
  lane?: Lane
  /** Parameters of the request that would not reach the provider; absent as `lane`. */
  dropped?: string[]
  /** Of vectors: how the inputs would be split; absent as `lane`. */
  calls?: CallsPreview
  /** Fault that would end the call before it is made. */
  refused?: { code: number; message: string }
}

export type CallsPreview = {
  count: number
  /** So many of them run at the same time. */
  at_once: number
  /** Inputs of the call that has most. */
  inputs: number
  /** Of the call that has most. */
  estimated_tokens: number
  /** Bounds of one call of the endpoint; null without a bound. */
  most_inputs: number
  most_tokens: number | null
}

/** Facts of a call that are known before it is made. */
export type CallPreview = Pick<PlanCandidate, 'lane' | 'dropped' | 'calls'>
/** @throws Fault that the call would be refused with. */
export type PreviewCall = (exchange: Planned, endpoint: Endpoint) => CallPreview

/** Candidates for which the provider's request is written to see what gets lost: a body may be long. */
export const ENCODED = 16

/** @throws Fault that the first candidate's call would be refused with before it is made. */
export function planCandidates(exchange: Planned, dependencies: ChainDependencies, previewCall: PreviewCall): PlanCandidate[] {
  const moment = priceMoment(exchange, exchange.plan.candidates)
  const reasons = placeReasons(exchange, dependencies)
  return exchange.plan.candidates.map((endpoint, at) => ({
    position: at + 1,
    provider: endpoint.provider.name,
    model: endpoint.model.slug,
    endpoint: endpointTag(endpoint),
    price: priceText(typeof endpoint.price === 'object' ? ratesAt(endpoint.price, moment) : endpoint.price),
    context: endpoint.context ?? null,
    max_output: endpoint.maxOutput ?? null,
    ...capText(plannedCap(exchange, endpoint)),
    quantization: endpoint.quantization,
    ...(endpoint.byok ? { is_byok: true as const } : {}),
    tier: endpoint.tier ?? null,
    why: entryAt(reasons, at),
    ...(at < ENCODED ? dryCall(exchange, { endpoint, first: at === 0 }, previewCall) : undefined),
  }))
}

function dryCall(
  exchange: Planned,
  { endpoint, first }: { endpoint: Endpoint; first: boolean },
  previewCall: PreviewCall,
): CallPreview & Pick<PlanCandidate, 'refused'> {
  try {
    return previewCall(exchange, endpoint)
  } catch (thrown) {
    const fault: Fault = asFault(thrown)
    if (first || fault.code === 'internal') throw fault
    return { refused: { code: fault.status, message: fault.message } }
  }
}

/** Previews the call of a model that generates. */
export function previewAnswer(dependencies: ChainDependencies): PreviewCall {
  return (exchange, endpoint) => {
    const { call, encoded } = buildCall(exchange, endpoint, dependencies)
    return { lane: call.lane, dropped: [...encoded.dropped] }
  }
}

function capText(cap: OutputCap | undefined): Pick<PlanCandidate, 'output_cap'> {
  return cap ? { output_cap: { tokens: cap.tokens, lowered_by_credit: cap.lowered } } : {}
}

const MILLION = 1_000_000n
const PER_UNIT = [
  ['request', 'request'],
  ['image', 'image'],
  ['webSearch', 'web_search'],
] as const satisfies readonly (readonly [keyof Price, string])[]

export function priceText(price: Endpoint['price']): PriceText | null {
  if (price === 'unpriced') return null
  if (price === 'free') return { prompt: '0', completion: '0' }
  const text: PriceText = {}
  const add = (name: string, rate: Rate | undefined, scale: bigint): void => {
    if (rate !== undefined) text[name] = rateText(rate * scale)
  }
  for (const { rate, price: name } of TOKEN_KINDS) add(name, price[rate], MILLION)
  for (const [kind, name] of PER_UNIT) add(name, price[kind], 1n)
  return text
}

/** The charge of a request of the pass-through, by its end: docs/decisions/0054-pass-through-open-set.md. */

import { countsOutput, noUsage, type Usage } from '../../dialects/canon/usage.ts'
import { charge, holdFor } from '../../ledger/pricing.ts'
import type { PassThroughEnd } from '../../services/upstream/pass-through.ts'
import { hiddenReasoning } from '../money/hidden-reasoning.ts'
import { UNKNOWN_CONTEXT } from '../money/outside-need.ts'
import { REASONING_ROOM } from '../money/possible-usage.ts'
import { maxRounds } from '../money/provider-rounds.ts'
import { lostToSlowReader } from '../money/turn-usage.ts'
import { chargedFees, feesBetween } from './native-fees.ts'
import type { Bound, BoundNative } from './native-hold.ts'
import { chargedTariff, isEndpoint } from './native-prices.ts'
import type { Delivered, ReplyUsage, Reported } from './reply-usage.ts'

/** Cost of a request, in nano-dollars, and the usage that it is for. */
export interface Came {
  readonly cost: number
  /** Of what was reported and cannot be true. */
  readonly disputed: number
  /** True where the charge is not what a reply has reported. */
  readonly estimated: boolean
  readonly usage: Usage | undefined
}

export const NOTHING: Came = { cost: 0, disputed: 0, estimated: false, usage: undefined }

interface Priced {
  /** Of the request, which is its least; nano-dollars. */
  readonly price: number
  /** Of a generating request of a key with a limit. */
  readonly bounded: { readonly bound: BoundNative } | undefined
}

interface Ended {
  readonly reader: ReplyUsage | undefined
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** The ways in which a reply ends, as far as they are charged differently. */
type Ending = 'unanswered' | 'refused' | 'cut' | 'left' | 'whole'

/**
 * A request that the provider never got, or never answered, costs nothing, and one that it refused its price. What breaks off on the
 * provider's side costs what has come of it. Otherwise a reply costs what it reports, and all that was held where it has reported nothing:
 * a caller that leaves early does not know what that would have been.
 */
export function cameTo({ price, bounded }: Priced, end: PassThroughEnd, { reader, at }: Ended): Came {
  const ending = chargeEnding(end)
  if (ending === 'unanswered') return NOTHING
  if (ending === 'refused' || !bounded) return { ...NOTHING, cost: price }
  const { bound } = bounded
  const terms = { price, at }
  const [first] = bound.bounds
  if (!first || !reader) return inFull(bound, price)
  const reported = ending === 'cut' ? undefined : reader.reported()
  // The work goes on, or begins, whatever becomes of the reply.
  if (bound.isLater) return reader.hasFailed ? { ...NOTHING, cost: price } : inFull(bound, price)
  if (ending === 'cut' && !reader.hasBegun) return { ...NOTHING, cost: price }
  if (reported) return reportedCharge(bound.wire, first, { ...terms, reported })
  if (ending !== 'cut' && !reader.hasFailed) return inFull(bound, price)
  const delivered = reader.delivered()
  if (reader.hasFailed && !hasOutput(delivered)) return { ...NOTHING, cost: price }
  return delivered ? deliveredCharge(first, { ...terms, delivered }) : inFull(bound, price)
}

function hasOutput(delivered: Delivered | undefined): boolean {
  return delivered !== undefined && (delivered.content > 0 || (countsOutput(delivered.usage) && delivered.usage.output > 0))
}

function chargeEnding(end: PassThroughEnd): Ending {
  const { outcome, status, sent, fault, heldBack } = end
  const isGood = status !== null && (status === 101 || (status >= 200 && status <= 299))
  if (sent === false || (outcome === 'failed' && !isGood)) return 'unanswered'
  if (status !== null && !isGood) return 'refused'
  if (outcome === 'completed') return 'whole'
  return outcome === 'failed' && !lostToSlowReader({ fault, heldBack }) ? 'cut' : 'left'
}

const inFull = ({ full }: BoundNative, price: number): Came => ({
  ...NOTHING,
  cost: Math.max(price, full),
  estimated: true,
})

interface Terms {
  readonly price: number
  readonly at: number
}

function reportedCharge(wire: string, bound: Bound, { price, reported, at }: Terms & { reported: Reported }): Came {
  const { models, body, model, tariff, output, need, fees, tiers } = bound
  const { usage, end } = reported
  const own = chargedTariff(models, body, { end, at, tiers })
  const charged = charge(usage, own, chargedFees(fees, own)).total
  const context = model.context ?? UNKNOWN_CONTEXT
  const rounds = need.inputs.some(isRun) ? maxRounds(wire) : 1
  const tokens = rounds * holdFor(tariff, Math.max(context, bound.input), output + REASONING_ROOM).hold
  const most = tokens + feesBetween(tariff, bound.input, { held: {}, more: fees.searched })
  return { cost: Math.max(price, Math.min(charged, most)), disputed: Math.max(0, charged - most), estimated: false, usage }
}

/** A tool that the provider runs: each call may be followed by one more round, which reads the conversation again. */
const isRun = ({ field, runs }: Bound['need']['inputs'][number]): boolean => runs === true || field.startsWith('tools')

/** Of a model that the configuration does not have: it may reason. */
const ANY = { supported: undefined }

/**
 * The charge of a reply that was cut off. Each side counts as far as it is reported: else the input at the bound that was held for it, and
 * the output at a token for each byte. A side without a report costs no more than was held for it.
 */
function deliveredCharge(bound: Bound, { price, delivered, at }: Terms & { delivered: Delivered }): Came {
  const { models, body, model, tariff, input, output, need, fees, tiers, full } = bound
  const { usage, content, unseen } = delivered
  const charged = chargedTariff(models, body, { end: undefined, at, tiers })
  const seen = usage ? charge(usage, charged, chargedFees(fees, charged)) : undefined
  const hidden = output === 0 ? 0 : hiddenReasoning(isEndpoint(model) ? model : ANY, unseen)
  const more = Math.min(output, content + Math.ceil(hidden))
  const isInputKnown = usage !== undefined && usage.inputUnknown !== true
  const reserve = holdFor(tariff, input, more, fees.held)
  const own = isInputKnown ? (seen?.input ?? 0) : reserve.floor
  const beyond = isInputKnown && !need.inputs.some(isRun) ? 0 : need.full
  const cost = own + beyond + (seen?.output ?? 0) + reserve.hold - reserve.floor
  const most = Math.max(full, seen?.total ?? 0)
  return {
    cost: Math.max(price, Math.min(cost, most)),
    disputed: 0,
    estimated: true,
    usage: { ...(usage ?? noUsage()), input: isInputKnown ? usage.input : input, output: (usage?.output ?? 0) + more, estimated: true },
  }
}

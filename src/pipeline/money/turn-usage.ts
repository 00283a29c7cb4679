/** Usage that a turn is charged for: as its provider reported it, or estimated where it reported none or a nonsense; how far it came, and by whom it was ended. */
import { MEDIA_BYTES } from '../../dialects/canon/events.ts'
import { countsOutput } from '../../dialects/canon/usage.ts'
import { type Count, countedUsage, type EndedBy, estimateFromBytes, faultEnder, type Progress } from '../../ledger/settlement.ts'
import type { Turn } from '../attempt/turn.ts'
import type { Accepted, MaybeAimed, MaybePlanned, Received } from '../exchange.ts'
import { sentEstimate } from '../request/client-request.ts'
import { plannedCap, uncappedThought } from './output-caps.ts'
import { believe, type Pricing } from './possible-usage.ts'
import { turnTariff } from './tariffs.ts'
import { chargedExtras } from './turn-cost.ts'

/** Party that ended a turn which has a reply of its own, or was cut off before that with a fault. */
export function turnEndedBy({ head: { cancel } }: Received, turn: Turn): EndedBy {
  const { refused, aborted, fault, begun } = turn
  if (aborted) return cancel.reason ? faultEnder(cancel.reason, begun) : 'caller'
  if (refused) return 'operator'
  if (!fault) return 'model'
  return lostToSlowReader(turn) ? 'caller' : faultEnder(fault, begun)
}

/** @param rejected the provider has refused the request as wrong, and did nothing for it. */
export function turnProgress(last: Turn | undefined, rejected: boolean): Progress {
  if (!last || last.sent === false || rejected) return 'not_sent'
  return last.begun ? 'content' : 'sent'
}

/** Milliseconds after which a server may give up a connection that takes nothing. */
const MAX_HELD_BACK_MS = 10_000

/**
 * True where the connection was lost after the reply had been held back for long: a provider that ends one which takes nothing
 * has not failed (slow reading is the caller's).
 */
export function lostToSlowReader({ fault, heldBack = 0 }: { fault?: Turn['fault']; heldBack?: Turn['heldBack'] }): boolean {
  return fault?.code === 'upstream_cut' && heldBack >= MAX_HELD_BACK_MS
}

/** @param exchange as the turn was sent: what later turns add to the request must not be there yet. */
export function countUsage(exchange: Accepted & MaybeAimed & MaybePlanned, turn: Turn, endedBy: EndedBy): Count {
  believe(exchange, turn, turnPricing)
  const { usage, relayed, images = 0, hidden = 0, cut, stopped } = turn
  // Hidden reasoning is added only to a turn that was cut off. Where the model ended by itself, the usage report has it, or it is unknown.
  const isByItself = endedBy === 'model' && !stopped
  const unreported = isByItself && countsOutput(usage) ? 0 : estimateFromBytes(relayed) + (isByItself ? 0 : hidden)
  const room = unreported === 0 ? 0 : Math.max(0, outputCap(exchange, turn) - (usage?.output ?? 0))
  return {
    reported: usage,
    unreported: Math.min(unreported, room),
    pictured: images === 0 ? 0 : estimateFromBytes(images * MEDIA_BYTES),
    input: (usage && !usage.inputUnknown) || cut ? 0 : sentEstimate(exchange, turn.endpoint),
    cut,
  }
}

function turnPricing(exchange: Accepted & MaybeAimed & MaybePlanned, turn: Turn): Pricing {
  const tariff = turnTariff(exchange, turn)
  return { tariff, extras: turn.extras ?? chargedExtras(exchange, turn.endpoint), held: exchange.run.turnHold.amount }
}

/** Counts a turn that has ended well before the request of the next one is built: whatever comes later, it is paid for. */
export function countTurn(exchange: Accepted & MaybeAimed & MaybePlanned, turn: Turn): void {
  turn.usage = countedUsage(countUsage(exchange, turn, 'model'))
  turn.relayed = 0
  turn.images = 0
  turn.hidden = 0
}

const NO_CAP = Number.POSITIVE_INFINITY

/** The most tokens that the turn can have brought. A cap of the caller's that its provider was not sent bounds nothing. */
function outputCap(exchange: MaybePlanned, { endpoint, cap }: Turn): number {
  const held = plannedCap(exchange, endpoint)?.tokens
  return Math.min(cap ?? NO_CAP, held ?? NO_CAP, endpoint.maxOutput ?? NO_CAP) + uncappedThought(endpoint)
}

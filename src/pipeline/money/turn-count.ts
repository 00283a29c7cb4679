/** What is known of the tokens of one turn, as the settlement wants it. */

import { MEDIA_BYTES } from '../../dialects/canon/events.ts'
import { countsOutput } from '../../dialects/canon/usage.ts'
import { type Count, countedUsage, type EndedBy, enderOf, estimateFromBytes } from '../../ledger/settlement.ts'
import type { Turn } from '../attempt/turn.ts'
import type { Accepted, MaybePlanned, Received } from '../exchange.ts'
import { sentEstimate } from '../route/needs.ts'
import { capOf } from './reservation.ts'

/** Who ended a turn that has a reply of its own, or was cut off before that with a fault. */
export function turnEndedBy({ head: { cancel } }: Received, turn: Turn): EndedBy {
  const { refused, aborted, fault, begun } = turn
  if (aborted) return cancel.reason ? enderOf(cancel.reason, begun) : 'caller'
  if (refused) return 'operator'
  if (lostToSlowReader(turn)) return 'caller'
  return fault ? enderOf(fault, begun) : 'model'
}

/** Milliseconds after which a server may give up a connection that takes nothing. */
const PATIENCE = 10_000

/**
 * True where the connection was lost after the reply had been held back for long: a provider that ends one which takes nothing
 * has not failed (issue 15 section 1: slow reading is the caller's).
 */
export function lostToSlowReader({ fault, heldBack = 0 }: Turn): boolean {
  return fault?.code === 'upstream_cut' && heldBack >= PATIENCE
}

/** @param exchange as the turn was sent: what later turns add to the request must not be there yet. */
export function countOf(exchange: Accepted & MaybePlanned, turn: Turn, endedBy: EndedBy): Count {
  const { usage, relayed, images = 0, hidden = 0, cut, stopped } = turn
  // Hidden reasoning is added only to a turn that was cut off. Where the model ended by itself, the usage report has it, or it is unknown.
  const isByItself = endedBy === 'model' && !stopped
  const unreported = isByItself && countsOutput(usage) ? 0 : estimateFromBytes(relayed) + (isByItself ? 0 : hidden)
  const room = unreported === 0 ? 0 : Math.max(0, outputCap(exchange, turn) - (usage?.output ?? 0))
  return {
    reported: usage,
    unreported: Math.min(unreported, room),
    pictured: estimateFromBytes(images * MEDIA_BYTES),
    input: (usage && !usage.inputUnknown) || cut ? 0 : sentEstimate(exchange, turn.endpoint),
    cut,
  }
}

/** Counts a turn that has ended well before the request of the next one is built: whatever comes later, it is paid for. */
export function countTurn(exchange: Accepted & MaybePlanned, turn: Turn): void {
  turn.usage = countedUsage(countOf(exchange, turn, 'model'))
  turn.relayed = 0
  turn.images = 0
  turn.hidden = 0
}

const NO_CAP = Number.POSITIVE_INFINITY

/** The most tokens that the turn can have brought. A cap of the caller's that its provider was not sent bounds nothing. */
function outputCap(exchange: MaybePlanned, { endpoint, cap }: Turn): number {
  const { maxOutput, model } = endpoint
  const declared = maxOutput ?? model.maxOutput
  const held = capOf(exchange, endpoint)?.tokens
  return Math.min(cap ?? NO_CAP, held ?? NO_CAP, declared ?? NO_CAP)
}

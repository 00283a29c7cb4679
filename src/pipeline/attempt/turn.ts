/** One answer of a provider: what it used and how it ended, and how its tokens count. Several in one exchange where tools ran. */

import type { Fault } from '../../core/faults.ts'
import { type End, MEDIA_BYTES } from '../../dialects/canon/events.ts'
import { countsOutput, type Usage } from '../../dialects/canon/usage.ts'
import type { Extras } from '../../ledger/pricing.ts'
import { type Count, countedUsage, type EndedBy, enderOf, estimateFromBytes } from '../../ledger/settlement.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { Accepted, MaybePlanned, Received } from '../exchange.ts'
import { capOf } from '../money/reservation.ts'
import { sentEstimate } from '../route/needs.ts'

/** How an answer travels; `chooseLane()` says when. */
export type Lane = 'pass' | 'observe' | 'translate'

export interface Turn {
  endpoint: Endpoint
  lane: Lane
  /** Output cap that the provider was sent, in tokens; undefined where it was sent none. */
  cap?: number | undefined
  usage: Usage | undefined
  end: End | undefined
  /** The gateway ended the provider's call at a stop sequence, so its usage is not reported. */
  stopped?: true
  /** Set where the answer broke off after its first content. */
  fault: Fault | undefined
  /** Set where a guardrail refuses the answer: nothing more of it goes out, and what it used is charged. */
  refused?: Fault | undefined
  /** The caller left while it ran. */
  aborted: boolean
  /** False where nothing of the request had left for the provider. */
  sent?: false
  /** Content had begun. */
  begun: boolean
  /** Bytes of content that came since the last report that counts the output; all of them where there was none. */
  relayed: number
  /** Images among them, each of them `MEDIA_BYTES`. */
  images?: number | undefined
  /** Estimated tokens of reasoning that the provider neither showed nor reported. */
  hidden?: number | undefined
  /** Milliseconds in which the provider wrote its reported output; undefined where they show nothing of its speed. */
  writing?: number | undefined
  /** Milliseconds for which the gateway held the provider back, mostly because the caller read slowly. */
  heldBack?: number | undefined
  /** Of a batch: estimated usage of calls that were sent and cut off; `usage` is that of the calls that ended. */
  cut?: Usage | undefined
  /** Of a batch: the provider refused one call as wrong. `usage` and `cut` are those of the others, which are charged. */
  callRejected?: true
  /** What is counted beside tokens, where that is not what the caller's own request holds: of a call that a tool makes, of a part of a batch. */
  extras?: Extras
}

/** The turn of an operation that the gateway answers by itself: nothing is held or charged for it. */
export function answeredHere(endpoint: Endpoint): Turn {
  return { endpoint, lane: 'translate', usage: undefined, end: undefined, fault: undefined, aborted: false, begun: true, relayed: 0 }
}

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

/** One answer of a provider: what it used and how it ended. Several in one exchange where tools ran. */
import type { Fault } from '../../core/faults.ts'
import type { End } from '../../dialects/canon/events.ts'
import type { Usage } from '../../dialects/canon/usage.ts'
import type { Extras } from '../../ledger/pricing.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'

/** Path of an answer through the gateway; `chooseLane()` chooses it. */
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
  /** Nano-dollars of reported usage that is not possible, and that `usage` therefore has not. */
  disputed?: number | undefined
  /** Of a batch: estimated usage of calls that were sent and cut off; `usage` is that of the calls that ended. */
  cut?: Usage | undefined
  /** Of a batch: the provider refused one call as wrong. `usage` and `cut` are those of the others, which are charged. */
  callRejected?: true
  /** When it had ended, in milliseconds since the epoch: set where its price goes by that. */
  endedAt?: number
  /** Charges beside tokens, where they are not those of the caller's own request: of a call that a tool makes, of a part of a batch. */
  extras?: Extras
}

/** The turn of an operation that the gateway answers by itself: nothing is held or charged for it. */
export function answeredHere(endpoint: Endpoint): Turn {
  return { endpoint, lane: 'translate', usage: undefined, end: undefined, fault: undefined, aborted: false, begun: true, relayed: 0 }
}

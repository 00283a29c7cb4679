/** Known facts of one reply while it is written, and at its end. */
import type { CodeForm } from '../core/error-codes.ts'
import type { Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import type { End } from './canon/events.ts'
import type { Opaque } from './canon/request.ts'
import type { Usage } from './canon/usage.ts'

/** Facts of one reply, shared by all that write a piece of it. */
export interface ReplyContext {
  /** `gen-…`: the id that clients see, in every lane. */
  readonly id: string
  /** Unix seconds. */
  readonly created: number
  /** Public slug that serves; the requested one until an endpoint has committed. */
  model: string
  /** Display name of the provider; empty until an endpoint has committed. */
  provider: string
  /** The caller's body, for the settings that replies echo. */
  readonly body: JsonObject
  /** True for a client that demands more of a reply than its format does (`ClientDialect.demands`): the reply is then re-encoded. */
  readonly demanding?: boolean | undefined
  /** True for a client that takes the last block of a reply alone for its answer (`ClientDialect.readsLastBlock`). */
  readonly readsLastBlock?: boolean | undefined
  /** True for a client that loses a reply with one text under two names (`ClientDialect.refusesTwoNames`). */
  readonly refusesTwoNames?: boolean | undefined
  /** White-label word of `router_metadata`, `router:…` and the keep-alive comment. */
  readonly brand: string
  /** Form of `error.code` for this caller; the status where absent. */
  readonly codeForm?: CodeForm | undefined
  /** Next `sequence_number`; the writer of an event takes it and adds one. */
  sequence: number
  /** True once `ClientDialect.open` has been written, or will be in front of what comes next. */
  opened: boolean
  /** Count of the provider before its first content. */
  counted?: Usage | undefined
  /** Members at the beginning of the provider's stream that only one format has. */
  beginning?: Opaque | undefined
}

/** Facts that are known when the reply has ended and its cost is settled. */
export interface Final {
  /** Normalised usage: the same value that the ledger charges. */
  usage: Usage
  /** Nano-dollars: the whole charge, and its share of input and output tokens. */
  cost: number
  inputCost: number
  outputCost: number
  /** True where a key that a team has brought paid the provider. */
  isByok?: boolean | undefined
  end: End
  /** Set when the exchange failed; a stream then ends with the dialect's one terminal error. */
  fault?: Fault | undefined
  /** Unix seconds. */
  completedAt: number
  /** `router_metadata` if the caller requested it. */
  metadata?: JsonObject | undefined
  /** Calls of server tools in this exchange, the searches that they ran and the pages that they fetched; absent where there were none. */
  serverTools?: { requested: number; executed: number; searches?: number; fetches?: number } | undefined
}

/** An error of the gateway's in the form of a provider's wire. */
export interface ErrorReply {
  readonly body: JsonObject
  readonly headers?: Readonly<Record<string, string>>
}

/** One client request and everything known about it; each phase adds facts, and a missing fact does not compile. */
import type { IncomingHttpHeaders } from 'node:http'
import type { JsonObject } from '../core/json.ts'
import type { NativeSearch } from '../dialects/canon/native-search.ts'
import type { CanonicalRequest } from '../dialects/canon/request.ts'
import type { GatewayFields } from '../dialects/canon/request-fields.ts'
import type { ClientDialect } from '../dialects/types.ts'
import type { Endpoint, Model } from '../routing/catalog/types.ts'
import type { ApiKey } from './key.ts'

/** A stage that acted, as `router_metadata.pipeline` shows it. */
export interface Stage {
  type: string
  name: string
  summary?: string | undefined
  data?: JsonObject
  cost_usd?: number
  guardrail_id?: string
  guardrail_scope?: string
}

export interface AttemptRecord {
  provider: string
  model: string
  endpoint: string
  /** The provider's own status; null where it sent none, such as without a connection. */
  status: number | null
  /** Milliseconds from dispatch to the commit point, or to the failure. */
  latency: number
  /** Fault of a failed attempt; absent where it served. */
  code?: string
  /** Number of the turn in a tool loop, from 1. */
  turn: number
  /** Parts of the caller's request that this provider cannot take. */
  dropped?: readonly string[]
  /** Set where the caller demands a form of the answer that the provider does not see to, once an answer has ended. */
  answerCheck?: AnswerVerdict
}

/** Verdict on an answer by the caller's schema. */
export interface AnswerVerdict {
  /** `unchecked`: it is too long, or the schema too large or not understood. */
  verdict: 'fits' | 'misfit' | 'no_json' | 'unchecked'
  /** Of the first misfit. */
  keyword?: string | undefined
  /** Its place, such as `$.items[2].name`. */
  path?: string | undefined
  /** The tool whose arguments it is about; absent for the text of the answer. */
  tool?: string | undefined
}

/** The caller has gone, or the deadline has passed: code that waits for something registers here. */
export interface Cancel {
  readonly aborted: boolean
  /** Why: the client closed, or a fault of ours such as the deadline. */
  readonly reason: unknown
  /** Calls `fn` once, at once if already aborted. @returns a function that takes it back. */
  onAbort(fn: () => void): () => void
  /** Made at the first read. */
  readonly signal: AbortSignal
}

export interface Head {
  readonly id: string
  readonly seq: number
  readonly tag: string
  readonly client: ClientDialect
  readonly headers: IncomingHttpHeaders
  /** Milliseconds since the epoch, and on the monotonic clock. */
  readonly at: number
  readonly started: number
  readonly cancel: Cancel
  readonly wantsMetadata: boolean
  readonly stages: Stage[]
  readonly attempts: AttemptRecord[]
  /** 0 for a caller's request, 1 for one that a tool of it makes, and so on. */
  readonly depth: number
}

export interface Authed extends Head {
  readonly key: ApiKey
}

export interface Read extends Authed {
  readonly body: JsonObject
  readonly gateway: GatewayFields
  readonly stream: boolean
  /** False where the body surely holds text alone: then the canonical form need not be built to learn it. */
  readonly mayHoldMedia: boolean
  /** The canonical form, built on first use. */
  request(): CanonicalRequest
  /** True once a layer has changed the canonical form: the pass lane is out. */
  readonly edited: boolean
  /** Changes the canonical form; `by` names the layer or plugin. */
  edit(by: string, change: (draft: CanonicalRequest) => void): void
}

export interface Resolved extends Read {
  /** The slug as the caller sent it. */
  readonly requested: string
  readonly strategy: string
  readonly models: readonly Model[]
  /** After the hard filters, in catalogue order: at least one. */
  readonly endpoints: readonly Endpoint[]
  /**
   * Adds to what the exchange costs. Together never more than the plugin's `bound`.
   * @param nano nano-dollars. @param what it was for, in one word, as the plugin's stage shows it.
   * @returns false where nothing was charged: the sum would pass the bound, it is no such amount, or it comes too late.
   */
  charge(nano: number, what: string): boolean
  /**
   * Takes memory for what is held beside the body until the request ends, out of `server.body_memory`. To be called before the bytes are kept.
   * @returns a promise where there is no room now; it rejects with a Fault 503 where there is none in time.
   */
  memory(bytes: number): Promise<void> | undefined
  /** Adds to `error.metadata` of the request where its providers fail. */
  addErrorMetadata(metadata: JsonObject): void
  /** Number of endpoints whose provider can search the web itself as requested. */
  searchers(search: NativeSearch): 'all' | 'some' | 'none'
  /** Has the provider search with a tool of its own; the endpoints that cannot are out. @returns false where none can. */
  searchNatively(search: NativeSearch): boolean
}

export interface Planned extends Resolved {
  /** In the order in which they are to be tried. */
  readonly candidates: readonly Endpoint[]
}

/**
 * Records of an exchange: the readonly record of each stage, and the parts of the answer in the making. Types alone; `exchange.ts` sets and
 * holds them.
 */
import type { Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import type { SortKey } from '../core/sort-keys.ts'
import type { StreamEvent } from '../dialects/canon/events.ts'
import type { Fold } from '../dialects/canon/fold.ts'
import type { PluginEntry } from '../dialects/canon/request-fields.ts'
import type { Final } from '../dialects/types.ts'
import type { AnswerPolicy, Vault } from '../guardrails/index.ts'
import type { AttemptRecord } from '../plugin-api/index.ts'
import type { Endpoint, Model, Provider } from '../routing/catalog/types.ts'
import type { MergedPreferences, Tier } from '../routing/index.ts'
import type { Turn } from './attempt/turn.ts'
import type { GuardrailBudget, GuardrailSetting } from './guard/guardrail-setting.ts'

/** Effects of a dynamic suffix of the slug. */
export interface Variant {
  readonly sort?: SortKey
  readonly tiers?: ReadonlySet<Tier>
}

/** Another model that a tool of the provider calls. */
export interface Advisor {
  /** The provider's own name of it. */
  readonly model: string
  /** Calls that it may get at most. */
  readonly uses: number
  /** Endpoints of the catalogue with that name; the provider of the one that serves decides which it is. */
  readonly endpoints: readonly Endpoint[]
}

/** Demands of request, key and account on the routing. Set by `resolve`, before any endpoint is looked at. */
export interface Demand {
  /** The slug as the caller sent it. */
  readonly requested: string
  readonly strategy: string
  readonly variant: Variant
  /** Tier that the request names; undefined for the usual one. */
  readonly serviceTier: Tier | undefined
  /** Models that the request names, the primary one first; none where a router chooses. */
  readonly models: readonly Model[]
  /** Entries of plugins: those of the request, and the one that the slug stands for. */
  readonly plugins: readonly PluginEntry[]
  readonly preferences: MergedPreferences
  /** Budgets of the guardrails that apply to the key. */
  readonly budgets: readonly GuardrailBudget[]
  /** Other models that tools of the provider call. */
  readonly advisors: readonly Advisor[]
}

/** Set by `resolve`. A later layer that cannot use an endpoint sets a record with fewer. */
export interface Route {
  /** The primary one first. */
  readonly models: readonly Model[]
  /** After the hard filters, in catalogue order: at least one. */
  readonly endpoints: readonly Endpoint[]
}

/** Guardrails that read the answers of a key. */
export interface OutputGuardrails {
  readonly policy: AnswerPolicy | undefined
  /** Guardrails that call an engine. */
  readonly asking: readonly GuardrailSetting[]
}

/** Set by `guard` where some guardrail reads texts, and by `reread` for what later turns add. */
export interface Guard {
  /** Guardrails that read the answer; undefined where none does. */
  readonly answers: OutputGuardrails | undefined
  /** Values that guardrails redacted in the request, restored in the answer. */
  readonly vault: Vault | undefined
  /** The part of the request that guardrails have read: without items that later turns add, and without later edits. */
  readonly read: { readonly edits: number; readonly items: WeakSet<object> } | undefined
}

/** A conversation that may stay on one endpoint. */
export interface Conversation {
  /** Its name in the sticky sessions, under the key and the model. Holds no word of the prompt. */
  readonly name: string
  /** The caller named it: it stays from its first success on. Else only what the provider's cache has shown to pay. */
  readonly named: boolean
  /** Endpoint id that it had when this request was planned. */
  readonly pinned: string | undefined
}

/** The output cap of one endpoint for one turn, in tokens. */
export interface OutputCap {
  readonly endpoint: Endpoint
  readonly tokens: number
  /** True where the credit that is left lowered it. */
  readonly lowered: boolean
}

/** Set by `plan`, anew for each turn of a tool loop. */
export interface Plan {
  /** In the order in which they are to be tried. */
  readonly candidates: readonly Endpoint[]
  /** Undefined where the request is not to stay on an endpoint. */
  readonly conversation: Conversation | undefined
  /** Set where tools are offered and there is a choice of endpoints: it is among the taps. */
  readonly watch: { begin(): void; readonly verdict: 'fine' | 'broken' | undefined } | undefined
  /** Output caps that the hold pays for; undefined where no limit applies, without entry where output costs nothing. */
  readonly outputCaps: readonly OutputCap[] | undefined
}

/** Signs an id of a provider for the key of the exchange. */
export type IdSigner = (id: string, provider: Provider) => string

/** Account or provider that ids of a request belong to. */
export interface Pin {
  /** Letters of the account, or the name of the provider. */
  readonly account?: string | undefined
  readonly provider?: string | undefined
  /** The field that names the id. */
  readonly field: string
}

/** The head of a streamed reply and its silence; `ReplyStream` is it. */
export interface StreamedReply {
  /** True once the head has gone out: a failure is then an event of the stream. */
  readonly sent: boolean
  /** True once nothing more is sent but what `end` is given. */
  readonly ended: boolean
  /**
   * Readies the head for an attempt: lifecycle events and, if requested, one debug event per attempted provider before them.
   * Done anew for each attempt until the head has gone out, since the events name the model that serves.
   */
  prepare(upstreamBody: JsonObject | undefined): void
  /** Sends the head and what was prepared; does nothing if it has gone out. */
  open(): void
  /** @param raw true if `text` holds bytes, one per character. @returns false if the caller should be waited for. */
  write(text: string, raw: boolean): boolean
  /** @param raw as of `write`. @param fault why the reply ends, where it has failed. */
  end(text: string, raw?: boolean, fault?: Fault): void
  /** No more comments. */
  stop(): void
}

/** A call of a server tool found in a turn: kept from the caller, run by the gateway. */
export interface FoundCall {
  id: string
  name: string
  args: string
}

/** Receives the text that an engine releases, or its refusal, while no event comes. */
export interface LateReader {
  text(text: string): void
  fail(fault: Fault): void
}

/** Receiver of decoded events in the translate lane, implemented by `EventPath`. */
export interface EventSink {
  /** Content has left the last tap; only kept where guardrails read the answer. */
  readonly hasContent: boolean
  /** Guardrails read the answer: content may be held back. */
  readonly guarded: boolean
  late: LateReader | undefined
  /** The running turn as the model wrote it, for the next turn's request; only kept where tools may run or a provider may pause. */
  readonly turn: Fold | undefined
  readonly calls: readonly FoundCall[]
  /** A guardrail refuses the answer. */
  readonly refusal: Fault | undefined
  /** Settles, never rejecting, once no event waits for an engine any more. */
  readonly pending: Promise<void> | undefined
  /** More waits for an engine than should. */
  readonly crowded: boolean
  /**
   * @param serverTools names under which the gateway's own tools were offered; undefined where none were.
   * @param keeps true where the turn is kept for the next one's request even so.
   */
  beginTurn(serverTools: ReadonlySet<string> | undefined, keeps?: boolean): void
  /** Takes events as decoded in this turn. @returns text for the client, '' where nothing is to be sent. */
  push(events: readonly StreamEvent[]): string
  /** Adds a whole block of the gateway's own, such as the output item of a tool that ran. @returns text for the client. */
  add(events: (block: number) => readonly StreamEvent[]): string
  /** No more events of this turn: taps hand on what they hold. @returns text for the client. */
  close(): string
  finish(final: Final): string
  /** The same of a stream, with one character per byte. */
  finishBytes(final: Final): string
}

/** An attempt with what the gateway itself wants to know of it. Times are monotonic milliseconds; 0 stands for none. */
export interface NotedAttempt extends AttemptRecord {
  readonly at: Endpoint
  readonly started: number
  ended: number
  /** First content. */
  contentAt: number
  /** Turn of the answer; absent where the attempt failed before any content. */
  answer: Turn | undefined
  /** Of a connection that failed: one word for why, which callers do not see. */
  cause: string | undefined
  /** Id of its span; made ahead only where a provider is sent it. */
  span: string | undefined
}

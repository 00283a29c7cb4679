/**
 * One client request and all that is known of it: a readonly record per stage, set by the layer of that stage, and the working state
 * of its answer. A layer takes the type of the stage above it, so that reading a later record does not compile.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Config } from '../config/config.ts'
import type { Clock } from '../core/clock.ts'
import type { Fault } from '../core/faults.ts'
import type { GenerationId } from '../core/ids.ts'
import type { JsonObject } from '../core/json.ts'
import type { GatewayFields } from '../dialects/canon/request-fields.ts'
import type { ClientDialect, Final, ReplyContext } from '../dialects/types.ts'
import type { Cancel } from '../plugin-api/exchange.ts'
import type { ShownItem, Stage, Tap } from '../plugin-api/index.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { Endpoint } from '../routing/catalog/types.ts'
import type { Removed } from '../routing/index.ts'
import type { Credential } from '../services/credentials/types.ts'
import type { RequestTrace } from '../services/telemetry/trace-context.ts'
import type { Turn } from './attempt/turn.ts'
import type { ClientConnection } from './client-connection.ts'
import { Costs, type HoldPart, NO_PART } from './money/hold.ts'
import type { Decision } from './policy/decision.ts'
import type { SeenRates } from './rate-headers.ts'
import type { Demand, EventSink, Guard, IdSigner, NotedAttempt, Pin, Plan, Route, StreamedReply } from './records.ts'
import type { ContentCaptureTap } from './reply/content-capture-tap.ts'
import { type Caller, ReplyFacts } from './reply-facts.ts'
import type { ClientRequest } from './request/client-request.ts'

const nothing = (): void => {}

/** Work that is cancelled with its exchange. */
interface Cancelled {
  cancelled(reason: Fault): void
}

/** The end of an exchange before its time: the caller left, or the deadline passed. */
export class CancelSource implements Cancel {
  reason: Fault | undefined
  aborted = false
  /** The attempt that runs is no function among the others: each open stream would keep that, with what it is made of. */
  private attempt: Cancelled | undefined
  private listeners: ((reason: Fault) => void)[] | undefined
  private controller: AbortController | undefined

  onAbort(fn: (reason: Fault) => void): () => void {
    if (this.reason) {
      fn(this.reason)
      return nothing
    }
    this.listeners ??= []
    this.listeners.push(fn)
    return () => {
      this.listeners = this.listeners?.filter((other) => other !== fn)
    }
  }

  /** As `onAbort`, for the attempt that runs: there is one at a time. */
  watch(attempt: Cancelled): void {
    if (this.reason) attempt.cancelled(this.reason)
    else this.attempt = attempt
  }

  leave(attempt: Cancelled): void {
    if (this.attempt === attempt) this.attempt = undefined
  }

  abort(reason: Fault): void {
    if (this.reason) return
    this.reason = reason
    this.aborted = true
    const { attempt, listeners } = this
    this.attempt = undefined
    this.listeners = undefined
    if (listeners) for (const fn of listeners) fn(reason)
    attempt?.cancelled(reason)
    this.controller?.abort(reason)
  }

  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController()
      if (this.aborted) this.controller.abort(this.reason)
    }
    return this.controller.signal
  }
}

/** Facts from the head of the request. */
export interface Head {
  readonly id: string
  readonly seq: number
  readonly tag: string
  /** By the path. The dialect of the request is that of its own record: a plan learns it from the body. */
  readonly client: ClientDialect
  readonly headers: IncomingHttpHeaders
  /** Milliseconds since the epoch, and on the monotonic clock. */
  readonly at: number
  readonly started: number
  readonly cancel: CancelSource
  readonly wantsMetadata: boolean
  readonly connection: ClientConnection
  readonly clock: Clock
  /** As it was when the request came: a reload changes nothing for it. Layers read their settings here. */
  readonly config: Config
  readonly brand: string
  readonly costs: Costs
  /** 0 for a caller's request, 1 for one that a tool of it makes, and so on. */
  readonly depth: number
}

/** Set by `authenticate`. */
export interface Auth {
  readonly key: ApiKey
}

const NO_GUARD: Guard = { answers: undefined, vault: undefined, read: undefined }

/** Work on an exchange beside the calls of providers, which took its time. Times are monotonic milliseconds; 0 stands for none. */
export interface Step {
  readonly kind: 'tool' | 'model' | 'guardrail' | 'plugin'
  readonly name: string
  readonly started: number
  ended: number
  /** Code of its failure. */
  failure?: string
  /** Of a tool: the id of the model's call. */
  readonly callId?: string
  /** Of a call that a tool makes of a model: the tool's step, and what the call itself has noted. */
  readonly within?: Step | undefined
  readonly history?: ExchangeHistory
  /** And what it used, one of each call of a provider. */
  readonly turns?: readonly Turn[]
  /** Of a tool: nano-dollars beside those turns. */
  cost?: number
}

const NO_STEPS: readonly Step[] = []
const NONE_REMOVED: readonly Removed[] = []
const NO_PLUGINS: readonly string[] = []
const NO_RUNS: ExchangeHistory['pluginRuns'] = []

/** History of an exchange for the log line, the metadata and the ledger: lists that only grow. */
export class ExchangeHistory {
  readonly stages: Stage[] = []
  /** A list that grows in place keeps room for sixteen more: each attempt has a new one. */
  attempts: NotedAttempt[] = []
  /** Its trace; undefined where the request is not traced and continues no trace. */
  trace: RequestTrace | undefined
  /** In the order of their beginning; most exchanges have none. */
  steps: readonly Step[] = NO_STEPS
  /** Endpoints that a filter took out, each with its reason. */
  removed: readonly Removed[] = NONE_REMOVED
  /** Ids of the plugins that act on it, in the order in which they run. */
  pluginIds: readonly string[] = NO_PLUGINS
  /** Plugins at work; each brings its stage up to date. */
  pluginRuns: readonly { updateStage(): void }[] = NO_RUNS
  /** Metadata that the caller reads beside the fault where providers fail. */
  errorMetadata: JsonObject | undefined
  /** Remaining limits per minute of the key; undefined where it has none. */
  rates: SeenRates | undefined

  addErrorMetadata(metadata: JsonObject): void {
    this.errorMetadata = { ...this.errorMetadata, ...metadata }
  }

  /** Notes a step that begins. */
  begin(step: Omit<Step, 'ended'>): Step {
    const begun: Step = { ...step, ended: 0 }
    this.steps = [...this.steps, begun]
    return begun
  }
}

/** The answer in the making. */
export class Run {
  readonly ctx: ReplyContext
  /** The dialect of the caller: until the body is read, by the path. */
  client: ClientDialect
  reply: StreamedReply | undefined
  /** Takes decoded events; absent until an attempt translates. */
  path: EventSink | undefined
  readonly taps: Tap[] = []
  /** Keeps the words of the answer; undefined where the key's operator does not want to see them. */
  captured: ContentCaptureTap | undefined
  /** Names under which the gateway's own tools were offered to the model; undefined where none were. */
  toolNames: ReadonlySet<string> | undefined
  /** True where a provider may pause a turn that the gateway then goes on with. */
  mayPause = false
  /** Turns the answer into what the caller gets of it, behind all guardrails; a new one for each attempt. */
  lastTap: (() => Tap) | undefined
  /** Items of the gateway's own tools that the caller gets before the first turn; cleared once they have been shown. */
  opening: readonly ShownItem[] | undefined
  /** Ids of endpoints that have refused reasoning of this conversation. */
  withoutReasoning: Set<string> | undefined
  /** Ids of endpoints that have refused the effort of reasoning. */
  withoutEffort: Set<string> | undefined
  /** Ids of endpoints that have refused `stream_options`. */
  withoutOptions: Set<string> | undefined
  /** The effort that the running attempt was sent. */
  effort: string | undefined
  /** Of the running attempt, where its endpoint has one: the credential or the key of a pool that it is called with. */
  credential: Credential | undefined
  /** Media that the request names by address, as data URLs, where a provider in question takes no addresses. */
  media: ReadonlyMap<string, string> | undefined
  /** The running attempt repeats one that met a connection which had been closed while it was idle. */
  connectAnew = false
  /** The provider's own id of the last reply. */
  replyId: string | undefined
  /** Signs ids of providers for the key; undefined where no reply can hold one. */
  signer: IdSigner | undefined
  /** The account that ids of the request belong to, where it names any: no other endpoint can serve it. */
  pinned: Pin | undefined
  /** Tokens of the thread that the request goes on with, as its last reply reported them. */
  threadTokens: number | undefined
  /** Ids of files and cached content that it names, where a limit applies: what they come to is remembered. */
  namedInputs: readonly string[] | undefined
  /** Set once a provider has been requested to count the input: the tokens beyond those that the hold counts for the body, where it has. */
  counted: { readonly place: string; readonly beyond: number | undefined } | undefined
  /** Turns begun so far; more than one in a tool loop. */
  turns = 0
  /** Hold of the running turn. */
  turnHold: HoldPart = NO_PART
  /** The endpoint whose content came last. */
  committedEndpoint: Endpoint | undefined
  /** Monotonic time of the first content that reached us, and of the first of the running attempt. */
  firstContentAt = 0
  contentAt = 0
  /** Called once the running attempt has brought content. */
  whenCommitted: (() => void) | undefined
  /** Milliseconds spent waiting for providers, over all attempts. */
  upstreamMs = 0
  /** The attempt that ended the exchange with a fault before anything of it had reached the caller: it may be charged. */
  unfinished: Turn | undefined
  /** Of its own turns the last; and all of them, where its cost is added to that of another exchange. */
  lastTurn: Turn | undefined
  ownTurns: Turn[] | undefined
  /** Set by `account`, once the cost is settled. */
  final: Final | undefined

  /** @param created Unix seconds. */
  constructor(caller: Caller, created: number) {
    this.client = caller.head.client
    this.ctx = new ReplyFacts(caller, created)
  }

  /** The running attempt has brought content: from here on nothing is tried again. @param at on the monotonic clock. */
  commit(endpoint: Endpoint, at: number): void {
    this.contentAt = at
    if (this.firstContentAt === 0) this.firstContentAt = at
    this.committedEndpoint = endpoint
    this.whenCommitted?.()
  }
}

/** An exchange whose head has come. */
export interface Received {
  readonly head: Head
  readonly history: ExchangeHistory
  readonly run: Run
}
export interface Authenticated extends Received {
  readonly auth: Auth
}
export interface Accepted extends Authenticated {
  readonly request: ClientRequest
  /** Set by `policy`; undefined where the configuration has no policies. */
  readonly decision?: Decision | undefined
}
export interface Aimed extends Accepted {
  readonly demand: Demand
}
export interface Routed extends Aimed {
  readonly route: Route
}
export interface Guarded extends Routed {
  readonly guard: Guard
}
export interface Planned extends Guarded {
  readonly plan: Plan
}

/** An exchange that may have come to the choice of models. */
export interface MaybeAimed {
  readonly demand?: Demand | undefined
}

/** An exchange that may have been planned. */
export interface MaybePlanned {
  readonly plan?: Plan | undefined
}

export interface ExchangeStart {
  id: GenerationId
  /** Milliseconds since the epoch: of its head, or of the head of the exchange that it is made in. */
  at: number
  client: ClientDialect
  headers: IncomingHttpHeaders
  connection: ClientConnection
  clock: Clock
  config: Config
  wantsMetadata: boolean
  /** Of an exchange that a tool of another one makes: the costs that it adds to, and how deep it lies. */
  within?: { costs: Costs; depth: number }
}

/** All of it, for those above all layers: a record is undefined where the exchange did not come so far. */
export class Exchange implements Received {
  readonly head: Head
  readonly history = new ExchangeHistory()
  readonly run: Run
  readonly auth: Auth | undefined = undefined
  readonly request: ClientRequest | undefined = undefined
  readonly decision: Decision | undefined = undefined
  readonly demand: Demand | undefined = undefined
  readonly route: Route | undefined = undefined
  readonly guard: Guard | undefined = NO_GUARD
  readonly plan: Plan | undefined = undefined

  constructor({ id: { id, seq, tag }, at, client, headers, connection, clock, config, wantsMetadata, within }: ExchangeStart) {
    this.head = {
      id,
      seq,
      tag,
      client,
      headers,
      at,
      started: clock.monotonic(),
      cancel: new CancelSource(),
      wantsMetadata,
      connection,
      clock,
      config,
      brand: config.brand.word,
      costs: within?.costs ?? new Costs(),
      depth: within?.depth ?? 0,
    }
    this.run = new Run(this, Math.floor(at / 1000))
  }
}

/** Has fewer endpoints serve: a layer cannot use the others. */
export function narrow<From extends Routed>(exchange: From, endpoints: readonly Endpoint[]): From {
  return Object.assign(exchange, { route: { ...exchange.route, endpoints } })
}

/** All that is known by now, for layers that act on the way up: those below may have set records, or have failed before. */
export function asExchange<From extends Received>(exchange: From): From & Exchange {
  return exchange as From & Exchange
}

/** The slug as the caller sent it, as far as it is known. */
export function requestedModel({ demand, request }: Exchange): string {
  return demand?.requested ?? (request ? nameIn(request.gateway) : '')
}

function nameIn({ requested, model, models }: GatewayFields): string {
  return requested ?? model ?? models[0] ?? ''
}

/** Milliseconds from the admission to a moment on the monotonic clock. */
export function sinceAdmission({ started }: Head, moment: number): number {
  return Math.max(0, Math.round(moment - started))
}

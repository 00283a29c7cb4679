/** The working state of one exchange while it is answered. What is decided once stands in the records of `exchange.ts`. */
import type { Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import type { StreamEvent } from '../dialects/canon/events.ts'
import type { Fold } from '../dialects/canon/fold.ts'
import type { Final, ReplyContext } from '../dialects/types.ts'
import type { AttemptRecord, ShownItem, Stage, Tap } from '../plugin-api/index.ts'
import type { Endpoint } from '../routing/catalog/types.ts'
import type { Removed } from '../routing/index.ts'
import type { Credential } from '../services/credentials/credential.ts'
import type { RequestTrace } from '../services/telemetry/trace-context.ts'
import type { Turn } from './attempt/turn.ts'
import { type HoldPart, NO_PART } from './money/hold.ts'
import type { SaidTap } from './reply/said-tap.ts'

/** The head of a streamed reply and its silence; `ReplyStream` is it. */
export interface StreamedReply {
  /** True once the head has gone out: a failure is then an event of the stream. */
  readonly sent: boolean
  /**
   * Readies the head for an attempt: lifecycle events and, if requested, one debug event per attempted provider before them.
   * Done anew for each attempt until the head has gone out, since the events name the model that serves.
   */
  prepare(upstreamBody: JsonObject | undefined): void
  /** Sends the head and what was prepared; does nothing if it has gone out. */
  open(): void
  /** @param raw true if `text` holds bytes, one per character. @returns false if the caller should be waited for. */
  write(text: string, raw: boolean): boolean
  /** @param raw as of `write`. */
  end(text: string, raw?: boolean): void
  /** No more comments. */
  stop(): void
}

/** A call of a server tool found in a turn: kept from the caller, run by the gateway. */
export interface FoundCall {
  id: string
  name: string
  args: string
}

/** What an engine lets go, or refuses, while no event comes. */
export interface LateReader {
  text(text: string): void
  fail(fault: Fault): void
}

/** Where decoded events go in the translate lane; `EventPath` is it. */
export interface EventSink {
  /** Content has left the last tap; only kept where guardrails read the answer. */
  readonly said: boolean
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
  /** What it answered; absent where it failed before any content. */
  answer: Turn | undefined
  /** Id of its span; made ahead only where a provider is sent it. */
  span: string | undefined
}

/** Work on an exchange beside the calls of providers, which took its time. Times are monotonic milliseconds; 0 stands for none. */
export interface Step {
  readonly kind: 'tool' | 'model' | 'guardrail' | 'plugin'
  readonly name: string
  readonly started: number
  ended: number
  /** How it failed, in one word. */
  failure?: string
  /** Of a tool: the id of the model's call. */
  readonly callId?: string
  /** Of a call that a tool makes of a model: the tool's step, and what the call itself has noted. */
  readonly within?: Step | undefined
  readonly trail?: Trail
  /** And what it used, one of each call of a provider. */
  readonly turns?: readonly Turn[]
  /** Of a tool: nano-dollars beside those turns. */
  cost?: number
}

const NO_STEPS: readonly Step[] = []

/** What has happened to an exchange so far, for the log line, the metadata and the ledger: lists that only grow. */
export class Trail {
  readonly stages: Stage[] = []
  readonly attempts: NotedAttempt[] = []
  /** Its trace; undefined where the request is not traced and continues no trace. */
  trace: RequestTrace | undefined
  /** In the order of their beginning; most exchanges have none. */
  steps: readonly Step[] = NO_STEPS
  /** Endpoints that a filter took out, each with its reason. */
  removed: readonly Removed[] = []
  /** Ids of the plugins that act on it, in the order in which they run. */
  pluginIds: readonly string[] = []
  /** Plugins at work; each brings its stage up to date. */
  pluginRuns: readonly { updateStage(): void }[] = []
  /** What the caller finds beside the fault where providers fail. */
  errorMetadata: JsonObject | undefined

  addErrorMetadata(metadata: JsonObject): void {
    this.errorMetadata = { ...this.errorMetadata, ...metadata }
  }

  /** Notes a step that begins. */
  begin(step: Omit<Step, 'ended'>): Step {
    const begun: Step = { ...step, ended: 0 }
    this.steps = [...this.steps, begun]
    return begun
  }

  /** The provider of the running attempt has sent the head of its reply; of several calls of one attempt an error counts. */
  noteStatus(status: number): void {
    const record = this.attempts.at(-1)
    if (record && (record.status === null || record.status < 300)) record.status = status
  }
}

/** The answer in the making. */
export class Run {
  readonly ctx: ReplyContext
  reply: StreamedReply | undefined
  /** Where decoded events go; absent until an attempt translates. */
  path: EventSink | undefined
  readonly taps: Tap[] = []
  /** Keeps the words of the answer; undefined where the key's operator does not want to see them. */
  said: SaidTap | undefined
  /** Milliseconds of silence before a stream's head goes out early, and between keep-alive comments. */
  silence = 10_000
  /** Names under which the gateway's own tools were offered to the model; undefined where none were. */
  toolNames: ReadonlySet<string> | undefined
  /** True where a provider may pause a turn that the gateway then goes on with. */
  mayPause = false
  /** Turns the answer into what the caller gets of it, behind all guardrails; a new one for each attempt. */
  lastTap: (() => Tap) | undefined
  /** What the caller sees of the gateway's own tools before the first turn; taken once it has been shown. */
  opening: readonly ShownItem[] | undefined
  /** Ids of endpoints that have refused reasoning of this conversation. */
  withoutReasoning: Set<string> | undefined
  /** Of the running attempt, where its endpoint has one: the credential or the key of a pool that it is called with. */
  credential: Credential | undefined
  /** Media that the request names by address, as data URLs, where a provider in question takes no addresses. */
  media: ReadonlyMap<string, string> | undefined
  /** Turns begun so far; more than one in a tool loop. */
  turns = 0
  /** What the running turn holds. */
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

  constructor(ctx: ReplyContext) {
    this.ctx = ctx
  }

  /** The running attempt has brought content: from here on nothing is tried again. @param at on the monotonic clock. */
  commit(endpoint: Endpoint, at: number): void {
    this.contentAt = at
    if (this.firstContentAt === 0) this.firstContentAt = at
    this.committedEndpoint = endpoint
    this.whenCommitted?.()
  }
}

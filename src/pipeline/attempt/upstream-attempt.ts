/**
 * Base of every attempt at an upstream answer. A reply that is no answer becomes a fault of the dialect; the attempt has a promise, and it
 * ends where its caller leaves or its deadline passes. After callers have left, a bounded number of replies is read on for a bounded time,
 * because what they report is what is charged.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { isObject, type Json, parseJson } from '../../core/json.ts'
import { Pieces } from '../../core/pieces.ts'
import { pauseIn } from '../../core/retry-after.ts'
import type { Final } from '../../dialects/types.ts'
import type { Endpoint, Provider } from '../../routing/catalog/types.ts'
import type { HealthBook } from '../../routing/index.ts'
import type { BodyReceiver, Receiver } from '../../services/upstream/call.ts'
import type { ExchangeHistory, Head, Planned } from '../exchange.ts'
import type { Reply } from '../layer.ts'
import { hiddenReasoning } from '../money/hidden-reasoning.ts'
import type { Lane, Turn } from './turn.ts'

/** Bytes of an error that are read. */
const CAP = 64 * 1024

interface AnswerRules {
  clock: Clock
  /** Reads what is no answer. */
  dialect: { decodeFault(status: number, body: Json | undefined, headers: IncomingHttpHeaders): Fault }
  /** True for the head of an answer. */
  accepts: (status: number, headers: IncomingHttpHeaders) => boolean
  /** Records the status of every reply; absent for a count of tokens. */
  history?: Pick<ExchangeHistory, 'attempts'>
}

/** The heads of replies that hold a whole answer. */
export function isSuccess(status: number): boolean {
  return status === 200 || status === 201
}

/** Has the receiver of an answer take its body; of any other reply it gets the fault alone. */
export class AnswerOrError implements Receiver {
  private readonly answer: BodyReceiver
  private readonly rules: AnswerRules

  constructor(answer: BodyReceiver, rules: AnswerRules) {
    this.answer = answer
    this.rules = rules
  }

  head(status: number, headers: IncomingHttpHeaders): BodyReceiver {
    const record = this.rules.history?.attempts.at(-1)
    // Of several calls of one attempt an error counts.
    if (record && (record.status === null || record.status < 300)) record.status = status
    return this.rules.accepts(status, headers) ? this.answer : new ErrorBody(this.answer, status, headers, this.rules)
  }

  fail(fault: Fault): void {
    this.answer.fail(fault)
  }
}

class ErrorBody implements BodyReceiver {
  private readonly answer: BodyReceiver
  private readonly status: number
  private readonly headers: IncomingHttpHeaders
  private readonly retryAfter: number | undefined
  private readonly pieces = new Pieces()
  private readonly dialect: AnswerRules['dialect']

  constructor(answer: BodyReceiver, status: number, headers: IncomingHttpHeaders, { clock, dialect }: AnswerRules) {
    this.answer = answer
    this.status = status
    this.headers = headers
    this.retryAfter = pauseIn(headers['retry-after'], clock.now())
    this.dialect = dialect
  }

  data(chunk: Buffer): void {
    this.pieces.push(chunk)
    if (this.pieces.size >= CAP) this.end()
  }

  end(): void {
    this.answer.fail(this.fault())
  }

  /** An error status says enough by itself where its body never came whole. */
  fail(broken: Fault): void {
    this.answer.fail(this.status >= 400 && broken.origin === 'upstream' ? this.fault() : broken)
  }

  private fault(): Fault {
    const body = parseJson(this.pieces.take().toString('utf8'))
    if (this.status >= 200 && this.status < 300 && !(isObject(body) && body.error)) return new Fault('upstream_garbled')
    if (this.status >= 300 && this.status < 400) return new Fault('upstream_error')
    const fault = this.dialect.decodeFault(this.status, body, this.headers)
    return this.retryAfter === undefined || fault.retryAfter !== undefined ? fault : fault.with({ retryAfter: this.retryAfter })
  }
}

/** Of one process, whatever the providers' settings. */
const SLOTS = 64
/** Milliseconds by `on_abort`: the usual wait for a final report, and the whole reply. */
const LONGEST: Readonly<Record<Provider['onAbort'], number>> = { cancel: 2_000, drain: 30_000 }

/** The replies that are read on after their callers left: so many at once, and each for so long. */
export class DrainSlots {
  private closed = false
  private readonly open = new Set<() => void>()

  /** Calls `late` when the time is up. @returns gives the place back, to be called once; undefined if all are taken. */
  take(clock: Clock, onAbort: Provider['onAbort'], late: () => void): (() => void) | undefined {
    if (this.closed || this.open.size >= SLOTS) return undefined
    const timer = clock.after(LONGEST[onAbort], late)
    this.open.add(late)
    return () => {
      this.open.delete(late)
      timer.cancel()
    }
  }

  /** The process ends: nothing is read on any more. */
  close(): void {
    this.closed = true
    for (const late of [...this.open]) late()
  }
}

/** The attempt. Of the last three methods one is called at the cancellation; after `readOn` and a while, `gone`. */
export interface Cancellable {
  /** False where the provider cannot have seen anything of the request. */
  readonly sent: boolean
  /** The caller still waits, and gets this fault. */
  fail(fault: Fault): void
  /** The caller has left: the provider is read on for the usage that it reports. */
  readOn(): void
  /** The caller has left, and nothing more is read: what is known is settled. */
  gone(): void
}

export class Cancellation {
  /** Monotonic milliseconds at which the caller left, where the provider is read on. */
  leftAt: number | undefined
  /** True while the provider is read on, and none of it goes to the caller. */
  discarding = false
  private readonly head: Pick<Head, 'cancel' | 'clock'>
  private readonly attempt: Cancellable
  private onAbort: Provider['onAbort'] = 'cancel'
  private drains: DrainSlots | undefined
  private leaveSlot: (() => void) | undefined

  constructor(head: Pick<Head, 'cancel' | 'clock'>, attempt: Cancellable) {
    this.head = head
    this.attempt = attempt
  }

  /** Waits for the cancellation; one that has come already is reported now. */
  watch({ onAbort }: Pick<Provider, 'onAbort'>, drains: DrainSlots): void {
    this.onAbort = onAbort
    this.drains = drains
    this.head.cancel.watch(this)
  }

  /** The attempt is over: nothing is reported any more. */
  end(): void {
    this.head.cancel.leave(this)
    this.leaveSlot?.()
  }

  cancelled(reason: Fault): void {
    const { attempt, onAbort, drains } = this
    const { clock } = this.head
    // A caller that still waits for its reply does not wait for the usage as well.
    if (reason.code === 'deadline') {
      attempt.fail(reason)
      return
    }
    if (reason.code !== 'shutdown' && attempt.sent) this.leaveSlot = drains?.take(clock, onAbort, () => attempt.gone())
    if (!this.leaveSlot) {
      attempt.gone()
      return
    }
    this.leftAt = clock.monotonic()
    this.discarding = true
    attempt.readOn()
  }
}

/** Call that the attempt steers: over HTTP, or at a provider inside this process. */
export interface Flow {
  pause(): void
  resume(): void
  abort(): void
  /** @param at monotonic milliseconds, where they are at hand. */
  alive?(at?: number): void
  /** The answer is whole: whatever may still come is worth a short wait only. */
  answered?(at: number): void
  /** False where the provider cannot have seen anything of the request. */
  readonly sent?: boolean | undefined
  /** Monotonic milliseconds of the reply's head. */
  readonly headAt?: number | undefined
}

export interface AttemptPlan {
  endpoint: Endpoint
  lane: Lane
  /** Output cap of the request as it is sent, in tokens; undefined where it sets none. */
  cap: number | undefined
  drains: DrainSlots
  health: Pick<HealthBook, 'throughput'>
}

/** End of a turn that a guardrail refuses. */
export const REFUSED = { reason: 'content_filter', raw: 'content_filter' } as const

/** Facts of a turn for its settlement: the usage so far, and what that does not cover. */
type Facts = Pick<Turn, 'stopped' | 'usage' | 'end' | 'begun' | 'relayed' | 'images' | 'hidden' | 'writing' | 'heldBack'>

/** Cause of the end; an `end` of its own takes precedence over that of the answer. */
type Ended = Pick<Turn, 'fault' | 'aborted' | 'refused'> & { end?: Turn['end'] }

export abstract class UpstreamAttempt<Plan extends AttemptPlan> implements Cancellable {
  /** Rejects with a fault where nothing has reached the caller: another endpoint may be tried. */
  readonly done: Promise<Reply>
  flow: Flow | undefined
  protected readonly exchange: Planned
  protected readonly plan: Plan
  protected over = false
  private readonly resolve: (reply: Reply) => void
  private readonly reject: (fault: Fault) => void
  protected readonly cancellation: Cancellation

  constructor(exchange: Planned, plan: Plan) {
    this.exchange = exchange
    this.plan = plan
    const { promise, resolve, reject } = Promise.withResolvers<Reply>()
    this.done = promise
    this.resolve = resolve
    this.reject = reject
    this.cancellation = new Cancellation(exchange.head, this)
    this.cancellation.watch(plan.endpoint.provider, plan.drains)
  }

  abstract fail(fault: Fault): void
  /** Facts of the turn that are known now. */
  protected abstract facts(): Facts
  /** Writes what is not yet written of the reply, once the turn has ended. */
  protected abstract finish(final: Final): string

  get sent(): boolean {
    return this.flow !== undefined && this.flow.sent !== false
  }

  protected refuse(fault: Fault): void {
    this.exchange.run.unfinished = this.turn(this.facts(), { fault, aborted: false })
    this.close()
    this.reject(fault)
  }

  protected settle(known: Facts, ended: Ended, finish = (final: Final) => this.finish(final)): void {
    const turn = this.turn(known, ended)
    this.close()
    this.resolve({ turn, finish, raw: this.raw })
  }

  /** True where `finish` returns bytes, one per character. */
  protected readonly raw: boolean = false

  readOn(): void {
    // No more comments are sent to the caller.
    this.exchange.run.reply?.stop()
    this.flow?.resume()
  }

  gone(): void {
    if (!this.over) this.settle(this.facts(), { fault: undefined, aborted: true })
  }

  private turn(known: Facts, ended: Ended): Turn {
    const { endpoint, lane, cap } = this.plan
    const { fault, aborted, refused } = ended
    const turn: Turn = {
      endpoint,
      lane,
      cap,
      usage: known.usage,
      end: ended.end ?? known.end,
      fault,
      refused,
      aborted,
      begun: known.begun,
      relayed: known.relayed,
      images: known.images,
      hidden: known.hidden,
      writing: known.writing,
      heldBack: known.heldBack,
    }
    if (known.stopped) turn.stopped = true
    if (!this.sent) turn.sent = false
    return turn
  }

  private close(): void {
    this.over = true
    this.cancellation.end()
    this.flow?.abort()
  }

  /**
   * Tokens of reasoning that the provider has not reported: the time from the head of the reply to its first content at the pace of the
   * endpoint. @param contentAt monotonic milliseconds; undefined where no content has come yet.
   */
  protected hiddenTokens(contentAt: number | undefined): number {
    const { exchange, flow, plan } = this
    const { endpoint, health } = plan
    if (flow?.headAt === undefined) return 0
    const until = contentAt ?? this.cancellation.leftAt ?? exchange.head.clock.monotonic()
    return hiddenReasoning(endpoint, until - flow.headAt, health.throughput(endpoint, 'p50'))
  }
}

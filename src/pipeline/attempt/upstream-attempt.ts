/** What every attempt at an upstream answer shares: its promise, and the caller's leaving. */

import type { Fault } from '../../core/faults.ts'
import type { Final } from '../../dialects/types.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { HealthBook } from '../../routing/index.ts'
import type { Planned } from '../exchange.ts'
import type { Reply } from '../layer.ts'
import { type Cancellable, Cancellation } from './cancellation.ts'
import type { DrainSlots } from './drain-slots.ts'
import type { Lane, Turn } from './turn.ts'

/** What the attempt steers: an HTTP call or a provider inside this process. */
export interface Flow {
  pause(): void
  resume(): void
  abort(): void
  /** @param at monotonic milliseconds, where they are at hand. */
  alive?(at?: number): void
  /** The answer is whole: whatever may still come is worth a short wait only. */
  answered?(): void
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

/** How a turn ends that a guardrail refuses. */
export const REFUSED = { reason: 'content_filter', raw: 'content_filter' } as const

/** What a turn leaves for the settlement: its usage so far, and what that does not cover. */
type Facts = Pick<Turn, 'stopped' | 'usage' | 'end' | 'begun' | 'relayed' | 'images' | 'hidden' | 'writing' | 'heldBack'>

/** How it ended; an `end` of its own stands before that of the answer. */
type Ended = Pick<Turn, 'fault' | 'aborted' | 'refused'> & { end?: Turn['end'] }

export abstract class UpstreamAttempt<Plan extends AttemptPlan> implements Cancellable {
  /** Rejects with a fault where nothing has reached the caller: another endpoint may be tried. */
  readonly done: Promise<Reply>
  flow: Flow | undefined
  protected readonly exchange: Planned
  protected readonly plan: Plan
  protected over = false
  private resolve: (reply: Reply) => void = () => {}
  private reject: (fault: Fault) => void = () => {}
  protected readonly cancellation: Cancellation

  constructor(exchange: Planned, plan: Plan) {
    this.exchange = exchange
    this.plan = plan
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    this.cancellation = new Cancellation(exchange.head, this)
    this.cancellation.watch(plan.endpoint.provider, plan.drains)
  }

  abstract fail(fault: Fault): void
  /** What is known of the turn now. */
  protected abstract facts(): Facts
  /** Writes what is not yet written of the reply, once the turn has ended. */
  protected abstract finish(final: Final): string

  get sent(): boolean {
    return this.flow !== undefined && this.flow.sent !== false
  }

  protected refuse(fault: Fault): void {
    this.exchange.run.unfinished = this.turn({ fault, aborted: false })
    this.close()
    this.reject(fault)
  }

  protected settle(ended: Ended, finish = (final: Final) => this.finish(final)): void {
    const turn = this.turn(ended)
    this.close()
    this.resolve({ turn, finish })
  }

  readOn(): void {
    // No more comments are sent to the caller.
    this.exchange.run.reply?.stop()
    this.flow?.resume()
  }

  gone(): void {
    if (!this.over) this.settle({ fault: undefined, aborted: true })
  }

  private turn(ended: Ended): Turn {
    const { endpoint, lane, cap } = this.plan
    const known = this.facts()
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
    if (flow?.headAt === undefined || !mayReason(endpoint)) return 0
    const seconds = ((contentAt ?? this.cancellation.leftAt ?? exchange.head.clock.monotonic()) - flow.headAt) / 1000
    return seconds > 0 ? seconds * (health.throughput(endpoint, 'p50') ?? SLOW_PACE) : 0
  }
}

function mayReason({ supported }: Endpoint): boolean {
  return supported === undefined || supported.has('reasoning') || supported.has('reasoning_effort') || supported.has('include_reasoning')
}

/** Tokens per second of an endpoint that has served nothing of late: slower than most. */
const SLOW_PACE = 20

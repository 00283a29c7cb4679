/** One streamed upstream answer: holds everything until the first content, then relays with back-pressure. */

import { Fault, unreadable } from '../../core/faults.ts'
import { failedEnd } from '../../dialects/canon/ends.ts'
import { countsMore, countsOutput, type Usage } from '../../dialects/canon/usage.ts'
import type { Final } from '../../dialects/types.ts'
import { StreamLife } from '../../machines/sse/frames.ts'
import type { BodyReceiver } from '../../services/upstream/call.ts'
import type { Planned } from '../exchange.ts'
import type { Relay } from './relay.ts'
import { type AttemptPlan, REFUSED, UpstreamAttempt } from './upstream-attempt.ts'

export interface StreamPlan extends AttemptPlan {
  relay: Relay
}

export class StreamAttempt extends UpstreamAttempt<StreamPlan> implements BodyReceiver {
  private pending = ''
  private committed = false
  private breaking = false
  /** The upstream is paused until an engine has answered. */
  private crowded = false
  private readonly life = new StreamLife()
  /** The last report of usage, true where it counts the output, and the bytes and images of content that had come before the last one that counts them. */
  private report: Usage | undefined
  private isCounted = false
  private covered = 0
  private coveredImages = 0
  private before = 0
  private imagesBefore = 0
  /** Monotonic milliseconds of the first content, and of the provider's last event. */
  private contentAt: number | undefined
  private endedAt: number | undefined
  /** Monotonic milliseconds since which the provider is held back; and for how many it was before. */
  private heldSince: number | undefined
  private heldBack = 0

  constructor(exchange: Planned, plan: StreamPlan) {
    super(exchange, plan)
    plan.relay.listen?.({
      text: (text) => {
        if (this.over) return
        this.relay(text)
        if (this.crowded && !plan.relay.crowded) {
          this.crowded = false
          this.goOn()
        }
      },
      fail: (fault) => this.fail(fault),
    })
  }

  data(chunk: Buffer): void {
    if (this.exchange.run.taps.length === 0) this.piece(chunk)
    // A plugin that fails must not take along what came in one read with the event that it fails at.
    else for (const event of eventsIn(chunk)) this.piece(event)
  }

  private piece(chunk: Buffer): void {
    if (this.over) return
    const { relay } = this.plan
    const now = this.exchange.head.clock.monotonic()
    if (this.life.push(chunk)) this.flow?.alive?.(now)
    let text: string
    try {
      text = relay.feed(chunk)
    } catch (cause) {
      this.fail(unreadable(cause))
      return
    }
    this.relay(text, now)
    if (relay.facts.fault) this.fail(relay.facts.fault)
    // The caller has all that it gets; the provider need not write on.
    else if (relay.isCut) this.end()
    else if (relay.facts.end && this.isCounted) {
      this.endedAt ??= now
      this.flow?.answered?.(now)
    }
    if (relay.crowded && !this.over) {
      this.crowded = true
      this.holdBack()
    }
  }

  private holdBack(): void {
    this.heldSince ??= this.exchange.head.clock.monotonic()
    this.flow?.pause()
  }

  private goOn(): void {
    if (this.heldSince !== undefined) this.heldBack += this.exchange.head.clock.monotonic() - this.heldSince
    this.heldSince = undefined
    this.flow?.resume()
  }

  /** Hands on what a relay returned; a provider inside this process calls it straight. @param at monotonic milliseconds, where they are at hand. */
  relay(text: string, at?: number): void {
    const { relay } = this.plan
    this.note(at)
    if (!this.committed) {
      this.pending += text
      if (!relay.facts.committed) return
      this.commit(at)
      text = this.pending
      this.pending = ''
    }
    if (text === '' || this.cancellation.discarding) return
    if (this.exchange.run.reply?.write(text, relay.raw) === false) {
      this.holdBack()
      this.exchange.head.connection.onDrain(() => this.goOn())
    }
  }

  end(): void {
    if (this.over) return
    this.endedAt ??= this.exchange.head.clock.monotonic()
    const { relay } = this.plan
    try {
      this.relay(relay.close())
    } catch (cause) {
      this.fail(unreadable(cause))
      return
    }
    if (relay.pending) relay.pending.then(() => this.ended())
    else this.ended()
  }

  private ended(): void {
    if (this.over) return
    const { relay } = this.plan
    if (relay.facts.fault) {
      this.fail(relay.facts.fault)
      return
    }
    if (!relay.facts.end) {
      this.fail(new Fault(this.committed ? 'upstream_cut' : 'upstream_empty'))
      return
    }
    // With nothing to show for it an end that is not known as a success is a failure.
    if (!this.committed && relay.facts.end.reason === 'unknown') {
      this.fail(failedEnd(relay.facts.end.raw))
      return
    }
    if (!this.committed) {
      this.commit()
      this.exchange.run.reply?.write(this.pending, relay.raw)
    }
    this.finished(undefined)
  }

  fail(fault: Fault): void {
    if (this.over) return
    const { relay } = this.plan
    // Some providers keep the connection open after their last event: an answer that has ended is whole.
    if ((fault.code === 'upstream_silent' || fault.code === 'upstream_overlong') && relay.facts.end && !relay.facts.fault) {
      this.end()
      return
    }
    if (relay.refusal) this.refused(relay.refusal)
    // The caller has ended it already, whatever becomes of the rest.
    else if (this.cancellation.discarding) this.gone()
    else if (relay.begun && (fault.origin === 'upstream' || fault.code === 'deadline')) this.brokeOff(fault)
    else if (this.committed) this.finished(fault)
    else this.refuse(fault)
  }

  /** The answer had begun: what is held of it goes out first. */
  private brokeOff(fault: Fault): void {
    const { relay } = this.plan
    if (this.breaking) return
    this.breaking = true
    try {
      this.relay(relay.abandon?.() ?? '')
    } catch {
      // A guardrail refuses it, or a tap has failed: the answer has failed already.
    }
    const last = (): void => {
      if (this.over) return
      if (relay.refusal) this.refused(relay.refusal)
      else if (this.committed) this.finished(fault)
      else {
        // Nothing has left the path, so the next attempt may have a new one.
        this.exchange.run.path = undefined
        this.refuse(fault)
      }
    }
    if (relay.pending) relay.pending.then(last)
    else last()
  }

  /** The gateway refuses the answer: nothing more goes out, no other endpoint is called, and what the provider did is charged. */
  private refused(refused: Fault): void {
    const { exchange, plan } = this
    if (!this.committed) exchange.run.commit(plan.endpoint, exchange.head.clock.monotonic())
    this.settle(this.facts(), { refused, end: REFUSED, fault: undefined, aborted: this.cancellation.discarding })
  }

  private commit(at = this.exchange.head.clock.monotonic()): void {
    const { exchange, plan } = this
    this.committed = true
    exchange.run.commit(plan.endpoint, at)
    exchange.run.ctx.counted = plan.relay.facts.firstUsage
    exchange.run.ctx.beginning = plan.relay.facts.beginning
    if (!this.cancellation.discarding) exchange.run.reply?.open()
    if (exchange.request.payload.source && !isReadLater(exchange)) exchange.request.payload.discard()
  }

  private finished(fault: Fault | undefined): void {
    const { relay } = this.plan
    this.settle(this.facts(), { fault, aborted: this.cancellation.discarding }, (final) => relay.finish(final))
  }

  /** Notes which content a report of usage covers, and when content began. */
  private note(at?: number): void {
    const { relay } = this.plan
    const { facts } = relay
    if (facts.usage !== this.report) {
      // What came in the same chunk may have come after it.
      if (countsMore(facts.usage, this.report)) {
        this.covered = this.before
        this.coveredImages = this.imagesBefore
      }
      this.report = facts.usage
      this.isCounted = countsOutput(facts.usage)
    }
    this.before = facts.relayed
    this.imagesBefore = facts.images
    if (this.contentAt === undefined && (relay.begun ?? facts.committed)) this.contentAt = at ?? this.exchange.head.clock.monotonic()
  }

  protected override facts() {
    this.note()
    const { usage, end, relayed, images, replyId } = this.plan.relay.facts
    this.exchange.run.replyId = replyId
    const begun = this.contentAt !== undefined
    const { heldBack } = this
    // The report with which an answer ends covers all of it.
    if (usage && this.isCounted && end) return { usage, end, begun, relayed: 0, writing: this.writing(usage), heldBack }
    const stopped = this.plan.relay.isCut === true ? { stopped: true as const } : {}
    const running = this.countedAlong()
    if (running) return { ...stopped, usage: running, end, begun, relayed: relayed - (this.plan.relay.facts.counted ?? 0), heldBack }
    // Counted is the larger of what is reported and what is estimated.
    const hidden = this.covered > 0 ? 0 : Math.max(0, this.hiddenTokens(this.contentAt) - (usage?.reasoning ?? 0))
    return { ...stopped, usage, end, begun, relayed: relayed - this.covered, images: images - this.coveredImages, hidden, heldBack }
  }

  /** The last running report, unless another one counts more. */
  private countedAlong(): Usage | undefined {
    const { running, usage } = this.plan.relay.facts
    const counted = running && running.taken > 0 ? running.usage : undefined
    return counted && countsOutput(counted) && !(countsOutput(usage) && usage.output > counted.output) ? counted : undefined
  }

  /**
   * Cancels the call where the usage is known from running reports, and the provider stops when it is cancelled: nothing needs to be waited
   * for.
   */
  override readOn(): void {
    const { endpoint } = this.plan
    if (endpoint.provider.onAbort === 'cancel' && this.countedAlong()) this.gone()
    else super.readOn()
  }

  /**
   * Milliseconds in which the provider wrote its output. Reasoning may have come unseen before the first content, so its time
   * counts from the head of the reply, as in the estimate of hidden reasoning. Of a reply that was held back nothing is known:
   * the provider may have waited or have written on into the buffers between, so the caller would choose the figure.
   */
  private writing({ reasoning }: Usage): number | undefined {
    const { contentAt, endedAt, heldBack } = this
    if (contentAt === undefined || endedAt === undefined) return undefined
    const headAt = reasoning > 0 ? this.flow?.headAt : undefined
    const ms = endedAt - (headAt ?? contentAt)
    return heldBack > ms * MAX_HELD ? undefined : ms
  }

  protected override readonly raw = true

  protected override finish(final: Final): string {
    return this.plan.relay.finish(final)
  }
}

/** True where plugins, guardrails or a trace may read the request while the answer streams, or behind it. */
function isReadLater({ run, guard, history }: Planned): boolean {
  return run.taps.length > 0 || run.captured !== undefined || guard.answers !== undefined || history.pluginIds.length > 0
}

/** Share of a reply's time for which it may be held back: full buffers for a moment are common in long replies. */
const MAX_HELD = 0.05

/** The bytes up to each blank line. */
function* eventsIn(chunk: Buffer): Generator<Buffer> {
  for (let at = 0; at < chunk.length; ) {
    const blank = chunk.indexOf('\n\n', at)
    const end = blank === -1 ? chunk.length : blank + 2
    yield chunk.subarray(at, end)
    at = end
  }
}

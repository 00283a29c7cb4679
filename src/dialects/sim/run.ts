/** One simulated answer on its way: caps, pace, faults and back-pressure. */

import type { Clock, Timer } from '../../core/clock.ts'
import { asFault, Fault } from '../../core/faults.ts'
import type { EndReason, StreamEvent } from '../canon/events.ts'
import type { CanonicalRequest } from '../canon/request.ts'
import { noUsage } from '../canon/usage.ts'
import type { LocalRun, LocalSink } from '../local-run.ts'
import type { Target } from '../types.ts'
import { decodeFault, type FaultPlan, faultPlan } from './faults.ts'
import { lastUserText, outputCap, steering } from './request.ts'
import { type ScriptBlock, script } from './script.ts'
import { inputTokens, pieces } from './tokens.ts'

/** Events handed over at once, and events before other work gets its turn. */
const BATCH = 64
const BURST = 4096

/** Step after a batch. */
type Next = 'more' | 'wait' | 'cut' | 'stall' | 'end'

/** Starts in a microtask, so that the caller holds the run before the first event; all waiting is on the clock. */
export class SimRun implements LocalRun {
  private readonly clock: Clock
  private readonly sink: LocalSink
  private readonly faults: FaultPlan
  private readonly pace: number
  private readonly steps: Iterator<StreamEvent, undefined> | undefined
  private timer: Timer | undefined
  /** The next event, which waits for its time. */
  private held: StreamEvent | undefined
  private sent = 0
  private paused = false
  private pumping = false
  private over = false

  constructor(request: CanonicalRequest, target: Target, clock: Clock, sink: LocalSink) {
    this.clock = clock
    this.sink = sink
    this.faults = faultPlan(target.quirks, clock)
    const settings = steering(lastUserText(request))
    this.pace = settings.pace
    const blocks = script(target.model, request, settings)
    this.steps = blocks && answer(blocks, request, target)
    if (this.faults.delay > 0) this.wait(this.faults.delay)
    else queueMicrotask(() => this.pump())
  }

  pause(): void {
    this.paused = true
  }

  resume(): void {
    this.paused = false
    if (!this.timer && !this.pumping) this.pump()
  }

  abort(): void {
    this.over = true
    this.timer?.cancel()
    this.timer = undefined
  }

  private wait(ms: number): void {
    this.timer = this.clock.after(ms, () => {
      this.timer = undefined
      this.pump()
    })
  }

  private pump(): void {
    if (this.over || this.paused || this.pumping || this.timer) return
    this.pumping = true
    try {
      this.deliver()
    } catch (problem) {
      this.fail(asFault(problem))
    }
    this.pumping = false
  }

  private fail(fault: Fault): void {
    if (this.over) return
    this.over = true
    this.sink.fail(fault)
  }

  /** Hands over batches until a pause, a wait, a fault or the end. */
  private deliver(): void {
    const { steps, faults } = this
    if (faults.status !== undefined) this.fail(decodeFault(faults.status))
    else if (!steps) this.fail(new Fault('upstream_missing'))
    for (let burst = 0; steps && !this.over && !this.paused && !this.timer; ) {
      const batch: StreamEvent[] = []
      const next = this.fill(batch, steps)
      burst += batch.length
      this.sent += batch.length
      if (batch.length > 0) this.sink.events(batch)
      if (this.over) return
      if (next === 'wait') this.wait(this.pace)
      else if (next === 'more' && burst >= BURST) this.wait(0)
      else if (!this.paused && next !== 'more') this.conclude(next)
    }
  }

  /** Fills one batch and returns what follows it. */
  private fill(batch: StreamEvent[], steps: Iterator<StreamEvent, undefined>): Next {
    const { cutAfter = Infinity, stallAfter = Infinity } = this.faults
    while (batch.length < BATCH) {
      const count = this.sent + batch.length
      if (count >= cutAfter) return 'cut'
      if (count >= stallAfter) return 'stall'
      const event = this.held ?? steps.next().value
      if (event === undefined) return 'end'
      if (this.pace > 0 && event.type === 'block-delta' && this.held === undefined) {
        this.held = event
        return 'wait'
      }
      this.held = undefined
      batch.push(event)
    }
    return 'more'
  }

  private conclude(how: 'cut' | 'stall' | 'end'): void {
    if (how === 'cut') this.fail(new Fault('upstream_cut'))
    this.over = true
    if (how === 'end') this.sink.end()
  }
}

/** The whole answer as events, within the output cap and the stop sequences. */
function* answer(blocks: readonly ScriptBlock[], request: CanonicalRequest, target: Target): Generator<StreamEvent, undefined> {
  let left = outputCap(request, target) ?? Infinity
  let output = 0
  let reasoning = 0
  let reason: EndReason = blocks.some((block) => block.kind === 'call') ? 'tool_calls' : 'stop'
  let number = 0
  yield { type: 'start', model: target.model }
  for (const block of blocks) {
    if (left <= 0) {
      reason = 'length'
      break
    }
    const stopAt = block.kind === 'text' ? stopPosition(block.text, request.sampling.stop) : -1
    const text = stopAt < 0 ? block.text : block.text.slice(0, stopAt)
    const shown = block.hidden !== true
    if (shown) yield { type: 'block-start', block: number, kind: block.kind, item: block.item, call: block.call }
    for (const piece of pieces(text)) {
      if (left <= 0) {
        reason = 'length'
        break
      }
      left--
      output++
      if (block.kind === 'reasoning' || block.kind === 'summary') reasoning++
      if (shown) yield { type: 'block-delta', block: number, text: piece }
    }
    if (shown) yield { type: 'block-end', block: number++ }
    if (reason === 'length' || stopAt >= 0) break
  }
  yield { type: 'usage', usage: { ...noUsage(), input: inputTokens(request), output, reasoning } }
  yield { type: 'end', reason, raw: reason }
}

/** Beginning of the earliest stop sequence; -1 if there is none. */
function stopPosition(text: string, stops: readonly string[] | undefined): number {
  let first = -1
  for (const stop of stops ?? []) {
    const at = stop === '' ? -1 : text.indexOf(stop)
    if (at >= 0 && (first < 0 || at < first)) first = at
  }
  return first
}

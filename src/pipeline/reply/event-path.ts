/** Path of decoded events in the translate lane: taps, then the client's encoder or, not streaming, a fold. One per exchange. */

import type { Fault } from '../../core/faults.ts'
import { isContent, type StreamEvent } from '../../dialects/canon/events.ts'
import { Fold } from '../../dialects/canon/fold.ts'
import type { Final, StreamEncoder } from '../../dialects/types.ts'
import { binary } from '../../machines/sse/frames.ts'
import type { ShownItem, Tap } from '../../plugin-api/index.ts'
import type { Guarded } from '../exchange.ts'
import { AnswerGuard } from '../guard/answer-guard.ts'
import { AnswerEngines } from '../guard/engines.ts'
import { RestoreTap } from '../guard/restore-tap.ts'
import type { EventSink, FoundCall, LateReader } from '../records.ts'

export class EventPath implements EventSink {
  /** Content has left the last tap. Set only where guardrails read the answer. */
  hasContent = false
  /** Guardrails read the answer: content may be held back. */
  readonly guarded: boolean
  late: LateReader | undefined
  private readonly guard: AnswerGuard | undefined
  private readonly engines: AnswerEngines | undefined
  private readonly closers: (() => void)[] = []
  private readonly exchange: Guarded
  private readonly encoder: StreamEncoder | undefined
  private readonly folded: Fold | undefined
  private readonly entry: (event: StreamEvent) => void
  private batch: StreamEvent[] = []
  /** Next block number towards the caller; turns count on. */
  private nextBlock = 0
  private blocks = new Map<number, number>()
  private serverTools: ReadonlySet<string> | undefined
  private withheld = new Map<number, FoundCall>()
  /** The running turn as the model wrote it, for the next turn's request; only kept where tools may run or a provider may pause. */
  turn: Fold | undefined
  calls: FoundCall[] = []

  constructor(exchange: Guarded) {
    this.exchange = exchange
    if (exchange.request.stream) this.encoder = exchange.request.client.streamEncoder(exchange.run.ctx)
    else this.folded = new Fold()
    const { answers: answerWatch } = exchange.guard
    this.guarded = answerWatch !== undefined
    if (answerWatch?.policy) this.guard = new AnswerGuard(exchange, answerWatch.policy)
    if (answerWatch && answerWatch.asking.length > 0) {
      this.engines = new AnswerEngines(exchange, answerWatch.asking, {
        released: () => this.release(),
        failed: (fault) => this.late?.fail(fault),
      })
    }
    this.entry = this.chained(exchange)
  }

  /** The first tap's entrance, each tap's exit being the next one's entrance. */
  private chained({ run: { taps, lastTap, captured }, guard: { vault } }: Guarded): (event: StreamEvent) => void {
    let entry = this.guarded ? (event: StreamEvent) => this.leave(event) : (event: StreamEvent) => void this.batch.push(event)
    if (taps.length === 0 && !this.guarded && !vault && !lastTap && !captured) return entry
    // What comes back is the caller's own: no guardrail reads it again, and no trace holds it.
    const last: Tap[] = [this.guard, this.engines, captured, vault && new RestoreTap(vault), lastTap?.()].filter((tap) => tap !== undefined)
    for (const tap of [...taps.filter((one) => one.mode === 'mutate'), ...last].reverse()) {
      const next = entry
      entry = (event) => tap.push(event, next)
      this.closers.unshift(() => tap.finish?.(next))
    }
    return entry
  }

  private leave(event: StreamEvent): void {
    if (!this.hasContent && isContent(event)) this.hasContent = true
    this.batch.push(event)
  }

  /** A guardrail refuses the answer. */
  get refusal(): Fault | undefined {
    return this.guard?.refusal ?? this.engines?.refusal
  }

  /** Settles, never rejecting, once no event waits for an engine any more. */
  get pending(): Promise<void> | undefined {
    return this.engines?.pending
  }

  /** More waits for an engine than should. */
  get crowded(): boolean {
    return this.engines?.crowded === true
  }

  /** No more events of this turn: taps hand on what they hold. @returns text for the client. */
  close(): string {
    try {
      for (const closer of this.closers) closer()
    } catch (thrown) {
      this.failed(thrown)
    }
    return this.flush()
  }

  private release(): void {
    const text = this.flush()
    this.late?.text(text)
  }

  /** Discards the events that a refusal leaves behind. */
  private failed(thrown: unknown): never {
    if (this.refusal) this.batch = []
    throw thrown
  }

  beginTurn(serverTools: ReadonlySet<string> | undefined, keeps = false): void {
    this.blocks = new Map()
    this.withheld = new Map()
    this.calls = []
    this.serverTools = serverTools
    this.turn = serverTools || keeps ? new Fold() : undefined
  }

  /** Takes events as decoded in this turn. @returns text for the client, '' where nothing is to be sent. */
  push(events: readonly StreamEvent[]): string {
    try {
      this.open()
      for (const event of events) {
        this.turn?.push(event)
        const renumbered = this.renumber(event)
        if (renumbered) this.entry(renumbered)
      }
    } catch (thrown) {
      this.failed(thrown)
    }
    return this.flush()
  }

  /** Adds a whole block of the gateway's own, such as the output item of a tool that ran. */
  add(events: (block: number) => readonly StreamEvent[]): string {
    try {
      for (const event of events(this.nextBlock++)) this.entry(event)
    } catch (thrown) {
      this.failed(thrown)
    }
    return this.flush()
  }

  finish(final: Final): string {
    if (this.encoder) return this.encoder.finish(final)
    return this.exchange.request.client.encodeResult((this.folded ?? new Fold()).result, this.exchange.run.ctx, final)
  }

  finishBytes(final: Final): string {
    return this.encoder?.finishBytes?.(final) ?? binary(this.finish(final))
  }

  /** Emits the items that come before the first turn, with the first events of that turn. */
  private open(): void {
    const { opening } = this.exchange.run
    if (!opening) return
    this.exchange.run.opening = undefined
    for (const shown of opening) for (const event of shownEvents(shown, this.nextBlock++)) this.entry(event)
  }

  private flush(): string {
    const { batch } = this
    if (batch.length === 0) return ''
    this.batch = []
    if (this.encoder) return this.encoder.push(batch)
    for (const event of batch) this.folded?.push(event)
    return ''
  }

  private renumber(event: StreamEvent): StreamEvent | undefined {
    switch (event.type) {
      case 'block-start': {
        if (event.kind === 'call' && event.call && this.serverTools?.has(event.call.name)) {
          const call = { id: event.call.id, name: event.call.name, args: '' }
          this.withheld.set(event.block, call)
          this.calls.push(call)
          return undefined
        }
        const block = this.nextBlock++
        this.blocks.set(event.block, block)
        return block === event.block ? event : { ...event, block }
      }
      case 'block-delta':
      case 'block-note':
      case 'block-end': {
        const held = this.withheld.get(event.block)
        if (held) {
          if (event.type === 'block-delta') held.args += event.text
          return undefined
        }
        const block = this.blocks.get(event.block)
        if (block === undefined) return undefined
        return block === event.block ? event : { ...event, block }
      }
      default:
        return event
    }
  }
}

/** Items that a tool of the gateway shows the caller, as events of blocks. */
export function shownEvents(shown: ShownItem, block: number): readonly StreamEvent[] {
  if (shown.kind === 'call')
    return [
      { type: 'block-start', block, kind: 'call', call: shown.call },
      { type: 'block-delta', block, text: shown.args },
      { type: 'block-end', block },
    ]
  return [
    { type: 'block-start', block, kind: shown.kind, of: shown.of },
    { type: 'block-end', block },
  ]
}

/** The path lives as long as the exchange; an attempt that failed before content has left no trace in it. */
export function beginTurn(exchange: Guarded): EventSink {
  const path = exchange.run.path ?? new EventPath(exchange)
  exchange.run.path = path
  path.beginTurn(exchange.run.toolNames, exchange.run.mayPause)
  return path
}

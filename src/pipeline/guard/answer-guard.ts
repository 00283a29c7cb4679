/** Reads the events of an answer for all rules of a key: the last tap but for what comes back. */
import type { Fault } from '../../core/faults.ts'
import { type BlockKind, hasTexts, type StreamEvent } from '../../dialects/canon/events.ts'
import {
  type AnswerPolicy,
  ArgsStream,
  answerFault,
  answerStages,
  Findings,
  type Held,
  readStage,
  redacted,
  type Span,
  TextStream,
  wholeValue,
} from '../../guardrails/index.ts'
import type { Stage, Tap } from '../../plugin-api/index.ts'
import type { Routed } from '../exchange.ts'

type Emit = (event: StreamEvent) => void

/** One text of an answer that may go over several blocks: what is decided of it goes on, in its blocks. */
class RedactionBuffer {
  private readonly stream: TextStream
  /** Events between texts, each at its place. */
  private queue: { at: number; event: StreamEvent }[] = []
  private emit: Emit = () => {}
  /** Characters that came, and those that are decided. */
  private came = 0
  private out = 0
  /** The block that the next decided text is of. */
  private block: number
  private readonly changed: (block: number) => void

  /** @param changed called for each block in which something is hidden. */
  constructor(block: number, reading: { policy: AnswerPolicy; findings: Findings; changed: (block: number) => void }) {
    this.block = block
    this.changed = reading.changed
    this.stream = new TextStream(reading.policy, reading.findings, (text, spans) => this.decided(text, spans))
  }

  get held(): number {
    return this.stream.held
  }

  push(text: string, emit: Emit): void {
    this.emit = emit
    this.came += text.length
    this.stream.push(text)
  }

  /** An event behind what has come so far. */
  place(event: StreamEvent, emit: Emit): void {
    this.emit = emit
    if (this.out === this.came) this.pass(event)
    else this.queue.push({ at: this.came, event })
  }

  end(emit: Emit): void {
    this.emit = emit
    this.stream.end()
  }

  private decided(text: string, spans: readonly Span[]): void {
    let from = 0
    for (let next = this.queue[0]; next && next.at <= this.out + text.length; next = this.queue[0]) {
      const { at, event } = next
      this.piece(text, spans, { from, to: at - this.out })
      from = at - this.out
      this.pass(event)
      this.queue.shift()
    }
    this.piece(text, spans, { from, to: text.length })
    this.out += text.length
  }

  private pass(event: StreamEvent): void {
    if (event.type === 'block-start') this.block = event.block
    this.emit(event)
  }

  /**
   * Emits a part of the text with its findings redacted. A finding that crosses a border has its placeholder where it begins, and nothing
   * behind the border.
   */
  private piece(text: string, spans: readonly Span[], { from, to }: { from: number; to: number }): void {
    if (from >= to) return
    const own: Span[] = []
    for (const span of spans) {
      if (span.start >= to || span.end <= from) continue
      this.changed(this.block)
      if (span.start >= from) own.push({ ...span, start: span.start - from, end: Math.min(span.end, to) - from })
      else own.push({ start: 0, end: Math.min(span.end, to) - from, placeholder: '' })
    }
    const left = redacted(text.slice(from, to), own)
    if (left !== '') this.emit({ type: 'block-delta', block: this.block, text: left })
  }
}

type BlockStart = Extract<StreamEvent, { type: 'block-start' }>
type BlockNote = Extract<StreamEvent, { type: 'block-note' }>

/** Kinds of blocks whose texts are one text where they follow each other. */
const KIN: Readonly<Partial<Record<BlockKind, string>>> = { text: 'answer', refusal: 'answer', reasoning: 'reasoning', summary: 'summary' }

export class AnswerGuard implements Tap {
  readonly mode = 'mutate'
  /** Set once the answer is refused: nothing of it goes on. */
  refusal: Fault | undefined
  private readonly exchange: Routed
  private readonly policy: AnswerPolicy
  private readonly findings = new Findings()
  private readonly calls = new Map<number, ArgsStream>()
  /** Kin of the text blocks that stand open. */
  private readonly kin = new Map<number, string>()
  private running: { kin: string; buffer: RedactionBuffer; blocks: Set<number> } | undefined
  /** Blocks of which something was hidden: their signatures no longer fit. */
  private readonly altered = new Set<number>()
  private stages: Stage[] = []
  private most = 0
  private longest = 0
  private since: number | undefined

  constructor(exchange: Routed, policy: AnswerPolicy) {
    this.exchange = exchange
    this.policy = policy
  }

  /** @throws Fault 403 where the answer is refused. */
  push(event: StreamEvent, emit: Emit): void {
    if (this.refusal) throw this.refusal
    this.gather(emit, (held) => this.take(event, held))
    if (event.type === 'end' || event.type === 'fault') this.report()
  }

  /** Decides the text that is held as if it were whole. */
  finish(emit: Emit): void {
    if (this.refusal) return
    this.gather(emit, (held) => this.closeAll(held))
    this.report()
  }

  /** Emits the events of one step only where none of them is refused. */
  private gather(emit: Emit, step: (held: Emit) => void): void {
    const held: StreamEvent[] = []
    step((event) => held.push(event))
    this.settle()
    for (const event of held) emit(event)
  }

  private take(event: StreamEvent, emit: Emit): void {
    switch (event.type) {
      case 'block-start':
        this.start(event, emit)
        return
      case 'block-delta':
        this.delta(event, emit)
        return
      case 'block-note':
        this.note(event, emit)
        return
      case 'block-end':
        this.end(event, emit)
        return
      case 'end':
      case 'fault':
        this.closeAll(emit)
        emit(event)
        return
      case 'opaque':
        emit({ ...event, of: { ...event.of, data: wholeValue(event.of.data, this.policy, this.findings) } })
        return
      default:
        emit(event)
    }
  }

  private start(event: BlockStart, emit: Emit): void {
    const kin = KIN[event.kind]
    if (kin !== undefined) {
      this.kin.set(event.block, kin)
      this.saying(kin, event.block, emit).place(event, this.withoutStaleSignatures(emit))
      return
    }
    this.closeText(emit)
    if (event.kind === 'call') this.calls.set(event.block, new ArgsStream(this.policy, this.findings))
    const { of } = event
    emit(of === undefined ? event : { ...event, of: { ...of, data: wholeValue(of.data, this.policy, this.findings) } })
  }

  private delta(event: Extract<StreamEvent, { type: 'block-delta' }>, emit: Emit): void {
    const { block, text } = event
    const call = this.calls.get(block)
    const kin = this.kin.get(block)
    if (call) {
      const left = call.push(text)
      if (left !== '') emit(left === text ? event : { ...event, text: left })
    } else if (kin !== undefined) this.saying(kin, block, emit).push(text, this.withoutStaleSignatures(emit))
    else emit(event)
  }

  private note(event: BlockNote, emit: Emit): void {
    const { block, note } = event
    // They spell the text as it was.
    if (note === 'logprobs' && this.policy.rewrites) return
    const own = hasTexts(note) ? { ...event, data: wholeValue(event.data, this.policy, this.findings) } : event
    const last = this.withoutStaleSignatures(emit)
    if (this.running?.blocks.has(block)) this.running.buffer.place(own, last)
    else last(own)
  }

  private end(event: Extract<StreamEvent, { type: 'block-end' }>, emit: Emit): void {
    const { block } = event
    const call = this.calls.get(block)
    if (call) {
      const left = call.end()
      this.calls.delete(block)
      if (left !== '') emit({ type: 'block-delta', block, text: left })
    }
    this.kin.delete(block)
    if (this.running?.blocks.has(block)) this.running.buffer.place(event, this.withoutStaleSignatures(emit))
    else emit(event)
  }

  /** Leaves out signatures and encrypted forms of what was altered. */
  private withoutStaleSignatures(emit: Emit): Emit {
    return (event) => {
      const signature = event.type === 'block-note' && (event.note === 'signature' || event.note === 'encrypted')
      if (!signature || !this.altered.has(event.block)) emit(event)
    }
  }

  /** The text that a block belongs to: the running one where it is kin. */
  private saying(kin: string, block: number, emit: Emit): RedactionBuffer {
    if (this.running?.kin !== kin) this.closeText(emit)
    this.running ??= {
      kin,
      buffer: new RedactionBuffer(block, { policy: this.policy, findings: this.findings, changed: (each) => this.altered.add(each) }),
      blocks: new Set(),
    }
    this.running.blocks.add(block)
    return this.running.buffer
  }

  private closeText(emit: Emit): void {
    this.running?.buffer.end(this.withoutStaleSignatures(emit))
    this.running = undefined
  }

  private closeAll(emit: Emit): void {
    this.closeText(emit)
    for (const [block, call] of this.calls) {
      const left = call.end()
      if (left !== '') emit({ type: 'block-delta', block, text: left })
    }
    this.calls.clear()
  }

  /** @throws Fault where a rule blocks. */
  private settle(): void {
    this.measure()
    if (!this.findings.blocked) return
    this.refusal = answerFault(this.findings.hits.values())
    this.report()
    if (this.refusal) throw this.refusal
  }

  private measure(): void {
    let held = this.running?.buffer.held ?? 0
    for (const call of this.calls.values()) held += call.held
    this.most = Math.max(this.most, held)
    if (!this.exchange.head.wantsMetadata) return
    const now = this.exchange.head.clock.monotonic()
    if (this.since !== undefined) this.longest = Math.max(this.longest, now - this.since)
    this.since = held > 0 ? now : undefined
  }

  /** Brings the stages up to date: one set for all turns. */
  private report(): void {
    const { exchange, stages } = this
    for (const stage of stages) {
      const at = exchange.history.stages.indexOf(stage)
      if (at !== -1) exchange.history.stages.splice(at, 1)
    }
    const held: Held = { bytes: this.most, ...(exchange.request.stream ? { ms: Math.round(this.longest) } : {}) }
    this.stages = answerStages(this.findings.hits.values(), held)
    if (this.stages.length === 0 && exchange.head.wantsMetadata) this.stages = [readStage(held)]
    exchange.history.stages.push(...this.stages)
  }
}

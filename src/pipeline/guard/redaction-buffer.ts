/** One text of an answer that may go over several blocks: what is decided of it goes on, in its blocks. */
import type { StreamEvent } from '../../dialects/canon/events.ts'
import { type AnswerPolicy, type Findings, redacted, type Span, TextStream } from '../../guardrails/index.ts'

type Emit = (event: StreamEvent) => void

export class RedactionBuffer {
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

  /** What is hidden stands where it begins; of what goes over a border nothing is left behind it. */
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

/** Replaces the text of an answer by its mended form, event by event. */
import { type Json, type JsonObject, type Stage, type StreamEvent, schemaFit, type Tap } from '../../src/plugin-api/index.ts'
import { type Healer, StreamHealer, WholeHealer } from './healers.ts'

/** Characters; whether a longer answer is JSON is not reported, since parsing it would hold up other requests. */
const MAX_CHECK_LENGTH = 1024 * 1024

type Emit = (event: StreamEvent) => void

export interface HealingFacts {
  mode: 'json_object' | 'json_schema'
  schema: JsonObject | undefined
  stream: boolean
  stages: Stage[]
}

/** One answer: a text block, or several that follow each other within one message. */
interface Answer {
  healer: Healer
  /** The text block that came last, and its message. */
  block: number
  item: string | undefined
  /** True while that block stands open. */
  open: boolean
  came: string
  left: string
  /** The longest text that was held at once: its place in what came. */
  longest: { length: number; end: number }
}

export class HealingTap implements Tap {
  readonly mode = 'mutate'
  private readonly facts: HealingFacts
  private answer: Answer | undefined
  private stage: Stage | undefined
  /** Events behind text that is not settled. */
  private queue: StreamEvent[] = []

  constructor(facts: HealingFacts) {
    this.facts = facts
  }

  push(event: StreamEvent, emit: Emit): void {
    if (event.type === 'block-start' && event.kind === 'text') this.begin(event, emit)
    else if (event.type === 'block-delta' && this.isOpen(event.block)) this.heal(event, emit)
    else if (event.type === 'block-end' && this.isOpen(event.block)) this.end(event, emit)
    else {
      const { answer } = this
      if (event.type === 'end') this.close(event.reason === 'stop' || event.reason === 'tool_calls', emit)
      else if (event.type === 'fault') this.close(false, emit)
      else if (event.type === 'block-start' && answer && !answer.open) this.close(true, emit)
      if (this.queue.length > 0 && event.type !== 'usage') this.queue.push(event)
      else emit(event)
    }
  }

  /** The answer broke off: what is held of it goes out as it stands. */
  finish(emit: Emit): void {
    this.close(false, emit)
  }

  private isOpen(block: number): boolean {
    return this.answer?.open === true && this.answer.block === block
  }

  private begin(event: Extract<StreamEvent, { type: 'block-start' }>, emit: Emit): void {
    const { block, item } = event
    if (this.answer && this.answer.item !== item) this.close(true, emit)
    this.release(emit)
    if (this.answer) Object.assign(this.answer, { block, open: true })
    else {
      const healer = this.facts.stream ? new StreamHealer() : new WholeHealer()
      this.answer = { healer, block, item, open: true, came: '', left: '', longest: { length: 0, end: 0 } }
    }
    emit(event)
  }

  private heal(event: Extract<StreamEvent, { type: 'block-delta' }>, emit: Emit): void {
    const { answer } = this
    if (!answer) return
    answer.came += event.text
    const text = answer.healer.push(event.text)
    const { heldLength } = answer.healer
    if (heldLength > answer.longest.length) answer.longest = { length: heldLength, end: answer.came.length }
    if (text === '') return
    answer.left += text
    emit(text === event.text ? event : { ...event, text })
  }

  /** The next event shows whether the answer is whole. */
  private end(event: StreamEvent, emit: Emit): void {
    if (this.answer) this.answer.open = false
    if (this.answer?.healer.settled) emit(event)
    else this.queue.push(event)
  }

  /** @param whole the answer is complete, not cut off. */
  private close(whole: boolean, emit: Emit): void {
    const { answer } = this
    this.answer = undefined
    if (answer) {
      const text = whole ? answer.healer.finish() : answer.healer.cut()
      answer.left += text
      if (text !== '') emit({ type: 'block-delta', block: answer.block, text })
      this.report(answer, whole)
    }
    this.release(emit)
  }

  private release(emit: Emit): void {
    const { queue } = this
    this.queue = []
    for (const event of queue) emit(event)
  }

  private report({ came, left, longest }: Answer, whole: boolean): void {
    if (came === '') return
    const { mode, schema, stages, stream } = this.facts
    const long = left.length > MAX_CHECK_LENGTH
    const value = long ? undefined : parsed(left)
    const data: JsonObject = {
      mode,
      improved: whole && (long || value !== undefined) && came !== left && (long || parsed(came) === undefined),
      ...(long ? {} : { valid: value !== undefined }),
      original_length: came.length,
      healed_length: left.length,
    }
    if (stream) data.held_bytes = Buffer.byteLength(came.slice(longest.end - longest.length, longest.end))
    if (!whole) data.truncated = true
    const fit = schema && value !== undefined ? schemaFit(schema, value) : undefined
    if (fit) data.schema_valid = fit.fits
    if (fit?.path !== undefined) data.schema_path = fit.path
    this.addStage(data, stages)
  }

  /** One stage for the whole request: of several answers it shows the last one, whether any was mended, and the most that was held. */
  private addStage(data: JsonObject, stages: Stage[]): void {
    const { stage } = this
    if (!stage) {
      this.stage = { type: 'response_healing', name: 'response-healing', data }
      stages.push(this.stage)
      return
    }
    const before = stage.data ?? {}
    stage.data = { ...data, improved: before.improved === true || data.improved === true }
    if (data.held_bytes !== undefined) stage.data.held_bytes = Math.max(Number(before.held_bytes), Number(data.held_bytes))
  }
}

/** undefined where the text is no JSON; `null` is JSON. */
function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

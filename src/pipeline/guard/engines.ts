/** Engines of guardrails outside the gateway: one is sent texts of a request or of an answer, and what it has not seen of an answer is held. */
import { asFault, Fault } from '../../core/faults.ts'
import { isObject, type Json } from '../../core/json.ts'
import { hasTexts, type StreamEvent } from '../../dialects/canon/events.ts'
import {
  answerEngineFault,
  type EngineQuestion,
  type EngineVerdict,
  engineFault,
  engineStage,
  isMedia,
  jsonTexts,
  legible,
  ofAnswer,
  silentStage,
  withTexts,
} from '../../guardrails/index.ts'
import type { Tap } from '../../plugin-api/index.ts'
import type { Routed } from '../exchange.ts'
import { endedEarly } from '../reply/final-fault.ts'
import type { GuardrailSetting } from './guardrail-setting.ts'

/**
 * Adds the stage that reports the call.
 * @returns undefined where the engine found nothing, or did not answer and need not.
 * @throws Fault 403 where it blocks, 503 where it did not answer and the guardrail is closed.
 */
export async function askEngine(
  exchange: Routed,
  guardrail: GuardrailSetting,
  texts: readonly string[],
  direction: EngineQuestion['direction'],
): Promise<EngineVerdict | undefined> {
  const { engine, name } = guardrail
  const distinct = [...new Set(texts)]
  if (!engine || distinct.length === 0) return undefined
  const {
    head: { clock, cancel },
    auth: { key },
    demand: { requested },
    history: { stages },
  } = exchange
  const question = { texts: distinct, guardrail: name, key: key.name, model: requested, direction }
  const context = { clock, onAbort: (fn: () => void) => cancel.onAbort(fn) }
  const step = exchange.history.begin({ kind: 'guardrail', name, started: clock.monotonic() })
  const verdict = await engine.ask(question, context).catch((cause: unknown) => {
    step.ended = clock.monotonic()
    step.failure = 'unanswered'
    if (cancel.aborted) throw endedEarly(exchange, [])
    const silent = silentStage(guardrail, engine)
    stages.push(direction === 'output' ? ofAnswer(silent, []) : silent)
    if (engine.open) return undefined
    throw new Fault('unavailable', { message: `The engine of the guardrail ${name} did not answer, and nothing passes without it`, cause })
  })
  if (step.ended === 0) step.ended = clock.monotonic()
  const stage = verdict && engineStage(guardrail, engine, verdict)
  if (!verdict || !stage) return undefined
  stages.push(direction === 'output' ? ofAnswer(stage, verdict.entities) : stage)
  const fault = direction === 'output' ? answerEngineFault(verdict, name) : engineFault(verdict, { guardrail: name, model: requested })
  if (fault) throw fault
  return verdict
}

type Emit = (event: StreamEvent) => void

/** Characters of a stream's block that are sent to an engine before the block ends. */
const SLICE = 16_384
/** Characters up to which the arguments of a tool are sent whole. */
const MAX_ARGS_LENGTH = 262_144
/** Characters that wait behind a call of an engine; more are not read from the provider. */
const CROWDED = 65_536

interface Answered {
  /** Events have been released outside of a push. */
  released(): void
  failed(fault: Fault): void
}

/** Sends an answer to engines: what they have not seen is held. */
export class AnswerEngines implements Tap {
  readonly mode = 'mutate'
  refusal: Fault | undefined
  /** Settles, never rejecting, once no engine is called any more. */
  pending: Promise<void> | undefined
  private readonly exchange: Routed
  private readonly guardrails: readonly GuardrailSetting[]
  private readonly answered: Answered
  private emit: Emit = () => {}
  private queue: StreamEvent[] = []
  private size = 0
  private due = false
  private readonly calls = new Set<number>()

  constructor(exchange: Routed, guardrails: readonly GuardrailSetting[], answered: Answered) {
    this.exchange = exchange
    this.guardrails = guardrails
    this.answered = answered
  }

  /** More waits than should. */
  get crowded(): boolean {
    return this.pending !== undefined && this.size > CROWDED
  }

  push(event: StreamEvent, emit: Emit): void {
    this.emit = emit
    if (event.type === 'usage' || event.type === 'start') {
      emit(event)
      return
    }
    this.queue.push(event)
    if (event.type === 'block-delta') this.size += event.text.length
    else if (event.type === 'block-start' && event.kind === 'call') this.calls.add(event.block)
    const call = event.type === 'block-delta' && this.calls.has(event.block)
    // An answer that does not stream is sent as a whole.
    const enough = this.exchange.request.stream && (event.type === 'block-end' || this.size >= (call ? MAX_ARGS_LENGTH : SLICE))
    if (enough || event.type === 'end' || event.type === 'fault') this.ask()
  }

  finish(emit: Emit): void {
    this.emit = emit
    if (this.queue.length > 0) this.ask()
  }

  private ask(): void {
    this.due = true
    if (this.refusal) return
    this.pending ??= this.questions()
  }

  private async questions(): Promise<void> {
    // What stands in the same batch belongs to the question.
    await Promise.resolve()
    try {
      while (this.due && !this.refusal) {
        const { queue } = this
        this.due = false
        this.queue = []
        this.size = 0
        for (const event of await this.read(queue)) this.emit(event)
        this.answered.released()
      }
    } catch (thrown) {
      const fault = asFault(thrown)
      if (fault.code === 'guardrail_blocked') this.refusal = fault
      this.queue = []
      this.due = false
      this.answered.failed(fault)
    } finally {
      this.pending = undefined
    }
  }

  /** One engine after the other: each reads what the one before has left. */
  private async read(events: readonly StreamEvent[]): Promise<readonly StreamEvent[]> {
    let left = events
    for (const guardrail of this.guardrails) {
      const streamed = eventTexts(left)
      const texts = [...streamed.values()].flatMap((text) => [...this.contentTexts(text)])
      for (const event of left)
        for (const data of eventData(event)) for (const text of jsonTexts(data)) if (!isMedia(text)) texts.push(legible(text).text)
      const sent = texts.filter((text) => text.trim() !== '' && !isMedia(text))
      const verdict = await askEngine(this.exchange, guardrail, sent, 'output')
      if (verdict && verdict.replaced.size > 0) left = this.rewritten(left, streamed, verdict.replaced)
    }
    return left
  }

  /** The texts of arguments that are JSON; any other text itself. */
  private *contentTexts({ text, block }: StreamedText): Generator<string> {
    const value = this.calls.has(block) ? parsed(text) : undefined
    if (value === undefined) yield text
    else yield* jsonTexts(value)
  }

  private rewritten(
    events: readonly StreamEvent[],
    streamed: ReadonlyMap<number, StreamedText>,
    replaced: ReadonlyMap<string, string>,
  ): StreamEvent[] {
    const replace = (text: string): string | undefined => replaced.get(text)
    const replaceIn = (source: string): string | undefined => {
      const { text, whole } = legible(source)
      const found = replaced.get(text)
      return found === undefined ? undefined : whole(found)
    }
    const other = new Map<number, string>()
    for (const { block, text } of streamed.values()) {
      const value = this.calls.has(block) ? parsed(text) : undefined
      const changed = value === undefined ? replace(text) : JSON.stringify(withTexts(value, replace))
      if (changed !== undefined && changed !== text && (value === undefined || withTexts(value, replace) !== value))
        other.set(block, changed)
    }
    const emitted = new Set<number>()
    return events.flatMap((event): StreamEvent[] => {
      if ((event.type === 'block-start' || event.type === 'opaque') && event.of)
        return [{ ...event, of: { ...event.of, data: withTexts(event.of.data, replaceIn) } }]
      if (event.type !== 'block-delta' && event.type !== 'block-note') return [event]
      const text = other.get(event.block)
      if (event.type === 'block-note') {
        if (hasTexts(event.note)) return [{ ...event, data: withTexts(event.data, replaceIn) }]
        // What spells or signs the text as it was does not fit it any more.
        return text === undefined ? [event] : []
      }
      if (text === undefined) return [event]
      if (emitted.has(event.block)) return []
      emitted.add(event.block)
      return text === '' ? [] : [{ ...event, text }]
    })
  }
}

interface StreamedText {
  readonly block: number
  text: string
}

function eventTexts(events: readonly StreamEvent[]): Map<number, StreamedText> {
  const streamed = new Map<number, StreamedText>()
  for (const event of events) {
    if (event.type !== 'block-delta') continue
    const known = streamed.get(event.block)
    if (known) known.text += event.text
    else streamed.set(event.block, { block: event.block, text: event.text })
  }
  return streamed
}

function* eventData(event: StreamEvent): Generator<Json> {
  if ((event.type === 'block-start' || event.type === 'opaque') && event.of) yield event.of.data
  else if (event.type === 'block-note' && hasTexts(event.note)) yield event.data
}

function parsed(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) || Array.isArray(value) ? (value as Json) : undefined
  } catch {
    return undefined
  }
}

/** The chunks of an OpenAI-compatible stream as canonical events. */
import { Fault } from '../../core/faults.ts'
import { escapesLetters, isObject, type JsonObject, parseJson } from '../../core/json.ts'
import { laterWord } from '../canon/ends.ts'
import { type End, type EndReason, MEMBERS, type StreamEvent } from '../canon/events.ts'
import { onlyChoice } from '../canon/places.ts'
import { noteTier, type TierReport, tierBesideUsage } from '../canon/served-tier.ts'
import { type Usage, withSearches } from '../canon/usage.ts'
import { LikeFrames, type Varying } from '../sse/like-frames.ts'
import type { StreamDecoder } from '../types.ts'
import { DeltaReader } from './decode-delta.ts'
import { choiceEnd, eventFault, faultIn, stopText, unify } from './ends.ts'
import { ReplyIdentity, ReplyMembers } from './reply.ts'
import { RunningUsage } from './running-usage.ts'
import type { Sources } from './sources.ts'
import { usageIn } from './usage.ts'
import { WIRE } from './wire.ts'

/** OpenAI pads chunks, so that their length says nothing of the answer (openai 7.55.0, `stream_options.include_obfuscation`). */
const VARYING: readonly Varying[] = [{ name: 'obfuscation', last: true }]

/** The text of a chunk with one choice. */
function firstContent({ choices }: JsonObject): unknown {
  const [choice] = Array.isArray(choices) && choices.length === 1 ? choices : []
  return isObject(choice) && isObject(choice.delta) ? choice.delta.content : undefined
}

/** Of a word alone: whether there are calls is known at the end. */
const toEndReason = (word: string): EndReason => unify(word, false)

export class ChatStreamDecoder implements StreamDecoder {
  private readonly sources: Sources
  private readonly deltas: DeltaReader
  private readonly like = new LikeFrames(VARYING)
  private started = false
  private finished: string | undefined
  private stopped: string | undefined
  private usage: Usage | undefined
  private tier: TierReport | undefined
  private fingerprint: string | undefined
  private readonly members = new ReplyMembers()
  private readonly identity = new ReplyIdentity()
  private over = false
  private readonly isWhole: boolean
  readonly running: RunningUsage | undefined

  /**
   * @param isWhole true for a reply that has come as one: it is complete even where it names no reason.
   * @param way in which the provider is requested to count along: the quirk `running_usage`.
   */
  constructor(sources: Sources, { isWhole = false, way }: { isWhole?: boolean; way?: string | undefined } = {}) {
    this.sources = sources
    this.deltas = new DeltaReader(sources)
    this.isWhole = isWhole
    if (way !== undefined) this.running = new RunningUsage(way)
  }

  feed(whole: string, event: string | undefined, out: StreamEvent[]): void {
    const data = this.running ? this.running.strip(whole) : whole
    if (this.over) {
      this.late(data, out)
      return
    }
    if (data === '[DONE]') {
      this.complete(out, true)
      return
    }
    const like = event === 'error' ? undefined : this.like.read(data)
    if (like) {
      if (like.type === 'block-delta') this.deltas.passed(like.text)
      out.push(like)
      return
    }
    const chunk = parseJson(data)
    if (!isObject(chunk)) {
      this.fail(event === 'error' ? eventFault(data) : new Fault('upstream_garbled'), out)
      return
    }
    this.running?.take(chunk)
    const before = out.length
    this.chunk(chunk, out, event)
    // Until two chunks in a row have had one id, each of them changes what is known of it.
    const text = this.identity.steady || typeof chunk.id !== 'string' ? firstContent(chunk) : undefined
    this.like.learn(data, text, out.length === before + 1 ? out[before] : undefined)
  }

  /** One parsed chunk, or a whole reply made into one. */
  chunk(chunk: JsonObject, out: StreamEvent[], event?: string): void {
    const fault = faultIn(chunk, event)
    if (fault) {
      this.fail(fault, out)
      return
    }
    const { model, system_fingerprint: fingerprint } = chunk
    if (typeof fingerprint === 'string') this.fingerprint = fingerprint
    if (!this.started) {
      this.started = true
      const start: StreamEvent = { type: 'start' }
      if (typeof model === 'string') start.model = model
      if (this.fingerprint !== undefined) start.fingerprint = this.fingerprint
      out.push(start)
    }
    this.tier = tierBesideUsage(chunk) ?? this.tier
    this.beside(this.members.read(chunk), out)
    this.sources.readReply(chunk)
    const choice = onlyChoice(chunk.choices)
    if (this.identity.isAnother(chunk, choice?.delta, this.deltas.hasBegun)) {
      this.fail(new Fault('upstream_garbled'), out)
      return
    }
    if (choice) this.choice(choice, chunk, out)
    if (this.over) return
    const usage = this.counted(usageIn(chunk, this.usage))
    if (usage) {
      this.usage = usage
      out.push({ type: 'usage', usage })
    }
    // Only usage follows a finish, and it has come: the end need not wait for `[DONE]`.
    if (this.finished !== undefined && this.usage) this.complete(out, false)
  }

  /** Reads a report of usage that comes after the end: reports are cumulative, so a later one replaces the earlier. */
  private late(data: string, out: StreamEvent[]): void {
    if (this.usage === undefined || !(data.includes('"usage"') || escapesLetters(data))) return
    try {
      const chunk: unknown = JSON.parse(data)
      const usage = isObject(chunk) ? this.counted(usageIn(chunk, this.usage)) : undefined
      if (usage) out.push({ type: 'usage', usage })
    } catch {
      // The answer is complete without this report.
    }
  }

  /** With the searches that the reply has shown. */
  private counted(usage: Usage | undefined): Usage | undefined {
    return usage && withSearches(usage, this.sources.searches)
  }

  end(out: StreamEvent[]): void {
    if (!this.over) this.complete(out, false)
  }

  private choice(choice: JsonObject, chunk: JsonObject, out: StreamEvent[]): void {
    // Some servers write the last chunk as a whole reply, with `message`.
    const delta = choice.delta ?? (this.deltas.hasBegun ? undefined : choice.message)
    if (isObject(delta)) this.deltas.read(delta, choice.logprobs, out)
    const { word, fault } = choiceEnd(choice, chunk)
    if (fault) this.fail(fault, out)
    else if (word !== undefined) this.finished = laterWord(this.finished, word, toEndReason)
    this.stopped = stopText(choice, word) ?? this.stopped
  }

  /** @param done true where the provider itself marked the end. */
  private complete(out: StreamEvent[], done: boolean): void {
    // A call of which nothing says that it is complete was interrupted.
    if (this.finished === undefined && !(done && this.started && (this.isWhole || !this.deltas.hasCalls))) {
      this.fail(new Fault(this.started ? 'upstream_cut' : 'upstream_empty'), out)
      return
    }
    this.over = true
    this.deltas.close(out)
    this.beside(this.members.end(), out)
    const { isPaused } = this.deltas
    const end: End = isPaused ? { reason: 'stop', paused: true } : { reason: unify(this.finished ?? 'stop', this.deltas.hasCalls) }
    if (this.finished !== undefined) end.raw = this.finished
    if (this.stopped !== undefined) end.sequence = this.stopped
    noteTier(end, this.tier)
    this.deltas.strange.addTo(end)
    if (this.fingerprint !== undefined) end.fingerprint = this.fingerprint
    out.push({ type: 'end', ...end })
  }

  private beside(data: JsonObject | undefined, out: StreamEvent[]): void {
    if (data) out.push({ type: 'opaque', of: { dialect: WIRE, type: MEMBERS, data } })
  }

  private fail(fault: Fault, out: StreamEvent[]): void {
    this.over = true
    out.push({ type: 'fault', fault })
  }
}

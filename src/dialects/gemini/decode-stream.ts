/** The frames of `streamGenerateContent` as canonical events: each is a whole `GenerateContentResponse` with the next parts. */
import { createHash } from 'node:crypto'
import { Fault, unreadable } from '../../core/faults.ts'
import { asObjects, asString, isObject, type Json, type JsonObject, parseJson } from '../../core/json.ts'
import { endWord, failedEnd, laterWord } from '../canon/ends.ts'
import { isBadBase, isSet, looksFailed } from '../canon/error-shape.ts'
import type { End, StreamEvent } from '../canon/events.ts'
import { onlyChoice } from '../canon/places.ts'
import { noteTier, type TierReport } from '../canon/served-tier.ts'
import { NO_REPORT, type Usage, withSearches } from '../canon/usage.ts'
import { LikeFrames } from '../sse/like-frames.ts'
import type { StreamDecoder } from '../types.ts'
import { Citations } from './citations.ts'
import { PartReader } from './decode-parts.ts'
import { toEndReason, unify } from './ends.ts'
import { decodeFault } from './fault.ts'
import { decodeTier, decodeUsage, leavesOutOutput } from './usage.ts'

const NONE: JsonObject = {}
/** Members of which a reply that is no error has one (`GenerateContentResponse`, npm @google/genai 3.3.0). */
const SAYS = ['candidates', 'promptFeedback', 'usageMetadata'] as const
/** Defaults of the enumerations, which say nothing (`FinishReason` and `BlockedReason` of the same; the REST reference has `BLOCK_…`). */
const UNSPECIFIED = 'FINISH_REASON_UNSPECIFIED'
const NOT_BLOCKED: ReadonlySet<string> = new Set(['BLOCKED_REASON_UNSPECIFIED', 'BLOCK_REASON_UNSPECIFIED', '0'])
const SAFE_WORD = /^[A-Z][A-Z_]{0,63}$/

/** Members of a candidate and of its part, in frames that bring nothing but their text and a report of usage. */
const PLAIN_CANDIDATE: ReadonlySet<string> = new Set(['content', 'index', 'safetyRatings', 'avgLogprobs', 'tokenCount'])
const PLAIN_PART: ReadonlySet<string> = new Set(['text', 'thought'])

/** The text of a reply that brings nothing but it. */
function replyText(reply: unknown): unknown {
  const { candidates } = isObject(reply) ? reply : NONE
  const [candidate] = Array.isArray(candidates) && candidates.length === 1 ? candidates : []
  if (!isObject(candidate) || !Object.keys(candidate).every((name) => PLAIN_CANDIDATE.has(name))) return undefined
  const parts = isObject(candidate.content) ? candidate.content.parts : undefined
  const [part] = Array.isArray(parts) && parts.length === 1 ? parts : []
  return isObject(part) && Object.keys(part).every((name) => PLAIN_PART.has(name)) ? part.text : undefined
}

export class GeminiStreamDecoder implements StreamDecoder {
  private readonly citations = new Citations()
  private readonly parts = new PartReader(this.citations, (index) => `call_${this.turnId()}_${index}`)
  private readonly like = new LikeFrames([], 'usageMetadata')
  private started = false
  private answered = false
  private over = false
  private finishReason: string | undefined
  /** A candidate has ended without a reason; streams have such a candidate before the end as well. */
  private isUnspecified = false
  private tier: TierReport | undefined
  /** The last report of usage. */
  private reported: Usage | undefined
  private searches = 0
  private responseId: string | undefined
  /** The reply that is being read, for calls without an identifier in replies without one. */
  private current: JsonObject = {}

  feed(data: string, event: string | undefined, out: StreamEvent[]): void {
    if (this.over || data === '[DONE]') return
    const like = this.like.read(data)
    if (like?.type === 'block-delta') {
      this.parts.more(like.text)
      out.push(like)
      this.usage(this.like.counts, out)
      return
    }
    const value = parseJson(data)
    const before = out.length
    if (event === 'error') this.fail(decodeFault(200, isObject(value) ? value : undefined), out)
    for (const reply of Array.isArray(value) && value.length > 0 ? value : [value]) this.reply(reply, out)
    // A report of usage behind the text is made of each frame's own counts.
    const isAlone = out.length === before + 1 || (out.length === before + 2 && out[before + 1]?.type === 'usage')
    this.like.learn(data, replyText(value), isAlone ? out[before] : undefined)
  }

  /** One parsed reply, or a part of one. What cannot be read becomes a fault. */
  reply(reply: unknown, out: StreamEvent[]): void {
    if (this.over) return
    try {
      if (isObject(reply)) this.read(reply, out)
      else this.fail(new Fault('upstream_garbled'), out)
    } catch (cause) {
      // Arguments that are nested deeper than can be written again.
      this.fail(unreadable(cause), out)
    }
  }

  /** There is no end mark: the answer is whole if a finish reason has come. */
  end(out: StreamEvent[]): void {
    if (this.over) return
    if (this.finishReason === undefined) this.fail(new Fault(this.started ? 'upstream_cut' : 'upstream_empty'), out)
    else this.complete(this.finishReason, out)
  }

  /** A whole reply is complete even where it names no reason. */
  endWhole(out: StreamEvent[]): void {
    if (this.over) return
    if (this.answered) this.complete(this.finishReason ?? (this.isUnspecified ? UNSPECIFIED : undefined), out)
    else this.fail(new Fault('upstream_empty'), out)
  }

  private read(reply: JsonObject, out: StreamEvent[]): void {
    if (isSet(reply.error) || (!SAYS.some((name) => isSet(reply[name])) && (looksFailed(reply) || isBadBase(reply)))) {
      this.fail(decodeFault(200, reply), out)
      return
    }
    const { responseId } = reply
    if (typeof responseId === 'string' && this.responseId !== undefined && responseId !== this.responseId) {
      // Another answer begins: what came so far is none that could be finished.
      this.fail(new Fault('upstream_garbled'), out)
      return
    }
    this.responseId ??= asString(responseId)
    this.current = reply
    if (!this.started) {
      this.started = true
      out.push(typeof reply.modelVersion === 'string' ? { type: 'start', model: reply.modelVersion } : { type: 'start' })
    }
    const { candidates = null } = reply
    if (candidates !== null && !Array.isArray(candidates)) {
      this.fail(new Fault('upstream_garbled'), out)
      return
    }
    const candidate = onlyChoice(candidates ?? undefined)
    this.blocked(reply.promptFeedback, out)
    if (candidate && !this.over) this.candidate(candidate, out)
    if (!this.over) this.usage(reply.usageMetadata, out)
  }

  /** A prompt that was refused has no candidates: what comes beside such feedback is no answer. */
  private blocked(feedback: Json | undefined, out: StreamEvent[]): void {
    const reason = isObject(feedback) ? endWord(feedback.blockReason) : undefined
    if (reason === undefined || NOT_BLOCKED.has(reason)) return
    this.fail(new Fault('upstream_policy', { metadata: SAFE_WORD.test(reason) ? { provider_code: reason } : {} }), out)
  }

  private candidate(candidate: JsonObject, out: StreamEvent[]): void {
    const parts = isObject(candidate.content) ? (candidate.content.parts ?? []) : []
    if (!Array.isArray(parts) || !parts.every((part) => isObject(part) && this.parts.read(part, out))) {
      this.fail(new Fault('upstream_garbled'), out)
      return
    }
    this.answered = true
    if (isObject(candidate.logprobsResult)) {
      const content = logprobEntries(candidate.logprobsResult)
      if (content.length > 0) this.parts.logprobs(content, out)
    }
    const { groundingMetadata: grounding, citationMetadata: citations, finishReason: reason } = candidate
    if (isObject(grounding)) {
      this.citations.addGrounding(grounding)
      if (Array.isArray(grounding.webSearchQueries)) this.searches = Math.max(this.searches, grounding.webSearchQueries.length)
    }
    if (isObject(citations)) this.citations.addCitations(citations)
    const word = endWord(reason)
    if (word === UNSPECIFIED) this.isUnspecified = true
    else if (word !== undefined) this.finishReason = laterWord(this.finishReason, word, toEndReason)
  }

  private usage(metadata: Json | undefined, out: StreamEvent[]): void {
    this.tier = decodeTier(metadata) ?? this.tier
    const { reported = NO_REPORT, searches } = this
    const counted = decodeUsage(metadata, this.reported)
    // A count of zero is left out, as in all JSON of protocol buffers: at the end it is one. What is there and no count stays unknown.
    if (this.finishReason !== undefined && leavesOutOutput(metadata)) delete counted?.outputUnknown
    const usage = withSearches(counted ?? reported, searches)
    // Sources come with their searches, before any report or with one.
    if (usage === reported) return
    this.reported = usage
    out.push({ type: 'usage', usage })
  }

  private complete(raw: string | undefined, out: StreamEvent[]): void {
    const reason = unify(raw ?? 'STOP', this.parts.hasCalls)
    if (reason === 'error') {
      this.fail(failedEnd(raw), out)
      return
    }
    if (this.parts.isWithinCall && reason !== 'length') {
      this.fail(new Fault('upstream_garbled'), out)
      return
    }
    this.over = true
    this.parts.finish(out)
    const end: End = { reason }
    if (raw !== undefined) end.raw = raw
    noteTier(end, this.tier)
    this.parts.strange.addTo(end)
    out.push({ type: 'end', ...end })
  }

  private fail(fault: Fault, out: StreamEvent[]): void {
    this.over = true
    out.push({ type: 'fault', fault })
  }

  /** Unique over the turns of a conversation, and the same however the bytes came. */
  private turnId(): string {
    const given = this.responseId?.replace(/[^\w-]/g, '')
    return given || createHash('sha256').update(JSON.stringify(this.current)).digest('base64url').slice(0, 22)
  }
}

function entry(candidate: JsonObject): JsonObject {
  const token = typeof candidate.token === 'string' ? candidate.token : ''
  const logprob = typeof candidate.logProbability === 'number' ? candidate.logProbability : 0
  return { token, logprob, bytes: [...Buffer.from(token, 'utf8')] }
}

/**
 * `logprobsResult` of a candidate as logprob entries of the contract.
 * One entry per decoding step: the chosen token and the likeliest ones.
 */
function logprobEntries(result: JsonObject): JsonObject[] {
  const tops = Array.isArray(result.topCandidates) ? result.topCandidates : []
  return asObjects(result.chosenCandidates).map((chosen, step) => {
    const top: Json | undefined = tops[step]
    return { ...entry(chosen), top_logprobs: isObject(top) ? asObjects(top.candidates).map(entry) : [] }
  })
}

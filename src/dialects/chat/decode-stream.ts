/** The chunks of an OpenAI-compatible stream as canonical events. */
import { Fault, faultBody } from '../../core/faults.ts'
import { escapesLetters, isObject, type JsonObject } from '../../core/json.ts'
import { type End, type EndReason, MEMBERS, type StreamEvent } from '../canon/events.ts'
import type { Usage } from '../canon/usage.ts'
import { LikeFrames, type Varying } from '../sse/like-frames.ts'
import type { Final, ReplyContext, StreamDecoder } from '../types.ts'
import { DeltaReader } from './decode-delta.ts'
import { decodeFault } from './fault.ts'
import { ReplyIdentity, ReplyMembers } from './reply-members.ts'
import { usageIn, usageText } from './usage.ts'
import { WIRE } from './wire.ts'

/** The error that a chunk or a whole reply carries, whatever its form; undefined where there is none. */
export function faultIn(body: JsonObject): Fault | undefined {
  if (body.error !== undefined && body.error !== null && body.error !== false) return decodeFault(200, body)
  return body.object === 'error' ? decodeFault(200, body) : undefined
}

/** The fault of a choice that ended in an error. */
export function choiceFault(choice: JsonObject): Fault {
  return isObject(choice.error) ? decodeFault(200, { error: choice.error }) : decodeFault(200, { code: String(choice.finish_reason) })
}

/** OpenAI pads chunks, so that their length says nothing of the answer (openai 7.55.0, `stream_options.include_obfuscation`). */
const VARYING: readonly Varying[] = [{ name: 'obfuscation', last: true }]

/** The text of a chunk with one choice. */
function contentOf({ choices }: JsonObject): unknown {
  const [choice] = Array.isArray(choices) && choices.length === 1 ? choices : []
  return isObject(choice) && isObject(choice.delta) ? choice.delta.content : undefined
}

export class ChatStreamDecoder implements StreamDecoder {
  private readonly deltas = new DeltaReader()
  private readonly like = new LikeFrames(VARYING)
  private started = false
  private finished: string | undefined
  private usage: Usage | undefined
  private tier: string | undefined
  private fingerprint: string | undefined
  private readonly members = new ReplyMembers()
  private readonly identity = new ReplyIdentity()
  private over = false

  feed(data: string, _event: string | undefined, out: StreamEvent[]): void {
    if (this.over) {
      this.late(data, out)
      return
    }
    if (data === '[DONE]') {
      this.complete(out, true)
      return
    }
    const like = this.like.read(data)
    if (like) {
      out.push(like)
      return
    }
    let chunk: unknown
    try {
      chunk = JSON.parse(data)
    } catch {
      this.fail(new Fault('upstream_garbled'), out)
      return
    }
    if (!isObject(chunk)) {
      this.fail(new Fault('upstream_garbled'), out)
      return
    }
    const before = out.length
    this.chunk(chunk, out)
    // Until two chunks in a row have had one id, each of them changes what is known of it.
    const text = this.identity.steady || typeof chunk.id !== 'string' ? contentOf(chunk) : undefined
    this.like.learn(data, text, out.length === before + 1 ? out[before] : undefined)
  }

  /** One parsed chunk, or a whole reply made into one. */
  chunk(chunk: JsonObject, out: StreamEvent[]): void {
    const fault = faultIn(chunk)
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
    this.tier = servedTier(chunk.service_tier) ?? this.tier
    this.beside(this.members.read(chunk), out)
    const choice = Array.isArray(chunk.choices) ? chunk.choices.find((each) => isObject(each) && (each.index ?? 0) === 0) : undefined
    if (this.identity.isAnother(chunk, choice && isObject(choice) ? choice.delta : undefined, this.deltas.hasBegun)) {
      this.fail(new Fault('upstream_garbled'), out)
      return
    }
    if (isObject(choice)) this.choice(choice, out)
    if (this.over) return
    const usage = usageIn(chunk, this.usage)
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
      const usage = isObject(chunk) ? usageIn(chunk, this.usage) : undefined
      if (usage) out.push({ type: 'usage', usage })
    } catch {
      // The answer is complete without this report.
    }
  }

  end(out: StreamEvent[]): void {
    if (!this.over) this.complete(out, false)
  }

  private choice(choice: JsonObject, out: StreamEvent[]): void {
    if (isObject(choice.delta)) this.deltas.read(choice.delta, choice.logprobs, out)
    const reason = choice.finish_reason
    if (typeof reason !== 'string' || reason === '') {
      if (isObject(choice.error)) this.fail(choiceFault(choice), out)
      return
    }
    if (unify(reason, false) === 'error' || isObject(choice.error)) this.fail(choiceFault(choice), out)
    else this.finished = reason
  }

  /** @param done true where the provider itself marked the end. */
  private complete(out: StreamEvent[], done: boolean): void {
    if (this.finished === undefined && !(done && this.started)) {
      this.fail(new Fault(this.started ? 'upstream_cut' : 'upstream_empty'), out)
      return
    }
    this.over = true
    this.deltas.close(out)
    this.beside(this.members.end(), out)
    const end: End = { reason: unify(this.finished ?? 'stop', this.deltas.hasCalls) }
    if (this.finished !== undefined) end.raw = this.finished
    if (this.tier !== undefined) end.tier = this.tier
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

/**
 * The pieces of text that every chunk of a stream to the client is made of.
 * `data: {"id":…,"provider":…` of a chunk: an open object, without the comma that follows.
 */
export function chunkHead(ctx: ReplyContext, created: number): string {
  const provider = ctx.provider === '' ? '' : `,"provider":${JSON.stringify(ctx.provider)}`
  return `data: {"id":${JSON.stringify(ctx.id)},"object":"chat.completion.chunk","created":${created},"model":${JSON.stringify(ctx.model)}${provider}`
}

const DONE = 'data: [DONE]\n\n'

/** Members that only the last chunk has. */
function lastMembers(ctx: ReplyContext, final: Final): string {
  const tier = final.end.tier === undefined ? '' : `,"service_tier":${JSON.stringify(final.end.tier)}`
  const metadata = final.metadata === undefined ? '' : `,${JSON.stringify(`${ctx.brand}_metadata`)}:${JSON.stringify(final.metadata)}`
  return `,"usage":${usageText(final)}${tier}${metadata}}\n\n`
}

/**
 * The end of a stream: finish chunk, usage chunk, `[DONE]`; or one error chunk, `[DONE]`.
 * @param head from `chunkHead`.
 * @param delta JSON text of the finish chunk's delta.
 * @param rest further members of its choice, such as `,"logprobs":{…}`. @param members further members of the usage chunk.
 */
export function closingChunks(
  ctx: ReplyContext,
  final: Final,
  head: string,
  closing: { delta: string; rest: string; members: string },
): string {
  const { reason, raw } = final.end
  const native = JSON.stringify(raw ?? (final.fault ? null : reason))
  if (final.fault) {
    const error = JSON.stringify((faultBody(final.fault) as { error: JsonObject }).error)
    const choice = `{"index":0,"delta":{"content":""},"finish_reason":"error","native_finish_reason":${native}}`
    return `${head},"error":${error},"choices":[${choice}]${closing.members}${lastMembers(ctx, final)}${DONE}`
  }
  const choice = `{"index":0,"delta":${closing.delta},"finish_reason":${JSON.stringify(reason)},"native_finish_reason":${native}${closing.rest}}`
  return `${head},"choices":[${choice}]}\n\n${head},"choices":[]${closing.members}${lastMembers(ctx, final)}${DONE}`
}

/** The chunk that shows what is about to go upstream. */
export function debugChunk(ctx: ReplyContext, upstreamBody: JsonObject): string {
  return `${chunkHead(ctx, ctx.created)},"choices":[],"debug":{"echo_upstream_body":${JSON.stringify(upstreamBody)}}}\n\n`
}

const REASONS: ReadonlyMap<string, EndReason> = new Map([
  ['stop', 'stop'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['max_output_tokens', 'length'],
  ['model_length', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_calls', 'tool_calls'],
  ['tool_use', 'tool_calls'],
  ['function_call', 'tool_calls'],
  ['content_filter', 'content_filter'],
  ['content_filtered', 'content_filter'],
  ['safety', 'content_filter'],
  ['recitation', 'content_filter'],
  ['blocklist', 'content_filter'],
  ['prohibited_content', 'content_filter'],
  ['refusal', 'content_filter'],
  ['error', 'error'],
  ['insufficient_system_resource', 'error'],
])

/**
 * Why a turn ended: providers' words as the five of the wire.
 * An unknown word counts as `stop`; so does a stop behind calls as `tool_calls`, since the caller must act.
 */
export function unify(raw: string, hasCalls: boolean): EndReason {
  const reason = REASONS.get(raw.toLowerCase()) ?? 'stop'
  return reason === 'stop' && hasCalls ? 'tool_calls' : reason
}

const TIERS: ReadonlySet<unknown> = new Set(['default', 'flex', 'priority'])

/** The tier that a provider says it served; undefined for words that name none, such as `auto`. */
export function servedTier(reported: unknown): string | undefined {
  return typeof reported === 'string' && TIERS.has(reported) ? reported : undefined
}

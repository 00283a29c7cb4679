/**
 * A chat reply as callers read it from every provider, in the decoder and in the pass lane alike. Its members: what some write elsewhere or
 * leave empty is put right in place, reasoning stands under both of its names (docs/contract.md#messages), and what the gateway does not pass on at
 * its place goes to the caller with the usage chunk, which it writes itself. And its end, both ways: why, at which tier, or with which fault.
 */
import { faultBody } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { unknownEnd } from '../canon/ends.ts'
import { mendCitations } from '../canon/places.ts'
import { shownTier } from '../canon/served-tier.ts'
import type { Final, ReplyContext } from '../types.ts'
import { nestedAnnotation } from './annotations.ts'
import { Sources } from './sources.ts'
import { usageText } from './usage.ts'

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

function thoughtsIn({ thinking }: JsonObject): string {
  if (!Array.isArray(thinking)) return text(thinking)
  return thinking.map((piece) => (isObject(piece) ? text(piece.text) : '')).join('')
}

/** Types of parts that `joinParts` knows. */
const JOINED: ReadonlySet<unknown> = new Set(['text', 'thinking', 'reference', 'tool_reference'])

/** Without what the request holds nothing is known of the sources of references but their keys. */
const UNKNOWN_SOURCES = new Sources()

/**
 * Content in parts as callers read it of every provider: the text in `content`, the thoughts in `reasoning`, sources in `annotations`.
 * Mistral's models send `ThinkChunk`, `TextChunk` and `ReferenceChunk` there, whole and in deltas.
 * @returns true where there were any: content with any other part stays a list.
 */
export function joinParts(message: JsonObject, content: readonly Json[]): boolean {
  const parts = content.filter(isObject)
  if (parts.length === 0 || !parts.every(({ type }) => JOINED.has(type))) return false
  citeParts(message, parts)
  const thoughts = parts.map((part) => (part.type === 'thinking' ? thoughtsIn(part) : '')).join('')
  message.content = parts.map((part) => (part.type === 'text' ? text(part.text) : '')).join('')
  if (thoughts !== '') message.reasoning = text(message.reasoning) + thoughts
  return true
}

function citeParts(message: JsonObject, parts: readonly JsonObject[]): void {
  let [from, to] = [0, 0]
  for (const part of parts) {
    if (part.type === 'text') to += text(part.text).length
    const found = UNKNOWN_SOURCES.references(part, from, to)
    if (found === undefined) continue
    message.annotations = [
      ...(Array.isArray(message.annotations) ? message.annotations : []),
      ...found.map((flat) => nestedAnnotation(flat)).filter((each) => each !== undefined),
    ]
    from = to
  }
}

const isEmpty = (value: Json | undefined): boolean => value === undefined || value === null || value === '' || value === 0

/**
 * Puts the numbers of a choice and of its message or delta right, in place, and takes out members that hold nothing. Numbers of fragments
 * of calls `ToolCalls` gives.
 * @returns true where it had to.
 */
export function mendChoice(choice: JsonObject, message: JsonObject): boolean {
  const mayDrop = message.function_call !== undefined || message.audio !== undefined
  let isChanged = (mayDrop && dropEmptyMembers(message)) || choice.index !== 0
  choice.index = 0
  for (const list of [message.annotations, message.reasoning_details, message.images])
    if (list !== undefined && mendCitations(list)) isChanged = true
  return isChanged
}

/**
 * Takes members out that hold nothing: servers that answer with the structs of OpenAI's Go SDK (github.com/openai/openai-go,
 * `ChatCompletionMessage`, which has no `omitempty`) send `function_call: {"name": "", "arguments": ""}` and an empty `audio` with every
 * reply, and clients take them for a call without a name and for sound.
 * @returns true where there were any.
 */
export function dropEmptyMembers(message: JsonObject): boolean {
  let isChanged = false
  for (const name of ['function_call', 'audio']) {
    const { [name]: member } = message
    if (member === undefined || !isObject(member) || !Object.values(member).every(isEmpty)) continue
    delete message[name]
    isChanged = true
  }
  return isChanged
}

/**
 * Top-level members of chunks that the gateway sets in every one, or reads; `obfuscation` pads one chunk alone. All others, such as
 * `moderation`, `prompt_filter_results` of Azure or `x_groq`, are not passed on at their place.
 */
const SET: ReadonlySet<string> = new Set([
  'id',
  'object',
  'created',
  'model',
  'provider',
  'choices',
  'usage',
  'service_tier',
  'error',
  'obfuscation',
])

const FINGERPRINT = 'system_fingerprint'

/** Those of a stream that is decoded: each member goes on when it first comes, since a reply may be cut, and in its last form at the end. */
export class ReplyMembers {
  private readonly kept = new Map<string, Json>()
  private changed = false

  /** @returns the members that have not come before. */
  read(chunk: JsonObject): JsonObject | undefined {
    let fresh: JsonObject | undefined
    for (const key in chunk) {
      // The end of a decoded reply has it: no guardrail reads it as words.
      if (SET.has(key) || key === FINGERPRINT) continue
      const value = chunk[key] ?? null
      if (value === null || value === this.kept.get(key)) continue
      if (this.kept.has(key)) this.changed = true
      else {
        fresh ??= {}
        fresh[key] = value
      }
      this.kept.set(key, value)
    }
    return fresh
  }

  /** All of them, where one has changed. */
  end(): JsonObject | undefined {
    return this.changed ? Object.fromEntries(this.kept) : undefined
  }
}

/** Those of a stream whose usage chunk the gateway writes itself: they go to the caller with it. */
export class LateMembers {
  /** Made with the first of them. */
  private members: Map<string, string> | undefined

  /** @param brand before the name of the gateway's own member of the last chunk. */
  keep(chunk: JsonObject, brand: string): void {
    const metadata = `${brand}_metadata`
    for (const key in chunk) {
      const value = chunk[key] ?? null
      if (value === null || key === metadata || SET.has(key)) continue
      this.members ??= new Map()
      this.members.set(key, JSON.stringify(value))
    }
  }

  /** As JSON text behind another member. @param fingerprint of a decoded reply. */
  text(fingerprint?: string): string {
    let text = fingerprint === undefined ? '' : `,"${FINGERPRINT}":${JSON.stringify(fingerprint)}`
    if (this.members) for (const [key, value] of this.members) text += `,${JSON.stringify(key)}:${value}`
    return text
  }
}

/** True if a stream goes on with the answer that it began: providers differ in what they repeat. */
export class ReplyIdentity {
  private id: string | undefined
  /** True once two chunks in a row had one id: some providers give each chunk its own. */
  steady = false

  /** @returns true for the beginning of another answer: another id, and the role again. @param hasContent true once content has come. */
  isAnother({ id }: JsonObject, delta: Json | undefined, hasContent: boolean): boolean {
    if (typeof id !== 'string' || id === '' || id === this.id) {
      if (id === this.id && this.id !== undefined) this.steady = true
      return false
    }
    const began = this.id !== undefined
    if (began && hasContent && this.steady) return isObject(delta) && delta.role === 'assistant'
    this.steady = false
    this.id = id
    return false
  }
}

const filled = (value: Json | undefined): value is string => typeof value === 'string' && value !== ''

/**
 * Adds the names to a parsed delta or message, in place.
 * For a client that refuses two names the member `reasoning` is the only text.
 * @returns true where it had to change anything.
 */
export function mirrorReasoning(message: JsonObject, ctx: Pick<ReplyContext, 'refusesTwoNames'>): boolean {
  const isAdded = addReasoning(message)
  if (message.reasoning === undefined || message.reasoning_content === undefined || ctx.refusesTwoNames !== true) return isAdded
  delete message.reasoning_content
  return true
}

function addReasoning(message: JsonObject): boolean {
  const { reasoning_content: content, reasoning: plain, reasoning_details: details } = message
  const isDetailed = Array.isArray(details) && details.length > 0
  if (!isDetailed && !filled(plain) && !filled(content)) return false
  let isChanged = false
  if (!filled(plain)) {
    const text = filled(content) ? content : spokenIn(details)
    if (text === '') return false
    message.reasoning = text
    isChanged = true
  }
  if (isDetailed) return isChanged
  message.reasoning_details = [{ type: 'reasoning.text', text: message.reasoning, index: 0 }]
  return true
}

/** The words of details, as the translate lane joins them: texts and summaries. */
function spokenIn(details: Json | undefined): string {
  let text = ''
  for (const detail of Array.isArray(details) ? details : []) {
    if (!isObject(detail)) continue
    const words = detail.type === 'reasoning.text' ? detail.text : detail.type === 'reasoning.summary' ? detail.summary : undefined
    if (filled(words)) text += words
  }
  return text
}

/** Beginning of every chunk of a stream to the client: `data: {"id":…,"provider":…`, an open object, without the comma that follows. */
export function chunkHead(ctx: ReplyContext, created: number): string {
  const provider = ctx.provider === '' ? '' : `,"provider":${JSON.stringify(ctx.provider)}`
  return `${OPENING}"id":${JSON.stringify(ctx.id)},"object":"chat.completion.chunk","created":${created},"model":${JSON.stringify(ctx.model)}${provider}`
}

const OPENING = 'data: {'
const DONE = 'data: [DONE]\n\n'

/** Members that only the last chunk has. */
function lastMembers(ctx: ReplyContext, final: Final): string {
  const shown = shownTier(final.end.tier)
  const tier = shown === undefined ? '' : `,"service_tier":${JSON.stringify(shown)}`
  const metadata = final.metadata === undefined ? '' : `,${JSON.stringify(`${ctx.brand}_metadata`)}:${JSON.stringify(final.metadata)}`
  return `,"usage":${usageText(final)}${tier}${metadata}}\n\n`
}

/**
 * Members that state how a choice ended: `finish_reason`, the provider's own word, and the error. A member that is absent stays so.
 * @param ctx its form of codes is looked up where there is an error, and not before.
 */
export function encodeFinish(ctx: Pick<ReplyContext, 'codeForm'>, { fault, end }: Final): JsonObject {
  const { reason, raw } = end
  if (fault)
    return { finish_reason: 'error', native_finish_reason: raw ?? null, error: faultBody(fault, { codeForm: ctx.codeForm }).error ?? null }
  if (reason !== 'unknown') return { finish_reason: reason, native_finish_reason: raw ?? reason }
  return {
    finish_reason: 'error',
    native_finish_reason: raw ?? null,
    error: faultBody(unknownEnd(end), { codeForm: ctx.codeForm }).error ?? null,
  }
}

/**
 * The end of a stream: finish chunk, usage chunk, `[DONE]`; or, where it has failed, one error chunk. Its first member is `error`, since
 * github.com/sashabaranov/go-openai 1.43.0 looks at how a line begins, and no `[DONE]` follows, which would say to many clients that all
 * is well (docs/contract.md#chat-stream).
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
  if (final.fault) {
    const { error, ...finish } = encodeFinish(ctx, final)
    const choice = `{"index":0,"delta":{"content":""},${JSON.stringify(finish).slice(1)}`
    const members = head.slice(OPENING.length)
    return `${OPENING}"error":${JSON.stringify(error)},${members},"choices":[${choice}]${closing.members}${lastMembers(ctx, final)}`
  }
  const choice = `{"index":0,"delta":${closing.delta},${JSON.stringify(encodeFinish(ctx, final)).slice(1, -1)}${closing.rest}}`
  return `${head},"choices":[${choice}]}\n\n${head},"choices":[]${closing.members}${lastMembers(ctx, final)}${DONE}`
}

/** The chunk that shows what is about to go upstream. */
export function debugChunk(ctx: ReplyContext, upstreamBody: JsonObject): string {
  return `${chunkHead(ctx, ctx.created)},"choices":[],"debug":{"echo_upstream_body":${JSON.stringify(upstreamBody)}}}\n\n`
}

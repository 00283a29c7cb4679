/**
 * Members of a provider's messages and chunks, as callers read them from every provider: what some write elsewhere or leave empty is put
 * right in place, reasoning stands under both of its names (contract section 3), members that the gateway does not pass on, such as
 * `moderation`, `prompt_filter_results` of Azure or `x_groq`, go to the caller with the usage chunk, which it writes itself, and each
 * fragment of a call has its slot, whatever habit its provider has. The decoder and the pass lane use them alike.
 */
import { randomTag } from '../../core/ids.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

/** Marks of thoughts within content, and of empty calls: a frame that is relayed unread must not have them. */
export const THINKING = '"thinking"'
export const FUNCTION_CALL = '"function_call"'

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

function thoughtsIn({ thinking }: JsonObject): string {
  if (!Array.isArray(thinking)) return text(thinking)
  return thinking.map((piece) => (isObject(piece) ? text(piece.text) : '')).join('')
}

/**
 * Content in parts as callers read it of every provider: the text in `content`, the thoughts in `reasoning`. Mistral's reasoning
 * models send `ThinkChunk` and `TextChunk` there, whole and in deltas.
 * @returns true where there were any: content with any other part stays a list.
 */
export function joinParts(message: JsonObject): boolean {
  const parts = Array.isArray(message.content) ? message.content.filter(isObject) : []
  if (parts.length === 0 || !parts.every(({ type }) => type === 'text' || type === 'thinking')) return false
  const thoughts = parts.map((part) => (part.type === 'thinking' ? thoughtsIn(part) : '')).join('')
  message.content = parts.map((part) => (part.type === 'text' ? text(part.text) : '')).join('')
  if (thoughts !== '') message.reasoning = text(message.reasoning) + thoughts
  return true
}

const isEmpty = (value: Json | undefined): boolean => value === undefined || value === null || value === '' || value === 0

/**
 * Takes members out that hold nothing: servers that answer with the structs of OpenAI's Go SDK (github.com/openai/openai-go,
 * `ChatCompletionMessage`, which has no `omitempty`) send `function_call: {"name": "", "arguments": ""}` and an empty `audio` with every
 * reply, and clients take them for a call without a name and for sound.
 * @returns true where there were any.
 */
export function dropEmptyMembers(message: JsonObject): boolean {
  const { function_call: call, audio } = message
  let isChanged = false
  if (isObject(call) && Object.values(call).every(isEmpty)) {
    delete message.function_call
    isChanged = true
  }
  if (isObject(audio) && Object.values(audio).every(isEmpty)) {
    delete message.audio
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
  private readonly members = new Map<string, string>()
  private readonly metadata: string

  /** @param brand before the name of the gateway's own member of the last chunk. */
  constructor(brand: string) {
    this.metadata = `${brand}_metadata`
  }

  keep(chunk: JsonObject): void {
    for (const key in chunk) {
      const value = chunk[key] ?? null
      if (value !== null && key !== this.metadata && !SET.has(key)) this.members.set(key, JSON.stringify(value))
    }
  }

  /** As JSON text behind another member. @param fingerprint of a decoded reply. */
  text(fingerprint?: string): string {
    let text = fingerprint === undefined ? '' : `,"${FINGERPRINT}":${JSON.stringify(fingerprint)}`
    for (const [key, value] of this.members) text += `,${JSON.stringify(key)}:${value}`
    return text
  }
}

/** Whether a stream goes on with the answer that it began: providers differ in what they repeat. */
export class ReplyIdentity {
  private id: string | undefined
  /** True once two chunks in a row had one id: some providers give each chunk its own. */
  steady = false

  /** @returns true for the beginning of another answer: another id, and the role again. @param said true once content has come. */
  isAnother({ id }: JsonObject, delta: Json | undefined, said: boolean): boolean {
    if (typeof id !== 'string' || id === '' || id === this.id) {
      if (id === this.id && this.id !== undefined) this.steady = true
      return false
    }
    const began = this.id !== undefined
    if (began && said && this.steady) return isObject(delta) && delta.role === 'assistant'
    this.steady = false
    this.id = id
    return false
  }
}

/** What each of the names begins with; where a frame has it not, there is no reasoning. */
export const REASONING = '"reasoning'
const PLAIN = '"reasoning":'
const CONTENT = '"reasoning_content":'
const DETAILS = '"reasoning_details":'

const filled = (value: Json | undefined): value is string => typeof value === 'string' && value !== ''

/** Adds the names to a parsed delta or message, in place. @returns true where it had to. */
export function mirrorReasoning(message: JsonObject): boolean {
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

/** What a member of a frame says, where it is no index: not there; null or empty; something else. */
const ABSENT = -1
const EMPTY = -2
const UNCLEAR = -3

/**
 * The same by text, for a frame whose reasoning need not be parsed.
 * @returns the same frame where nothing is missing, undefined where it has to be parsed.
 */
export function mirroredFrame(frame: string): string | undefined {
  if (!frame.includes(REASONING)) return frame
  const plain = startOf(frame, PLAIN, QUOTE, QUOTE)
  const details = startOf(frame, DETAILS, OPENING, CLOSING)
  if (plain >= 0 && details >= 0) return frame
  const content = startOf(frame, CONTENT, QUOTE, QUOTE)
  if (plain === UNCLEAR || content === UNCLEAR || details === UNCLEAR || details >= 0) return undefined
  const from = plain >= 0 ? plain : content
  if (from < 0) return frame
  // An empty member cannot be written a second time.
  if (details === EMPTY || plain === EMPTY) return undefined
  const end = endOfString(frame, from)
  if (end === -1 || frame.includes(plain >= 0 ? PLAIN : CONTENT, end)) return undefined
  return frame.slice(0, end) + copiesOf(frame.slice(from, end), plain >= 0) + frame.slice(end + 1)
}

/** True where `mirroredFrame` adds what is missing. */
export function mirrorsByText(frame: string): boolean {
  const mirrored = mirroredFrame(frame)
  return mirrored !== undefined && mirrored !== frame
}

/**
 * The copies of a text behind its own member, in place of the quote that ends it.
 * @param text as it stands in JSON. @param isPlain true where its member is `reasoning`.
 */
export function copiesOf(text: string, isPlain: boolean): string {
  const details = `","reasoning_details":[{"type":"reasoning.text","text":"${text}","index":0}]`
  return isPlain ? details : `","reasoning":"${text}${details}`
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20
const OPENING = 0x5b
const CLOSING = 0x5d

/** Index behind the opening character of a member's value. */
function startOf(frame: string, name: string, opening: number, closing: number): number {
  const at = frame.indexOf(name)
  if (at === -1) return ABSENT
  let from = at + name.length
  if (frame.charCodeAt(from) === SPACE) from++
  if (frame.startsWith('null', from)) return EMPTY
  if (frame.charCodeAt(from) !== opening) return UNCLEAR
  return frame.charCodeAt(from + 1) === closing ? EMPTY : from + 1
}

/** The index of the quote that ends a JSON string whose inside begins at `from`; -1 if there is none. */
export function endOfString(text: string, from: number): number {
  for (let i = from; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === BACKSLASH) i++
    else if (unit === QUOTE) return i
  }
  return -1
}

export interface CallSlot {
  /** Position among the calls of this reply, from 0, in order of appearance. */
  readonly index: number
  id: string
  name: string
}

/**
 * Fragments may lack an index, repeat their id each time, reuse an index for another call, or come whole.
 * The first fragment of a call makes its slot; a call without an id gets one.
 */
export class ToolCalls {
  readonly slots: CallSlot[] = []
  private readonly byIndex = new Map<number, CallSlot>()

  /** The slot of a fragment; `fresh` is true for the first one of its call. */
  resolve(fragment: JsonObject): { slot: CallSlot; fresh: boolean } {
    const id = text(fragment.id)
    const name = isObject(fragment.function) ? text(fragment.function.name) : ''
    const known = this.find(fragment.index, id, name)
    if (known) {
      if (known.name === '') known.name = name
      return { slot: known, fresh: false }
    }
    const slot: CallSlot = { index: this.slots.length, id: id || `call_${randomTag()}`, name }
    this.slots.push(slot)
    if (typeof fragment.index === 'number') this.byIndex.set(fragment.index, slot)
    return { slot, fresh: true }
  }

  private find(index: unknown, id: string, name: string): CallSlot | undefined {
    if (typeof index === 'number') {
      const slot = this.byIndex.get(index)
      return slot && id !== '' && id !== slot.id && name !== '' && slot.name !== '' ? undefined : slot
    }
    if (id !== '') return this.slots.find((slot) => slot.id === id)
    return name === '' ? this.slots.at(-1) : undefined
  }
}

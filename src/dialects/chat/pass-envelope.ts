/** Common part of the chunks of one upstream stream, and its form for the caller: plain content is patched by text, without a parse. */
import { escapesLetters, type JsonObject } from '../../core/json.ts'
import { alone, binary, endOfString, escapeExcess, jsonObject, textBytes } from '../../machines/sse/frames.ts'
import { MEDIA_BYTES } from '../canon/events.ts'
import { servedTier, shownTier } from '../canon/served-tier.ts'
import type { ReplyContext } from '../types.ts'
import { ChunkNumbers } from './chunk-numbers.ts'

/** Marks of thoughts and sources within content, of empty calls and of tools that the provider ran: a frame that is relayed unread has none. */
const MARKS = ['"thinking"', '"function_call"', '"reference_ids"', '"tool_reference"', '"executed_tools"']

function holdsMark(batch: string): boolean {
  for (const mark of MARKS) if (batch.includes(mark)) return true
  return false
}

/** Beginning of each of the names; where a frame has it not, there is no reasoning. */
const REASONING = '"reasoning'
const PLAIN = '"reasoning":'
const CONTENT = '"reasoning_content":'
const DETAILS = '"reasoning_details":'

const TOOL_CALLS = '"tool_calls"'
/** Only the first fragment of a call has a name. */
const NAME = '"name":'
const ERROR = '"error":'
const USAGE = '"usage":'
const LF = 10
/** Chunks in a row that may fit no skeleton before none is looked for any more. */
const MAX_MISSES = 8

/** Members of a delta whose text is the model's words. */
const WORDS = ['content', 'reasoning', 'reasoning_content', 'arguments']
const MARKERS = WORDS.flatMap((name) => [`"${name}":"`, `"${name}": "`])

/** Members of details of reasoning that hold what a provider signed or encrypted. */
const SIGNED = /"(?:signature|data)":/

/** A frame without words that is longer than this holds an image or a sound. */
const LONG_FRAME = 8_192

/** Bytes of the model's words in one frame; at least 1, since content that is no text counts for something as well. */
export function frameWords(frame: string): number {
  for (const marker of MARKERS) {
    const at = frame.indexOf(marker)
    const words = at === -1 ? 0 : textBytes(frame, at + marker.length)
    if (words > 0) return words
  }
  return frame.length > LONG_FRAME ? MEDIA_BYTES : 1
}

/** True where a frame of as many bytes as a medium counts for is an image. */
export function isImage(frame: string): boolean {
  return frame.length > LONG_FRAME && frame.includes('"images":')
}

/** Frame around the model's words in all chunks of one kind: compared in one go, without a scan. */
class Skeleton {
  /** True for fragments of a call's arguments. */
  readonly ofCalls: boolean
  /** True where nothing around the words is signed or encrypted, not even the same thing in each chunk. */
  readonly isPlain: boolean
  private readonly before: string
  private readonly after: string
  private readonly ourBefore: string
  private readonly ourAfter: string
  /** The member of the words, where they are reasoning that goes out under several names. */
  private readonly mirrors: string | undefined
  /** Bytes of the model's words in the last batch. */
  words = 0

  private constructor(parts: {
    before: string
    after: string
    ourBefore: string
    ourAfter: string
    ofCalls: boolean
    mirrors: string | undefined
  }) {
    this.ofCalls = parts.ofCalls
    this.mirrors = parts.mirrors
    this.before = parts.before
    this.after = parts.after
    this.isPlain = !SIGNED.test(parts.before + parts.after)
    this.ourBefore = parts.ourBefore
    this.ourAfter = parts.ourAfter
  }

  /**
   * @param frame one frame that is known to be a plain content chunk.
   * @param prefix its head, and `ours` what becomes of it.
   * @param noUsage the text of an empty usage, which is left out.
   */
  static learn(frame: string, prefix: string, ours: string, noUsage: string): Skeleton | undefined {
    const colon = noUsage.startsWith(', ') ? '": "' : '":"'
    for (const name of WORDS) {
      const marker = `"${name}${colon}`
      const at = frame.indexOf(marker, prefix.length)
      if (at === -1) continue
      const from = at + marker.length
      const end = endOfString(frame, from)
      if (end === frame.length) return undefined
      const after = alone(frame.slice(end))
      const shown = frame.includes(REASONING) ? mirroredFrame(frame) : frame
      const mirrors = shown === frame ? undefined : name
      const isReasoning = name === 'reasoning' || name === 'reasoning_content'
      // Reasoning beside other words, and what has to be parsed, is looked at frame by frame; empty reasoning teaches nothing.
      if (shown === undefined || (isReasoning ? end === from : mirrors !== undefined)) return undefined
      const before = alone(frame.slice(0, from))
      return new Skeleton({
        before,
        after,
        ourBefore: ours + before.slice(prefix.length),
        ourAfter: after.slice(mirrors === undefined ? 0 : 1).replace(noUsage, ''),
        ofCalls: name === 'arguments',
        mirrors,
      })
    }
    return undefined
  }

  /**
   * The batch with our envelope; undefined if any of its frames has another skeleton.
   * A cut compared whole takes a quarter of the time of `startsWith`, which goes from character to character.
   */
  rewrite(batch: string): string | undefined {
    const { before, after, ourBefore, ourAfter, mirrors } = this
    const isPlain = mirrors === 'reasoning'
    let out = ''
    let words = 0
    for (let at = 0; at < batch.length; ) {
      const from = at + before.length
      if (batch.slice(at, from) !== before) return undefined
      const end = batch.indexOf('\n', from)
      const to = end + 2 - after.length
      if (to < from || batch.slice(to, end + 2) !== after) return undefined
      const text = batch.slice(from, to)
      // Empty reasoning is not repeated under other names.
      if (mirrors !== undefined && text === '') return undefined
      out += mirrors === undefined ? ourBefore + text + ourAfter : ourBefore + text + reasoningCopies(text, isPlain) + ourAfter
      words += to - from
      at = end + 2
    }
    this.words = words - escapeExcess(batch)
    return out
  }
}

/** Two ways in which serialisers write JSON; a third one is left to the slow path. */
const STYLES = [
  { choices: ',"choices":[', usage: '"usage":{', noUsage: ',"usage":null' },
  { choices: ', "choices": [', usage: '"usage": {', noUsage: ', "usage": null' },
] as const

/**
 * The bytes that all chunks of one upstream stream begin with, learned from one of them, and what they become.
 * Quotes inside JSON strings are escaped, so none of these texts can be part of the model's output.
 */
export class Envelope {
  private readonly prefix: string
  private readonly ours: string
  private readonly style: (typeof STYLES)[number]
  private readonly ctx: ReplyContext
  private skeleton: Skeleton | undefined
  private misses = 0
  private readonly numbers = new ChunkNumbers()
  /** True where the frame that `like` has learned went out unchanged. */
  private isUnchanged = false
  /** Content bytes of the last batch that was rewritten. */
  content = 0
  /** Images among it. */
  images = 0
  /** True where all of it has the skeleton of one member of words: there is nothing else in it. */
  plain = false

  private constructor(prefix: string, ours: string, style: (typeof STYLES)[number], ctx: ReplyContext) {
    this.prefix = prefix
    this.ours = ours
    this.style = style
    this.ctx = ctx
  }

  /**
   * @param frame a whole frame, binary; its members before `choices` are the envelope.
   * @param created its time, where it states one.
   * @returns undefined where the frame is not written in a way that can be patched by text.
   */
  static learn(frame: string, created: number | undefined, ctx: ReplyContext): Envelope | undefined {
    if (!frame.startsWith('data: {') || frame.indexOf('\n') !== frame.length - 2) return undefined
    for (const style of STYLES) {
      const at = frame.indexOf(style.choices)
      if (at === -1) continue
      const header = parseHeader(frame.slice(6, at))
      if (!header) return undefined
      const shown = ourHeader(header, header.created === undefined ? undefined : created, ctx)
      // A member behind the choices would come twice.
      if (shown.created !== header.created && frame.includes('"created"', at)) return undefined
      const ours = `data: ${binary(JSON.stringify(shown).slice(0, -1))}`
      return new Envelope(alone(frame.slice(0, at)), ours, style, ctx)
    }
    return undefined
  }

  /**
   * A batch of whole frames with our envelope, everything behind it as it came.
   * @param calls false where frames with tool calls must be looked at one by one.
   * @returns undefined if any frame is not a plain content chunk with the learned envelope.
   */
  rewrite(batch: string, calls: boolean): string | undefined {
    const { skeleton } = this
    this.plain = false
    if (skeleton && (calls || !skeleton.ofCalls)) {
      const out = skeleton.rewrite(batch)
      if (out !== undefined) {
        this.misses = 0
        this.content = skeleton.words
        this.images = 0
        this.plain = skeleton.isPlain
        return out
      }
    }
    const known = this.known(batch)
    if (known !== undefined) return known
    const out = this.scan(batch, calls)
    if (out !== undefined && this.misses < MAX_MISSES) {
      this.misses++
      const first = batch.slice(0, batch.indexOf('\n\n') + 2)
      this.skeleton = Skeleton.learn(first, this.prefix, this.ours, this.style.noUsage) ?? skeleton
    }
    return out
  }

  /** One frame that has been read already: it need not be looked through again. */
  rewriteRead(frame: string): string | undefined {
    const { prefix, ours, style } = this
    if (!frame.startsWith(prefix) || frame.indexOf('\n') !== frame.length - 2 || frame.includes(style.usage)) return undefined
    this.content = frameWords(frame)
    this.images = this.content === MEDIA_BYTES && isImage(frame) ? 1 : 0
    const behind = frame.slice(prefix.length)
    const rest = behind.includes(REASONING) ? mirroredFrame(behind) : behind
    return rest === undefined || !this.numbers.isReadable(rest) ? undefined : ours + rest.replace(style.noUsage, '')
  }

  /** One frame that is like the last that went out unchanged but for the envelope. */
  private known(batch: string): string | undefined {
    const {
      prefix,
      numbers: { like },
    } = this
    const end = batch.length - 2
    if (!this.isUnchanged || batch.indexOf('\n') !== end || batch.slice(0, prefix.length) !== prefix) return undefined
    if (!like.has(batch, prefix.length, end) || like.bytes === 0) return undefined
    this.content = like.bytes
    this.images = 0
    return this.ours + batch.slice(prefix.length)
  }

  /** As `rewrite`, by looking for what must not be in a content chunk. */
  private scan(batch: string, calls: boolean): string | undefined {
    const { prefix, ours, style, numbers } = this
    if (!batch.startsWith(prefix) || holdsEnd(batch) || batch.includes(ERROR) || holdsMark(batch)) return undefined
    // A member's name that is written with escapes would be missed here.
    if (batch.includes('\\') && escapesLetters(batch)) return undefined
    if (batch.includes(TOOL_CALLS) && (!calls || batch.includes(NAME))) return undefined
    let text = batch
    if (batch.includes(USAGE)) {
      if (batch.includes(style.usage)) return undefined
      text = batch.replaceAll(style.noUsage, '')
    }
    const mirrors = batch.includes(REASONING)
    // Reasoning that has one name only is parsed.
    if (mirrors && this.ctx.refusesTwoNames === true) return undefined
    let out = ''
    let content = 0
    let images = 0
    for (let at = 0; at < text.length; ) {
      if (text.slice(at, at + prefix.length) !== prefix) return undefined
      const end = text.indexOf('\n', at + prefix.length)
      if (text.charCodeAt(end + 1) !== LF) return undefined
      const rest = text.slice(at + prefix.length, end + 2)
      const shown = mirrors ? mirroredFrame(rest) : rest
      if (shown === undefined || FOREIGN_TIER.test(rest) || !numbers.isNumbered(rest)) return undefined
      out += ours + shown
      this.isUnchanged = shown === rest && text === batch && !batch.includes(TOOL_CALLS)
      const words = frameWords(rest)
      content += words
      if (words === MEDIA_BYTES && isImage(rest)) images++
      at = end + 2
    }
    this.content = content
    this.images = images
    return out
  }
}

const FINISH = '"finish_reason":'
const LETTER_N = 0x6e

/** True where a choice has ended: its reason is not null, whatever it is. */
function holdsEnd(batch: string): boolean {
  for (let at = batch.indexOf(FINISH); at !== -1; at = batch.indexOf(FINISH, at)) {
    at += FINISH.length
    if (batch.charCodeAt(batch.charCodeAt(at) === SPACE ? at + 1 : at) !== LETTER_N) return true
  }
  return false
}

function parseHeader(text: string): JsonObject | undefined {
  const header = jsonObject(`${text}}`)
  return typeof header?.id === 'string' && !header.usage ? header : undefined
}

/** Our id, model and provider in a chunk's members; `usage` is only ever ours, in the last chunk. @param created the provider's time, where it is one. */
export function ourHeader(chunk: JsonObject, created: number | undefined, ctx: ReplyContext): JsonObject {
  const out: JsonObject = { ...chunk, id: ctx.id, object: 'chat.completion.chunk', model: ctx.model }
  if (created === undefined) out.created = ctx.created
  if (ctx.provider !== '') out.provider = ctx.provider
  delete out.usage
  if (out.service_tier !== undefined && out.service_tier !== USUAL_TIER) showTier(out)
  return out
}

/** The word of nearly every reply that names its tier. */
export const USUAL_TIER = 'default'

/** A tier by a word that clients know (docs/contract.md#responses-reply), or none. */
function showTier(chunk: JsonObject): void {
  const shown = shownTier(servedTier(chunk.service_tier)?.tier)
  if (shown === undefined) delete chunk.service_tier
  else chunk.service_tier = shown
}

const FOREIGN_TIER = /"service_tier":\s*(?!\s|null|"(?:default|flex|priority)")/

/** True where a frame has a tier behind its choices, by a word that clients do not know. */
export function endsInForeignTier(frame: string): boolean {
  const at = frame.indexOf('"choices"')
  return at !== -1 && FOREIGN_TIER.test(frame.slice(at))
}

/** State of a member of a frame, where it is no index: not there; null or empty; something else. */
const ABSENT = -1
const EMPTY = -2
const UNCLEAR = -3

/**
 * As `mirrorReasoning`, by text, for a frame whose reasoning need not be parsed.
 * @returns the same frame where nothing is missing, undefined where it has to be parsed.
 */
function mirroredFrame(frame: string): string | undefined {
  if (!frame.includes(REASONING)) return frame
  const plain = memberStart(frame, PLAIN, QUOTE, QUOTE)
  const details = memberStart(frame, DETAILS, OPENING, CLOSING)
  if (plain >= 0 && details >= 0) return frame
  const content = memberStart(frame, CONTENT, QUOTE, QUOTE)
  if (plain === UNCLEAR || content === UNCLEAR || details === UNCLEAR || details >= 0) return undefined
  const from = plain >= 0 ? plain : content
  if (from < 0) return frame
  // An empty member cannot be written a second time.
  if (details === EMPTY || plain === EMPTY) return undefined
  const end = endOfString(frame, from)
  if (end === frame.length || frame.includes(plain >= 0 ? PLAIN : CONTENT, end)) return undefined
  return frame.slice(0, end) + reasoningCopies(frame.slice(from, end), plain >= 0) + frame.slice(end + 1)
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
function reasoningCopies(text: string, isPlain: boolean): string {
  const details = `","reasoning_details":[{"type":"reasoning.text","text":"${text}","index":0}]`
  return isPlain ? details : `","reasoning":"${text}${details}`
}

const QUOTE = 0x22
const SPACE = 0x20
const OPENING = 0x5b
const CLOSING = 0x5d

/** Index behind the opening character of a member's value. */
function memberStart(frame: string, name: string, opening: number, closing: number): number {
  const at = frame.indexOf(name)
  if (at === -1) return ABSENT
  let from = at + name.length
  if (frame.charCodeAt(from) === SPACE) from++
  if (frame.startsWith('null', from)) return EMPTY
  if (frame.charCodeAt(from) !== opening) return UNCLEAR
  return frame.charCodeAt(from + 1) === closing ? EMPTY : from + 1
}

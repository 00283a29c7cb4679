/** The bytes that all chunks of one upstream stream begin with, learned from one of them, and what they become. */
import { escapesLetters, type JsonObject } from '../../core/json.ts'
import { binary, utf8 } from '../sse/frames.ts'
import type { ReplyContext } from '../types.ts'
import { mirroredFrame, REASONING } from './mirror-reasoning.ts'
import { frameWords, isImage, Skeleton } from './pass-skeleton.ts'

const TOOL_CALLS = '"tool_calls"'
/** Only the first fragment of a call has a name. */
const NAME = '"name":'
const ERROR = '"error":'
const USAGE = '"usage":'
const LF = 10
/** Chunks in a row that may fit no skeleton before none is looked for any more. */
const MAX_MISSES = 8

/** Two ways in which serialisers write JSON; a third one is left to the slow path. */
const STYLES = [
  { choices: ',"choices":[', finish: '"finish_reason":"', usage: '"usage":{', noUsage: ',"usage":null' },
  { choices: ', "choices": [', finish: '"finish_reason": "', usage: '"usage": {', noUsage: ', "usage": null' },
] as const

/** Quotes inside JSON strings are escaped, so none of these texts can stand in what the model said. */
export class Envelope {
  private readonly prefix: string
  private readonly ours: string
  private readonly style: (typeof STYLES)[number]
  private skeleton: Skeleton | undefined
  private misses = 0
  /** Content bytes of the last batch that was rewritten. */
  content = 0
  /** Images among it. */
  images = 0

  private constructor(prefix: string, ours: string, style: (typeof STYLES)[number]) {
    this.prefix = prefix
    this.ours = ours
    this.style = style
  }

  /**
   * @param frame a whole frame, binary; its members before `choices` are the envelope.
   * @returns undefined where the frame is not written in a way that can be patched by text.
   */
  static learn(frame: string, ctx: ReplyContext): Envelope | undefined {
    if (!frame.startsWith('data: {') || frame.indexOf('\n') !== frame.length - 2) return undefined
    for (const style of STYLES) {
      const at = frame.indexOf(style.choices)
      if (at === -1) continue
      const header = parseHeader(frame.slice(6, at))
      if (!header) return undefined
      const ours = `data: ${binary(JSON.stringify(ourHeader(header, ctx)).slice(0, -1))}`
      return new Envelope(frame.slice(0, at), ours, style)
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
    if (skeleton && (calls || !skeleton.ofCalls)) {
      const out = skeleton.rewrite(batch)
      if (out !== undefined) {
        this.misses = 0
        this.content = skeleton.words
        this.images = 0
        return out
      }
    }
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
    this.images = isImage(frame, this.content) ? 1 : 0
    const rest = mirroredFrame(frame.slice(prefix.length))
    return rest === undefined ? undefined : ours + rest.replace(style.noUsage, '')
  }

  /** As `rewrite`, by looking for what must not be in a content chunk. */
  private scan(batch: string, calls: boolean): string | undefined {
    const { prefix, ours, style } = this
    if (!batch.startsWith(prefix) || batch.includes(style.finish) || batch.includes(ERROR)) return undefined
    // A member's name that is written with escapes would be missed here.
    if (escapesLetters(batch)) return undefined
    if (batch.includes(TOOL_CALLS) && (!calls || batch.includes(NAME))) return undefined
    let text = batch
    if (batch.includes(USAGE)) {
      if (batch.includes(style.usage)) return undefined
      text = batch.replaceAll(style.noUsage, '')
    }
    const mirrors = batch.includes(REASONING)
    let out = ''
    let content = 0
    let images = 0
    for (let at = 0; at < text.length; ) {
      if (text.slice(at, at + prefix.length) !== prefix) return undefined
      const end = text.indexOf('\n', at + prefix.length)
      if (text.charCodeAt(end + 1) !== LF) return undefined
      const rest = text.slice(at + prefix.length, end + 2)
      const shown = mirrors ? mirroredFrame(rest) : rest
      if (shown === undefined) return undefined
      out += ours + shown
      const words = frameWords(rest)
      content += words
      if (isImage(rest, words)) images++
      at = end + 2
    }
    this.content = content
    this.images = images
    return out
  }
}

function parseHeader(text: string): JsonObject | undefined {
  try {
    const header = JSON.parse(`${utf8(text)}}`) as JsonObject
    return typeof header.id === 'string' && !header.usage ? header : undefined
  } catch {
    return undefined
  }
}

/** Our id, model and provider in a chunk's members; `usage` is only ever ours, in the last chunk. */
export function ourHeader(chunk: JsonObject, ctx: ReplyContext): JsonObject {
  const out: JsonObject = { ...chunk, id: ctx.id, object: 'chat.completion.chunk', model: ctx.model }
  if (ctx.provider !== '') out.provider = ctx.provider
  delete out.usage
  return out
}

/** The pass lane of a chat stream: content chunks keep their bytes, everything else is read and written anew. */
import { Fault, unreadable } from '../../core/faults.ts'
import { escapesLetters, isObject, type JsonObject } from '../../core/json.ts'
import type { End } from '../canon/events.ts'
import type { Usage } from '../canon/usage.ts'
import { binary, FrameSplitter, frameData, utf8 } from '../sse/frames.ts'
import type { Final, PassStream, ReplyContext } from '../types.ts'
import { joinParts, THINKING } from './content-parts.ts'
import { choiceFault, chunkHead, closingChunks, faultIn, servedTier, unify } from './decode-stream.ts'
import { dropEmptyMembers, FUNCTION_CALL } from './empty-members.ts'
import { LateMembers } from './late-members.ts'
import { mirroredFrame, mirrorReasoning, mirrorsByText, REASONING } from './mirror-reasoning.ts'
import { frameWords, isImage, Skeleton } from './pass-skeleton.ts'
import { ToolCalls } from './tool-calls.ts'
import { usageIn } from './usage.ts'

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

/**
 * The bytes that all chunks of one upstream stream begin with, learned from one of them, and what they become.
 * Quotes inside JSON strings are escaped, so none of these texts can stand in what the model said.
 */
class Envelope {
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
    if (!batch.startsWith(prefix) || batch.includes(style.finish) || batch.includes(ERROR) || batch.includes(THINKING)) return undefined
    // A member's name that is written with escapes would be missed here.
    if (escapesLetters(batch)) return undefined
    if ((batch.includes(TOOL_CALLS) && (!calls || batch.includes(NAME))) || batch.includes(FUNCTION_CALL)) return undefined
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
function ourHeader(chunk: JsonObject, ctx: ReplyContext): JsonObject {
  const out: JsonObject = { ...chunk, id: ctx.id, object: 'chat.completion.chunk', model: ctx.model }
  if (ctx.provider !== '') out.provider = ctx.provider
  delete out.usage
  return out
}

/** Fragments of calls that must be in order before further ones are trusted unread. */
const TRUSTED_FRAGMENTS = 2
/** Frames that may fail to teach an envelope before the stream is taken frame by frame for good. */
const MAX_LESSONS = 4

const filled = (value: unknown): boolean =>
  typeof value === 'string' || Array.isArray(value) ? value.length > 0 : value !== null && value !== undefined

/** True where a delta says more than its role. */
function speaks(delta: JsonObject): boolean {
  for (const key in delta) if (key !== 'role' && filled(delta[key])) return true
  return false
}

/** Pure ASCII, so that it is the same text in every encoding. */
const ascii = (text: string): string => text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

export class ChatPassStream implements PassStream {
  usage?: Usage | undefined
  end?: End
  fault?: Fault
  committed = false
  relayed = 0
  images = 0
  private readonly ctx: ReplyContext
  private readonly splitter = new FrameSplitter()
  private readonly calls = new ToolCalls()
  private envelope: Envelope | undefined
  private lessons = 0
  private fragments = 0
  /** True once a fragment had to be put right: then all of them are read. */
  private tidying = false
  /** A chunk with only the role, held until content follows. */
  private held = ''
  private roleSent = false
  private created: number | undefined
  private frames = 0
  private done = false
  private tier: string | undefined
  /** Members of the finishing choice that are not ours, such as its log probabilities. */
  private rest = ''
  private readonly late: LateMembers

  constructor(ctx: ReplyContext) {
    this.ctx = ctx
    this.late = new LateMembers(ctx.brand)
  }

  feed(chunk: Buffer): string {
    if (this.done) return ''
    let batch: string
    try {
      batch = this.splitter.push(chunk)
    } catch (cause) {
      return this.fail(unreadable(cause))
    }
    if (batch === '') return ''
    if (this.committed && this.envelope) {
      const out = this.envelope.rewrite(batch, this.fragments >= TRUSTED_FRAGMENTS && !this.tidying)
      if (out !== undefined) {
        this.relayed += this.envelope.content
        this.images += this.envelope.images
        return out
      }
    }
    return this.byFrame(batch)
  }

  close(): string {
    const out = this.done ? '' : this.byFrame(this.splitter.close())
    if (this.fault === undefined && this.end === undefined) {
      if (this.done && this.frames > 0) this.end = { reason: unify('stop', this.calls.slots.length > 0) }
      else this.fault = new Fault(this.frames > 0 ? 'upstream_cut' : 'upstream_empty')
    }
    if (this.end && this.tier !== undefined) this.end.tier = this.tier
    this.done = true
    return out
  }

  finish(final: Final): string {
    const delta = this.roleSent ? '{}' : '{"role":"assistant","content":""}'
    const head = chunkHead(this.ctx, this.created ?? this.ctx.created)
    return ascii(closingChunks(this.ctx, final, head, { delta, rest: this.rest, members: this.late.text() }))
  }

  private fail(fault: Fault): string {
    this.done = true
    this.fault = fault
    return ''
  }

  private byFrame(batch: string): string {
    let out = ''
    for (let at = 0; at < batch.length && !this.done; ) {
      const end = batch.indexOf('\n\n', at) + 2
      out += this.frame(batch.slice(at, end))
      at = end
    }
    return out
  }

  private frame(frame: string): string {
    const data = frameData(frame)
    if (data === undefined || data === '') return ''
    if (data === '[DONE]') {
      this.done = true
      return ''
    }
    let chunk: unknown
    try {
      chunk = JSON.parse(utf8(data))
    } catch {
      return this.fail(new Fault('upstream_garbled'))
    }
    if (!isObject(chunk)) return this.fail(new Fault('upstream_garbled'))
    return this.chunk(chunk, frame)
  }

  private chunk(chunk: JsonObject, frame: string): string {
    const fault = faultIn(chunk)
    if (fault) return this.fail(fault)
    this.frames++
    if (typeof chunk.created === 'number') this.created ??= chunk.created
    this.usage = usageIn(chunk, this.usage) ?? this.usage
    if (chunk.service_tier !== undefined) this.tier = servedTier(chunk.service_tier) ?? this.tier
    const choice = Array.isArray(chunk.choices) ? chunk.choices.find((each) => isObject(each) && (each.index ?? 0) === 0) : undefined
    if (!isObject(choice)) this.late.keep(chunk)
    if (!isObject(choice)) return ''
    const delta = isObject(choice.delta) ? choice.delta : {}
    const joined = joinParts(delta)
    const mirrored = mirrorReasoning(delta)
    let edited = this.tidy(delta, choice) || joined
    // Written with escapes, for example, a name is not found in the text.
    if (mirrored && !mirrorsByText(frame)) edited = true
    const reason = choice.finish_reason
    const over = typeof reason === 'string' && reason !== ''
    if (over || isObject(choice.error)) edited = true
    let out = ''
    if (speaks(delta)) out = this.content(chunk, choice, delta, { frame, edited })
    else if (over) this.keepRest(choice, chunk)
    else if (delta.role === 'assistant' && !this.roleSent && this.held === '') this.held = this.written(chunk)
    else if (filled(choice.logprobs)) out = this.content(chunk, choice, delta, { frame, edited })
    if ((over && unify(reason, false) === 'error') || isObject(choice.error)) this.fail(choiceFault({ ...choice, finish_reason: reason }))
    else if (over) this.end = { reason: unify(reason, this.calls.slots.length > 0), raw: reason }
    return out
  }

  /** Puts right what clients trip over, in place; true if anything changed. */
  private tidy(delta: JsonObject, choice: JsonObject): boolean {
    let changed = dropEmptyMembers(delta)
    if (Array.isArray(delta.tool_calls)) {
      for (const fragment of delta.tool_calls) if (isObject(fragment) && this.tidyCall(fragment)) changed = true
      this.fragments += delta.tool_calls.length
      if (changed) this.tidying = true
    }
    if (choice.finish_reason === '') choice.finish_reason = null
    return changed
  }

  /** A fragment has an index always; id, type and name only the first time. */
  private tidyCall(fragment: JsonObject): boolean {
    const { slot, fresh } = this.calls.resolve(fragment)
    const spec = isObject(fragment.function) ? fragment.function : undefined
    let changed = fragment.index !== slot.index
    fragment.index = slot.index
    if (fresh) {
      if (fragment.id !== slot.id || fragment.type !== 'function') changed = true
      fragment.id = slot.id
      fragment.type = 'function'
      return changed
    }
    if (fragment.id !== undefined || fragment.type !== undefined) changed = true
    delete fragment.id
    delete fragment.type
    if (spec?.name !== undefined) {
      changed = true
      delete spec.name
    }
    return changed
  }

  private content(chunk: JsonObject, choice: JsonObject, delta: JsonObject, how: { frame: string; edited: boolean }): string {
    let { edited } = how
    let out = ''
    if (!this.roleSent) {
      out = this.held
      if (out === '' && delta.role !== 'assistant') {
        choice.delta = { role: 'assistant', ...delta }
        edited = true
      }
      this.roleSent = true
      this.held = ''
    }
    if (edited) {
      // Our own chunk reports the finish; what came with it must not be lost.
      choice.finish_reason = null
      delete choice.native_finish_reason
      delete choice.error
    }
    const text = edited ? this.written(chunk) : this.patched(chunk, how.frame)
    this.committed = true
    this.count(edited ? undefined : this.envelope, delta)
    return out + text
  }

  /** @param envelope what has counted the frame already; undefined where none has. */
  private count(envelope: Envelope | undefined, delta: JsonObject): void {
    if (envelope) {
      this.relayed += envelope.content
      this.images += envelope.images
      return
    }
    const frame = binary(JSON.stringify(delta))
    const words = frameWords(frame)
    this.relayed += words
    if (isImage(frame, words)) this.images++
  }

  /** The frame's own bytes behind our envelope, if it can be learned; else written anew. */
  private patched(chunk: JsonObject, frame: string): string {
    const known = this.envelope?.rewriteRead(frame)
    if (known !== undefined) return known
    if (this.lessons >= MAX_LESSONS) return this.written(chunk)
    this.envelope = Envelope.learn(frame, this.ctx)
    const out = this.envelope?.rewriteRead(frame)
    if (out !== undefined) return out
    this.lessons++
    this.envelope = undefined
    return this.written(chunk)
  }

  private written(chunk: JsonObject): string {
    return `data: ${binary(JSON.stringify(ourHeader(chunk, this.ctx)))}\n\n`
  }

  private keepRest(choice: JsonObject, chunk: JsonObject): void {
    this.late.keep(chunk)
    for (const key of Object.keys(choice)) {
      if (key === 'index' || key === 'delta' || key === 'finish_reason' || key === 'native_finish_reason' || key === 'error') continue
      this.rest += `,${JSON.stringify(key)}:${JSON.stringify(choice[key])}`
    }
  }
}

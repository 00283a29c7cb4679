/** The stream of the pass lane: content chunks keep their bytes, everything else is read and written anew. */
import { Fault } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { binary, utf8 } from '../../machines/sse/frames.ts'
import { NO_ARGUMENTS } from '../canon/call-arguments.ts'
import { laterEnd } from '../canon/ends.ts'
import { type End, MEDIA_BYTES } from '../canon/events.ts'
import { createdIn, onlyChoice } from '../canon/places.ts'
import { noteTier, type TierReport, tierBesideUsage } from '../canon/served-tier.ts'
import { NO_REPORT, withSearches } from '../canon/usage.ts'
import type { Quirks } from '../quirks.ts'
import { FramePassStream } from '../sse/pass-stream.ts'
import type { Final, ReplyContext } from '../types.ts'
import { type CallSlot, gatherArguments, ToolCalls } from './call-fragments.ts'
import { choiceEnd, eventFault, faultIn, OPEN } from './ends.ts'
import { Envelope, endsInForeignTier, frameWords, isImage, mirrorsByText, ourHeader, USUAL_TIER } from './pass-envelope.ts'
import { chunkHead, closingChunks, joinParts, LateMembers, mendChoice, mirrorReasoning, ReplyIdentity } from './reply.ts'
import { RunningUsage } from './running-usage.ts'
import { citeTools, Sources } from './sources.ts'
import { usageIn } from './usage.ts'
import { BUILTIN, BUILTIN_SEARCH } from './web-search.ts'

/** Fragments of calls that must be in order before further ones are trusted unread. */
const TRUSTED_FRAGMENTS = 2
/** Frames that may fail to teach an envelope before the stream is taken frame by frame for good. */
const MAX_LESSONS = 4

const filled = (value: unknown): boolean =>
  typeof value === 'string' || Array.isArray(value) ? value.length > 0 : value !== null && value !== undefined

/** Finds the fault that a frame reports. Nearly all frames have a choice or usage, and nothing in which an error stands. */
function failureIn(chunk: JsonObject, name: string | undefined): Fault | undefined {
  const { choices, usage, object } = chunk
  const hasAnswer = (Array.isArray(choices) && choices.length > 0) || (typeof usage === 'object' && usage !== null)
  const isUsual = hasAnswer && object === 'chat.completion.chunk' && (chunk.error ?? chunk.base_resp ?? chunk.type ?? name) === undefined
  return isUsual ? undefined : faultIn(chunk, name)
}

/** True where a delta says more than its role. */
function speaks(delta: JsonObject): boolean {
  for (const key in delta) if (key !== 'role' && filled(delta[key])) return true
  return false
}

/** Pure ASCII, so that it is the same text in every encoding. */
const ascii = (text: string): string => text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

interface FrameFacts {
  readonly frame: string
  readonly edited: boolean
  readonly created: number | undefined
}

export class ChatPassStream extends FramePassStream {
  protected override readonly endsAtSentinel = true
  counted = 0
  /** Set where the provider is requested to count along. */
  readonly running: RunningUsage | undefined
  /** Made with the first fragment of one. */
  private calls: ToolCalls | undefined
  private envelope: Envelope | undefined
  private lessons = 0
  private fragments = 0
  /** True once a fragment had to be put right: then all of them are read. */
  private tidying = false
  /** A chunk with only the role, held until content follows. */
  private held = ''
  private roleSent = false
  private created: number | undefined
  private tier: TierReport | undefined
  /** The provider's word for it in the last chunk. */
  private tierWord: Json | undefined
  /** Made with the first tool that the provider has run. */
  private sources: Sources | undefined
  /** Members of the finishing choice that are not ours, such as its log probabilities. */
  private rest = ''
  private readonly late = new LateMembers()
  private readonly identity = new ReplyIdentity()

  constructor(ctx: ReplyContext, { running_usage: way }: Quirks = {}) {
    super(ctx, failureIn)
    if (way !== undefined) this.running = new RunningUsage(way)
  }

  protected run(frames: string, at: number): string | undefined {
    if (!this.envelope) return undefined
    this.runEnd = frames.length
    const all = at === 0 ? this.rewritten(frames, this.envelope) : undefined
    if (all !== undefined) return all
    // Of many frames that came together one alone may be of another kind.
    const end = frames.indexOf('\n\n', at) + 2
    this.runEnd = end
    return at === 0 && end === frames.length ? undefined : this.rewritten(frames.slice(at, end), this.envelope)
  }

  /** Frames whose envelope is known, without a parse; undefined where any of them may be something else. */
  private rewritten(frames: string, envelope: Envelope): string | undefined {
    const trusted = this.fragments >= TRUSTED_FRAGMENTS && !this.tidying
    const { running } = this
    const plain = running ? running.strip(frames) : frames
    const out = envelope.rewrite(plain, trusted)
    if (out === undefined) return undefined
    if (trusted && this.calls) gatherArguments(plain, this.calls)
    this.relayed += envelope.content
    this.images += envelope.images
    this.runPlain = envelope.plain
    if (plain !== frames) this.counted = this.relayed
    // The envelope has the id.
    this.identity.steady = true
    return out
  }

  protected get areBroken(): boolean {
    return this.calls?.areBroken === true
  }

  protected override missEnd(): void {
    // A call of which nothing says that it is complete was interrupted.
    if (this.over && this.anything && !this.calls) this.end = { reason: 'stop' }
    else super.missEnd()
  }

  protected override complete(end: End): string {
    if (this.tier) noteTier(end, this.tier)
    return this.calls ? this.emptyCalls(this.calls) : ''
  }

  finish(final: Final): string {
    const delta = this.roleSent ? '{}' : '{"role":"assistant","content":""}'
    const head = chunkHead(this.ctx, this.created ?? this.ctx.created)
    const text = closingChunks(this.ctx, final, head, { delta, rest: this.rest, members: this.late.text() })
    return Buffer.byteLength(text) === text.length ? text : ascii(text)
  }

  /** It may have been cut, so it is read whatever it looks like. */
  protected override lastFrame(frame: string): string {
    return this.frame(frame)
  }

  protected override unreadEvent(data: string, name: string | undefined): Fault {
    return name?.trimEnd() === 'error' ? eventFault(utf8(data)) : super.unreadEvent(data, name)
  }

  protected read(chunk: JsonObject, frame: string): string {
    const { running } = this
    if (!running) return this.chunk(chunk, frame)
    const before = running.taken
    const plain = running.strip(frame)
    running.take(chunk)
    const out = this.chunk(chunk, plain)
    if (running.taken > before) this.counted = this.relayed
    return out
  }

  private chunk(chunk: JsonObject, frame: string): string {
    const created = createdIn(chunk)
    const choice = onlyChoice(chunk.choices)
    if (!choice || choice.usage || chunk.usage || chunk.x_groq) this.usage = usageIn(chunk, this.usage) ?? this.usage
    if (this.sources) this.countSearches(this.sources)
    const { service_tier: tierWord } = chunk
    if (tierWord !== this.tierWord || chunk.usage) this.tier = tierBesideUsage(chunk) ?? this.tier
    this.tierWord = tierWord
    this.created ??= created
    if (!choice) {
      this.late.keep(chunk, this.ctx.brand)
      return ''
    }
    // Some servers write the last chunk as a whole reply, with `message`.
    const isWhole = choice.delta === undefined && isObject(choice.message) && !this.committed
    if (isWhole) {
      choice.delta = choice.message ?? null
      delete choice.message
    }
    const delta = isObject(choice.delta) ? choice.delta : {}
    if (this.identity.isAnother(chunk, delta, this.committed)) return this.fail(new Fault('upstream_garbled'))
    let edited = (Array.isArray(delta.content) && joinParts(delta, delta.content)) || isWhole
    if (Array.isArray(delta.executed_tools) && this.cites(delta)) edited = true
    // Written with escapes, for example, a name is not found in the text.
    const reasons = (delta.reasoning ?? delta.reasoning_content ?? delta.reasoning_details) !== undefined
    if (reasons && mirrorReasoning(delta, this.ctx) && (this.ctx.refusesTwoNames === true || !mirrorsByText(frame))) edited = true
    let isMended = mendChoice(choice, delta)
    if (Array.isArray(delta.tool_calls)) isMended = this.tidyCalls(delta.tool_calls, isMended)
    if (isMended) edited = true
    if (choice.finish_reason === '' || choice.finish_reason === 'null') choice.finish_reason = null
    if ((tierWord ?? USUAL_TIER) !== USUAL_TIER && endsInForeignTier(frame)) edited = true
    const isOpen = (choice.finish_reason ?? choice.error ?? null) === null
    const { word, reason, fault } = isOpen ? OPEN : choiceEnd(choice, chunk)
    const over = word !== undefined
    if (over || fault) edited = true
    let out = ''
    if (speaks(delta)) out = this.content(chunk, choice, delta, { frame, edited, created })
    else if (over) this.keepRest(choice, chunk)
    else if (delta.role === 'assistant' && !this.roleSent && this.held === '') this.held = this.written(chunk, created)
    else if (filled(choice.logprobs)) out = this.content(chunk, choice, delta, { frame, edited, created })
    if (fault) this.fail(fault)
    else if (over) {
      const end: End = { reason: reason === 'stop' && this.calls ? 'tool_calls' : reason, raw: word }
      this.end = this.end ? laterEnd(this.end, end) : end
    }
    return out
  }

  /** Sources of tools that the provider has run, in the frame that shows them. */
  private cites(delta: JsonObject): boolean {
    this.sources ??= new Sources()
    const isChanged = citeTools(delta, this.sources)
    this.countSearches(this.sources)
    return isChanged
  }

  private ran({ name, index }: CallSlot): void {
    this.sources ??= new Sources()
    this.sources.readCall(name, index)
    this.countSearches(this.sources)
  }

  private countSearches({ searches }: Sources): void {
    if (searches > 0) this.usage = withSearches(this.usage ?? NO_REPORT, searches)
  }

  /** Puts right what clients trip over, in place; true if anything changed. @param isMended true if something beside them has. */
  private tidyCalls(fragments: readonly Json[], isMended: boolean): boolean {
    let changed = isMended
    for (const fragment of fragments) if (isObject(fragment) && this.tidyCall(fragment)) changed = true
    this.fragments += fragments.length
    if (changed) this.tidying = true
    return changed
  }

  /** A fragment has an index always; id, type and name only the first time. */
  private tidyCall(fragment: JsonObject): boolean {
    this.calls ??= new ToolCalls()
    const { slot, fresh, text } = this.calls.resolve(fragment)
    if (slot.name === BUILTIN_SEARCH) this.ran(slot)
    const spec = isObject(fragment.function) ? fragment.function : undefined
    let changed = fragment.index !== slot.index
    fragment.index = slot.index
    if (spec?.arguments !== undefined && spec.arguments !== text) {
      spec.arguments = text
      changed = true
    }
    if (fresh) {
      const type = slot.isFunction && fragment.type !== BUILTIN ? 'function' : fragment.type
      if (fragment.id !== slot.id || fragment.type !== type) changed = true
      fragment.id = slot.id
      if (type !== undefined) fragment.type = type
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

  /** A call without any arguments gets the empty object, so that callers can parse them. */
  private emptyCalls(calls: ToolCalls): string {
    const { ctx, end, created } = this
    if (end?.reason !== 'tool_calls') return ''
    let out = ''
    for (const { index, isFunction, args } of calls.slots) {
      if (!isFunction || args.trim() !== '') continue
      const delta = JSON.stringify({ tool_calls: [{ index, function: { arguments: NO_ARGUMENTS } }] })
      out += `${chunkHead(ctx, created ?? ctx.created)},"choices":[{"index":0,"delta":${delta},"finish_reason":null}]}\n\n`
    }
    return binary(out)
  }

  private content(chunk: JsonObject, choice: JsonObject, delta: JsonObject, how: FrameFacts): string {
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
    const text = edited ? this.written(chunk, how.created) : this.patched(chunk, how)
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
    if (words === MEDIA_BYTES && isImage(frame)) this.images++
  }

  /** The frame's own bytes behind our envelope, if it can be learned; else written anew. */
  private patched(chunk: JsonObject, { frame, created }: FrameFacts): string {
    const known = this.envelope?.rewriteRead(frame)
    if (known !== undefined) return known
    if (this.lessons >= MAX_LESSONS) return this.written(chunk, created)
    this.envelope = Envelope.learn(frame, created, this.ctx)
    const out = this.envelope?.rewriteRead(frame)
    if (out !== undefined) return out
    this.lessons++
    this.envelope = undefined
    return this.written(chunk, created)
  }

  private written(chunk: JsonObject, created: number | undefined): string {
    return `data: ${binary(JSON.stringify(ourHeader(chunk, created, this.ctx)))}\n\n`
  }

  private keepRest(choice: JsonObject, chunk: JsonObject): void {
    this.late.keep(chunk, this.ctx.brand)
    for (const key of Object.keys(choice)) {
      if (key === 'index' || key === 'delta' || key === 'finish_reason' || key === 'native_finish_reason' || key === 'error') continue
      this.rest += `,${JSON.stringify(key)}:${JSON.stringify(choice[key])}`
    }
  }
}

export const openPassStream = (ctx: ReplyContext, quirks?: Quirks): ChatPassStream => new ChatPassStream(ctx, quirks)

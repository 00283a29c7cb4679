/**
 * The pass lane of chat, to an OpenAI-compatible provider without the canonical form: requests and whole replies travel with a short list
 * of patches; of a stream content chunks keep their bytes, and everything else is read and written anew.
 */
import { Fault, unreadable } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { binary, FrameSplitter, frameData, utf8 } from '../../machines/sse/frames.ts'
import { NO_ARGUMENTS } from '../canon/call-arguments.ts'
import { endBroken, laterEnd } from '../canon/ends.ts'
import type { End } from '../canon/events.ts'
import { noteTier, type TierReport, tierBesideUsage } from '../canon/served-tier.ts'
import { NO_REPORT, type Usage, withSearches } from '../canon/usage.ts'
import type { Final, PassStream, PassWire, ReplyContext } from '../types.ts'
import { hidesReasoning } from './check.ts'
import { choiceFault, eventFault, faultIn, finishWord, unify } from './ends.ts'
import { createdIn, Envelope, endsInForeignTier, frameWords, isImage, mirrorsByText, ourHeader } from './pass-envelope.ts'
import { isCited, needsFunctions, passRequest } from './pass-request.ts'
import { passResult } from './pass-result.ts'
import { chunkHead, closingChunks, dropEmptyMembers, joinParts, LateMembers, mirrorReasoning, ReplyIdentity } from './reply.ts'
import { RunningUsage } from './running-usage.ts'
import { citeTools, Sources } from './sources.ts'
import { type CallSlot, gatherArguments, ToolCalls } from './tool-calls.ts'
import { usageIn } from './usage.ts'
import { BUILTIN, BUILTIN_SEARCH } from './web-search.ts'
import { CLIENT_ID } from './wire.ts'

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

const ERROR_EVENT = /^event: ?error\s*$/m

/** Pure ASCII, so that it is the same text in every encoding. */
const ascii = (text: string): string => text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

class ChatPassStream implements PassStream {
  usage?: Usage | undefined
  end?: End
  fault?: Fault
  committed = false
  plain = false
  relayed = 0
  images = 0
  counted = 0
  readonly running: RunningUsage | undefined
  private readonly ctx: ReplyContext
  private readonly splitter = new FrameSplitter()
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
  private frames = 0
  private done = false
  private tier: TierReport | undefined
  /** Made with the first tool that the provider has run. */
  private sources: Sources | undefined
  /** Members of the finishing choice that are not ours, such as its log probabilities. */
  private rest = ''
  private readonly late: LateMembers
  private readonly identity = new ReplyIdentity()

  /** @param running set where the provider is requested to count along. */
  constructor(ctx: ReplyContext, running: RunningUsage | undefined) {
    this.ctx = ctx
    this.running = running
    this.late = new LateMembers(ctx.brand)
  }

  feed(chunk: Buffer): string {
    this.plain = false
    if (this.done) return ''
    let batch: string
    try {
      batch = this.splitter.push(chunk)
    } catch (cause) {
      return this.fail(unreadable(cause))
    }
    if (batch === '') return ''
    const out = this.rewritten(batch)
    if (out === undefined) return this.byFrame(batch)
    this.plain = this.envelope?.plain === true
    return out
  }

  /** Frames whose envelope is known, without a parse; undefined where any of them may be something else. */
  private rewritten(frames: string): string | undefined {
    const { envelope } = this
    if (!this.committed || !envelope) return undefined
    const trusted = this.fragments >= TRUSTED_FRAGMENTS && !this.tidying
    const { running } = this
    const plain = running ? running.strip(frames) : frames
    const out = envelope.rewrite(plain, trusted)
    if (out === undefined) return undefined
    if (trusted && this.calls) gatherArguments(plain, this.calls)
    this.relayed += envelope.content
    this.images += envelope.images
    if (plain !== frames) this.counted = this.relayed
    // The envelope has the id.
    this.identity.steady = true
    return out
  }

  close(): string {
    const out = this.done ? '' : this.byFrame(this.splitter.close())
    if (this.fault === undefined && this.end === undefined) {
      // A call of which nothing says that it is complete was interrupted.
      if (this.done && this.frames > 0 && !this.calls) this.end = { reason: 'stop' }
      else this.fault = new Fault(this.frames > 0 ? 'upstream_cut' : 'upstream_empty')
    }
    if (this.end) noteTier(this.end, this.tier)
    this.done = true
    if (!this.end) return out
    const fault = this.calls?.areBroken ? endBroken(this.end) : undefined
    if (fault) this.fault ??= fault
    return out + this.emptyCalls()
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
      const frame = batch.slice(at, end)
      // Of many frames that came together one alone may be of another kind.
      const known = end - at < batch.length ? this.rewritten(frame) : undefined
      out += known ?? this.frame(frame)
      at = end
    }
    return out
  }

  private frame(frame: string): string {
    const data = frameData(frame)
    if (data === undefined || data === '') return ''
    const isError = ERROR_EVENT.test(frame)
    if (data === '[DONE]') {
      this.done = true
      return ''
    }
    let chunk: unknown
    try {
      chunk = JSON.parse(utf8(data))
    } catch {
      chunk = undefined
    }
    if (!isObject(chunk)) return this.fail(isError ? eventFault(utf8(data)) : new Fault('upstream_garbled'))
    const fault = faultIn(chunk, isError ? 'error' : undefined)
    if (fault) return this.fail(fault)
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
    this.frames++
    this.created ??= createdIn(chunk)
    this.usage = usageIn(chunk, this.usage) ?? this.usage
    this.countSearches()
    this.tier = tierBesideUsage(chunk) ?? this.tier
    const choice = Array.isArray(chunk.choices) ? chunk.choices.find((each) => isObject(each) && (each.index ?? 0) === 0) : undefined
    if (!isObject(choice)) this.late.keep(chunk)
    if (!isObject(choice)) return ''
    // Some servers write the last chunk as a whole reply, with `message`.
    const isWhole = choice.delta === undefined && isObject(choice.message) && !this.committed
    if (isWhole) choice.delta = choice.message ?? null
    if (isWhole) delete choice.message
    const delta = isObject(choice.delta) ? choice.delta : {}
    if (this.identity.isAnother(chunk, delta, this.committed)) return this.fail(new Fault('upstream_garbled'))
    const joined = joinParts(delta) || this.cites(delta)
    const mirrored = mirrorReasoning(delta)
    let edited = this.tidy(delta, choice) || joined || isWhole
    // Written with escapes, for example, a name is not found in the text.
    if ((mirrored && !mirrorsByText(frame)) || endsInForeignTier(frame)) edited = true
    const word = finishWord(choice)
    const fault = choiceFault(choice, chunk, word)
    const over = word !== undefined
    if (over || fault) edited = true
    let out = ''
    if (speaks(delta)) out = this.content(chunk, choice, delta, { frame, edited })
    else if (over) this.keepRest(choice, chunk)
    else if (delta.role === 'assistant' && !this.roleSent && this.held === '') this.held = this.written(chunk)
    else if (filled(choice.logprobs)) out = this.content(chunk, choice, delta, { frame, edited })
    if (fault) this.fail(fault)
    else if (over) this.end = laterEnd(this.end, { reason: unify(word, this.calls !== undefined), raw: word })
    return out
  }

  /** Sources of tools that the provider has run, in the frame that shows them. */
  private cites(delta: JsonObject): boolean {
    if (!Array.isArray(delta.executed_tools)) return false
    this.sources ??= new Sources()
    const isChanged = citeTools(delta, this.sources)
    this.countSearches()
    return isChanged
  }

  private ran({ name, index }: CallSlot): void {
    this.sources ??= new Sources()
    this.sources.readCall(name, index)
    this.countSearches()
  }

  private countSearches(): void {
    const searches = this.sources?.searches ?? 0
    if (searches > 0) this.usage = withSearches(this.usage ?? NO_REPORT, searches)
  }

  /** Puts right what clients trip over, in place; true if anything changed. */
  private tidy(delta: JsonObject, choice: JsonObject): boolean {
    let changed = dropEmptyMembers(delta)
    if (Array.isArray(delta.tool_calls)) {
      for (const fragment of delta.tool_calls) if (isObject(fragment) && this.tidyCall(fragment)) changed = true
      this.fragments += delta.tool_calls.length
      if (changed) this.tidying = true
    }
    if (choice.finish_reason === '' || choice.finish_reason === 'null') choice.finish_reason = null
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
  private emptyCalls(): string {
    const { calls, ctx, end, created } = this
    if (!calls || end?.reason !== 'tool_calls') return ''
    let out = ''
    for (const { index, isFunction, args } of calls.slots) {
      if (!isFunction || args.trim() !== '') continue
      const delta = JSON.stringify({ tool_calls: [{ index, function: { arguments: NO_ARGUMENTS } }] })
      out += `${chunkHead(ctx, created ?? ctx.created)},"choices":[{"index":0,"delta":${delta},"finish_reason":null}]}\n\n`
    }
    return binary(out)
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

export const chatPass: PassWire = {
  client: CLIENT_ID,
  signed:
    /"signature":\s?"(?=[^"])|"type":\s?"reasoning\.encrypted",[^{}]{0,400}?"data":\s?"(?=[^"])|"data":\s?"(?=[\w+/=-]+",[^{}]{0,400}"reasoning\.encrypted")/g,
  // Reasoning that the caller excluded is left out only where the reply is re-encoded, and so are functions in place of other tools.
  // Sources that the answer cites stand in it as annotations only where it is decoded.
  admits: (body, { quirks }) =>
    !hidesReasoning(body) && (quirks.custom_tools === true || !needsFunctions(body)) && !isCited(body, quirks.citations),
  request: passRequest,
  result: passResult,
  stream: (ctx, quirks) => new ChatPassStream(ctx, RunningUsage.of(quirks)),
}

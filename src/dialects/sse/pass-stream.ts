/**
 * Core of the pass lanes: cuts a provider's bytes into frames, sends on in one go those that a wire knows without a parse, has it read all
 * others, and ends the stream. Wires differ in what they know unread and in what they make of an event.
 */
import { Fault, unreadable } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import { eventName, FrameSplitter, frameData, frameObject, jsonObject } from '../../machines/sse/frames.ts'
import { endBroken } from '../canon/ends.ts'
import { isErrorEvent } from '../canon/error-shape.ts'
import type { End } from '../canon/events.ts'
import type { Final, PassFacts, PassStream, ProviderWire, ReplyContext } from '../types.ts'

const SENTINEL = '[DONE]'

/** False for a frame that the upstream's end cut in two; a whole one may merely lack its blank line. */
function isWhole(frame: string): boolean {
  return frameData(frame) === SENTINEL || frameObject(frame) !== undefined
}

/** Finds the failure that an event reports. @param name of the frame. */
type FailureIn = (message: JsonObject, name: string | undefined) => Fault | undefined

/** For a wire whose events state their type; one that its data does not name gets the name of its frame. */
export function typedFailure(decodeFault: ProviderWire['decodeFault']): FailureIn {
  return (message, name) => {
    if (isErrorEvent(message, name)) return decodeFault(200, message)
    message.type ??= name ?? ''
    return undefined
  }
}

export abstract class FramePassStream implements PassStream {
  usage: PassFacts['usage']
  firstUsage: PassFacts['firstUsage']
  beginning: PassFacts['beginning']
  end: PassFacts['end']
  fault: PassFacts['fault']
  replyId: PassFacts['replyId']
  committed = false
  plain = false
  relayed = 0
  images = 0
  protected readonly ctx: ReplyContext
  /** Nothing more is read. */
  protected over = false
  /** True where nothing is read behind the provider's own mark of the end. */
  protected readonly endsAtSentinel: boolean = false
  /** An event has come. */
  protected anything = false
  /** Just behind the last frame that `run` has read. */
  protected runEnd = 0
  /** True where all that it has read is words of the model. */
  protected runPlain = false
  private readonly splitter = new FrameSplitter()
  private readonly failureIn: FailureIn
  private readonly readEvent: (data: string) => JsonObject | undefined

  /** @param readEvent parses the data of an event; undefined where it is no object. */
  constructor(ctx: ReplyContext, failureIn: FailureIn, readEvent: (data: string) => JsonObject | undefined = jsonObject) {
    this.ctx = ctx
    this.failureIn = failureIn
    this.readEvent = readEvent
  }

  feed(chunk: Buffer): string {
    this.plain = false
    if (this.over) return ''
    try {
      const frames = this.splitter.push(chunk)
      return frames === '' ? '' : this.route(frames)
    } catch (error) {
      return this.fail(unreadable(error))
    }
  }

  close(): string {
    const rest = this.over ? '' : this.splitter.close()
    const out = rest === '' ? '' : this.lastFrame(rest)
    if (this.fault === undefined && this.end === undefined) this.missEnd()
    this.over = true
    if (this.end === undefined) return out
    const broken = this.areBroken ? endBroken(this.end) : undefined
    if (broken) this.fault ??= broken
    return out + this.complete(this.end)
  }

  abstract finish(final: Final): string

  /**
   * Sends on frames from `at` on without a parse, once content has gone out, and sets `runEnd` and `runPlain`.
   * @returns undefined where the first frame has to be read.
   */
  protected abstract run(frames: string, at: number): string | undefined

  /** Reads an event that is no failure. @returns what goes to the caller now. */
  protected abstract read(message: JsonObject, frame: string): string

  /** True where the arguments of any call are no JSON. */
  protected abstract get areBroken(): boolean

  /** Whole frames: runs of content in one go, everything else one by one. */
  protected route(frames: string): string {
    const { over } = this
    let out = ''
    for (let at = 0; at < frames.length && this.over === over; ) {
      // Behind the end no content is expected.
      const text = this.committed && this.end === undefined ? this.run(frames, at) : undefined
      if (text !== undefined) {
        if (at === 0 && this.runEnd === frames.length) {
          this.plain = this.runPlain
          return text
        }
        out += text
        at = this.runEnd
        continue
      }
      const blank = frames.indexOf('\n\n', at)
      // A frame always ends with a blank line; one that did not must not begin again for ever.
      const end = blank === -1 ? frames.length : blank + 2
      out += this.frame(frames.slice(at, end))
      at = end
    }
    return out
  }

  protected frame(frame: string): string {
    const message = this.parse(frame)
    if (message === undefined) return ''
    this.anything = true
    return this.read(message, frame)
  }

  /** @returns undefined for a frame without an event: a comment, the sentinel; a garbled one and an error end the stream. */
  protected parse(frame: string): JsonObject | undefined {
    const data = frameData(frame)
    if (data === undefined || data === '') return undefined
    if (data === SENTINEL) {
      if (this.endsAtSentinel) this.over = true
      return undefined
    }
    const name = eventName(frame)
    const message = this.readEvent(data)
    const fault = message ? this.failureIn(message, name) : this.unreadEvent(data, name)
    if (fault === undefined) return message
    this.fail(fault)
    return undefined
  }

  protected unreadEvent(_data: string, _name: string | undefined): Fault {
    return new Fault('upstream_garbled')
  }

  /** A last frame without its blank line. @returns what of it goes to the caller. */
  protected lastFrame(frame: string): string {
    return isWhole(frame) ? this.route(frame) : ''
  }

  /** The upstream has closed before any end. */
  protected missEnd(): void {
    this.fail(new Fault(this.anything ? 'upstream_cut' : 'upstream_empty'))
  }

  /** Adds to the end what is known once the stream has closed. @returns what still belongs to the reply. */
  protected complete(_end: End): string {
    return ''
  }

  protected fail(fault: Fault): string {
    this.over = true
    this.fault = fault
    return ''
  }
}

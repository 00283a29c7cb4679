/**
 * The stream of `InvokeModelWithResponseStream`: events `chunk`, each with an event of Claude's own format in base64, and exceptions of the
 * service (`ResponseStream`, npm @aws-sdk/client-bedrock-runtime 3.1164.0; npm @anthropic-ai/bedrock-sdk 1.1.3, core/streaming.js).
 */
import { type Fault, unreadable } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { Frame, FrameReader, Framing, OnFrame } from '../../machines/sse/framing.ts'
import type { End, StreamEvent } from '../canon/events.ts'
import type { Usage } from '../canon/usage.ts'
import type { Final, PassStream, StreamDecoder } from '../types.ts'
import { EventStreamReader, EXCEPTION, STREAM_TYPE } from './event-stream.ts'
import { decodeException } from './fault.ts'

/** Frames are the events of Claude's format by their types; exceptions are passed on as they are. */
export const claudeFraming: Framing = {
  type: STREAM_TYPE,
  reader: (onFrame) => new EventStreamReader((frame) => unwrap(frame, onFrame)),
}

const CHUNK = 'chunk'
const TYPE = /^\{"type": ?"([a-z_]{1,64})"/

function unwrap({ data, event }: Frame, onFrame: OnFrame): void {
  if (event?.startsWith(EXCEPTION)) {
    onFrame({ data, event })
    return
  }
  // A message that says not even what it is may be the report of a failure.
  if (event === undefined) throw new RangeError('a message of the stream is no event')
  // The SDK reads no other events.
  if (event !== CHUNK) return
  const { bytes } = objectIn(data)
  if (typeof bytes !== 'string') throw new RangeError('an event of the stream holds no bytes')
  const inner = Buffer.from(bytes, 'base64').toString('utf8')
  onFrame({ data: inner, event: TYPE.exec(inner)?.[1] })
}

/** Empty for what is none. */
function objectIn(data: string): JsonObject {
  try {
    const value: unknown = JSON.parse(data)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

function exceptionIn(data: string, event: string): Fault {
  return decodeException(event.slice(EXCEPTION.length), objectIn(data))
}

/** Claude's events, and exceptions of the service. */
export class ClaudeStreamDecoder implements StreamDecoder {
  private readonly inner: StreamDecoder
  private hasFailed = false

  constructor(inner: StreamDecoder) {
    this.inner = inner
  }

  feed(data: string, event: string | undefined, out: StreamEvent[]): void {
    if (this.hasFailed) return
    if (!event?.startsWith(EXCEPTION)) {
      this.inner.feed(data, event, out)
      return
    }
    this.hasFailed = true
    out.push({ type: 'fault', fault: exceptionIn(data, event) })
  }

  end(out: StreamEvent[]): void {
    if (!this.hasFailed) this.inner.end(out)
  }
}

/** The stream of the pass lane: the events go into it as server-sent ones. */
export class ClaudePassStream implements PassStream {
  private readonly inner: PassStream
  private readonly reader: FrameReader
  private failure: Fault | undefined
  /** Of the chunk that is read. */
  private text = ''

  constructor(inner: PassStream) {
    this.inner = inner
    this.reader = claudeFraming.reader((frame) => this.frame(frame))
  }

  get usage(): Usage | undefined {
    return this.inner.usage
  }
  get end(): End | undefined {
    return this.inner.end
  }
  get fault(): Fault | undefined {
    return this.failure ?? this.inner.fault
  }
  get committed(): boolean {
    return this.inner.committed
  }
  get plain(): boolean {
    return this.inner.plain
  }
  get relayed(): number {
    return this.inner.relayed
  }
  get images(): number {
    return this.inner.images
  }

  feed(chunk: Buffer): string {
    if (this.failure) return ''
    let broken: Fault | undefined
    try {
      this.reader.push(chunk)
    } catch (cause) {
      broken = unreadable(cause)
    }
    const { text } = this
    this.text = ''
    const out = text === '' ? '' : this.inner.feed(Buffer.from(text, 'utf8'))
    if (broken && !this.inner.end) this.failure ??= broken
    return out
  }

  close(): string {
    this.reader.close()
    return this.inner.close()
  }

  finish(final: Final): string {
    return this.inner.finish(final)
  }

  private frame({ data, event }: Frame): void {
    if (this.failure) return
    if (event?.startsWith(EXCEPTION)) {
      if (!this.inner.end) this.failure = exceptionIn(data, event)
      return
    }
    // Line ends within JSON are white space; here they would end the event.
    const line = data.includes('\n') || data.includes('\r') ? data.replaceAll(/[\r\n]+/g, ' ') : data
    this.text += event === undefined ? `data: ${line}\n\n` : `event: ${event}\ndata: ${line}\n\n`
  }
}

/** The usage that a reply of the pass-through reports, read on its way: the bytes that the caller gets are not touched. */
import type { IncomingHttpHeaders } from 'node:http'
import { contentCoding } from '../../core/content-coding.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { Pieces } from '../../core/pieces.ts'
import { type End, MEDIA_BYTES, type StreamEvent } from '../../dialects/canon/events.ts'
import { countsMore, type Usage } from '../../dialects/canon/usage.ts'
import type { EmbeddingWire, StreamDecoder, UpstreamDialect } from '../../dialects/types.ts'
import type { Frame, FrameReader } from '../../machines/sse/framing.ts'
import { EventReader } from '../../machines/sse/reader.ts'
import { frameCounts, headerCounts } from './invocation-counts.ts'

/** Bytes of a whole reply that are kept. */
const MOST = 8 * 1024 * 1024

export interface Reported {
  readonly usage: Usage
  readonly end: End | undefined
}

/** The part of a reply that came before it was cut off. */
export interface Delivered {
  /** The last report: it may count one side alone, and of the output what had come by then. */
  readonly usage: Usage | undefined
  /** Bytes of content that it does not cover: no token has fewer than one. */
  readonly content: number
  /** Milliseconds from the head to the first content, of which it counts nothing: the model may have reasoned unseen. */
  readonly unseen: number
}

interface ReplyForm {
  readonly dialect: UpstreamDialect
  /** Of lists of vectors. */
  readonly vectors?: EmbeddingWire | undefined
  /** Number of answers that the request wants: decoders read the first. */
  readonly answers: number
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/** Reads the replies of generations, or of lists of vectors. */
export class ReplyUsage {
  private readonly form: ReplyForm
  private readonly dialect: UpstreamDialect
  private readonly vectors: EmbeddingWire | undefined
  private frames: FrameReader | undefined
  private decoder: StreamDecoder | undefined
  private pieces: Pieces | undefined
  private last: Usage | undefined
  private end: End | undefined
  /** The counts of the service itself, whatever the model's own format is. */
  private counted: Usage | undefined
  private failed = false
  /** The decoder has stopped reading: from there on all bytes count as content. */
  private isLost = false
  /** The decoder has recognised the reply. */
  private isKnown = false
  private isStream = false
  private bytes = 0
  /** Bytes of content since the last report that counts the output. */
  private content = 0
  private isCovered = false
  /** Monotonic milliseconds. */
  private headAt = 0
  private contentAt: number | undefined
  private readonly out: StreamEvent[] = []

  constructor(form: ReplyForm) {
    this.form = form
    this.dialect = form.dialect
    this.vectors = form.vectors
  }

  /** True where the provider has reported a failure in a reply that had begun well. */
  get hasFailed(): boolean {
    return this.failed
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    this.headAt = this.form.now()
    if (status < 200 || status > 299) return
    if (contentCoding(headers['content-encoding']) !== undefined) return
    const type = String(headers['content-type'] ?? '').toLowerCase()
    const { framing } = this.dialect
    if (type.startsWith(framing?.type ?? 'text/event-stream')) {
      const decoder = this.dialect.streamDecoder()
      this.decoder = decoder
      this.isStream = true
      const onFrame = ({ data, event }: Frame): void => {
        this.counted = frameCounts(data) ?? this.counted
        this.note(() => decoder.feed(data, event, this.out), data)
      }
      this.frames = framing ? framing.reader(onFrame) : new EventReader(onFrame)
    } else {
      this.pieces = new Pieces()
      this.counted = headerCounts(headers)
    }
  }

  data(chunk: Buffer): void {
    this.bytes += chunk.length
    if (this.frames) {
      try {
        this.frames.push(chunk)
      } catch {
        // No frames of this wire: what is left says nothing.
        this.frames = undefined
        this.decoder = undefined
        this.last = undefined
        this.isLost = true
        this.add(this.bytes)
      }
    } else if (this.isLost) this.add(chunk.length)
    else if (this.pieces) {
      this.pieces.push(chunk)
      if (this.pieces.size > MOST) this.pieces = undefined
    }
  }

  /** @returns undefined where the reply has not counted both sides, or could not be read. */
  reported(): Reported | undefined {
    const { decoder, pieces } = this
    this.frames?.close()
    if (decoder) this.note(() => decoder.end(this.out))
    const body = pieces && parsed(pieces.take())
    // Without `alt=sse` the Gemini API streams a list of replies.
    if (Array.isArray(body)) this.list(body)
    else if (body !== undefined && isObject(body)) this.whole(body)
    this.frames = undefined
    this.decoder = undefined
    this.pieces = undefined
    const usage = this.isWhole() ? this.last : undefined
    const known = usage ?? this.counted
    return known && { usage: known, end: this.end }
  }

  /** @returns what has come so far; undefined where it cannot be read, so that nothing bounds what it has brought. */
  delivered(): Delivered | undefined {
    if (this.isStream) {
      const usage = this.last ?? this.counted
      const unseen = this.isCovered ? 0 : (this.contentAt ?? this.form.now()) - this.headAt
      return { usage, content: this.content, unseen }
    }
    return this.pieces ? { usage: this.counted, content: this.bytes, unseen: 0 } : undefined
  }

  /** True once anything of the body has come. */
  get hasBegun(): boolean {
    return this.bytes > 0
  }

  /** A stream that breaks off has counted no more than a part. */
  private isWhole(): boolean {
    const { last } = this
    return last !== undefined && last.inputUnknown !== true && last.outputUnknown !== true && this.end !== undefined
  }

  private whole(body: JsonObject): void {
    if (!this.vectors) {
      this.note(() => this.dialect.decodeResult(body, this.out))
      // Replies of the former completions have the form of a chunk.
      if (!this.end) this.list([body])
      return
    }
    try {
      this.last = this.vectors.decode(numbered(body, this.vectors.keys)).usage
      this.end = { reason: 'stop' }
    } catch {
      // Not a list of vectors.
    }
  }

  private list(replies: readonly Json[]): void {
    const decoder = this.dialect.streamDecoder()
    this.note(() => {
      for (const reply of replies) decoder.feed(JSON.stringify(reply), undefined, this.out)
      decoder.end(this.out)
    })
  }

  /** @param data of a frame of a stream. */
  private note(decode: () => void, data?: string): void {
    this.out.length = 0
    decode()
    if (data !== undefined) this.addFrame(data)
    for (const event of this.out) {
      if (event.type === 'usage' && event.usage.estimated !== true) this.report(event.usage)
      else if (event.type === 'end') this.end = event
      else if (event.type === 'fault') {
        if (!UNREADABLE.has(event.fault.code)) this.failed = true
        else if (!this.end) this.isLost = true
      }
    }
  }

  private report(usage: Usage): void {
    if (countsMore(usage, this.last)) {
      this.content = 0
      this.isCovered = true
    }
    this.last = usage
  }

  private add(bytes: number): void {
    if (bytes === 0) return
    this.contentAt ??= this.form.now()
    this.content += bytes
  }

  /** Counts what a frame brings by its events, and by its bytes where they do not show all of it. */
  private addFrame(data: string): void {
    const isSeen = this.out.length > 0
    this.isKnown ||= isSeen
    if (this.isLost || !this.isKnown || this.form.answers > 1) this.add(Buffer.byteLength(data))
    else if (isSeen) for (const event of this.out) this.add(contentBytes(event))
    else this.add(deltaIn(data))
  }
}

function contentBytes(event: StreamEvent): number {
  if (event.type === 'block-delta') return Buffer.byteLength(event.text)
  if (event.type === 'block-note') return event.note === 'format' ? 0 : jsonBytes(event.data)
  if (event.type === 'opaque') return jsonBytes(event.of.data)
  if (event.type !== 'block-start') return 0
  if (event.kind === 'media') return MEDIA_BYTES
  return jsonBytes(event.of?.data) + Buffer.byteLength(event.call?.name ?? '')
}

/** Of the texts of an object, and of all that is not flat. */
function jsonBytes(data: Json | undefined): number {
  if (data === undefined) return 0
  if (typeof data === 'string') return Buffer.byteLength(data)
  if (!isObject(data)) return Buffer.byteLength(JSON.stringify(data))
  return Object.values(data).reduce<number>((sum, value) => sum + jsonBytes(value), 0)
}

/** Content of a frame that its decoder keeps for later, such as a signature, or code that a tool of the provider runs. */
function deltaIn(data: string): number {
  if (data.includes('partial_image')) return MEDIA_BYTES
  if (!data.includes('"delta"')) return 0
  try {
    const { delta } = JSON.parse(data) as JsonObject
    return jsonBytes(delta)
  } catch {
    return Buffer.byteLength(data)
  }
}

/** With numbers in the place of vectors, as the decoders of their formats take them: of lists under `data` or `embeddings`. */
function numbered(body: JsonObject, keys: ReadonlySet<string>): JsonObject {
  const written = { ...body }
  for (const name of ['data', 'embeddings']) {
    const list = body[name]
    if (Array.isArray(list))
      written[name] = list.map((each, place) =>
        isObject(each) ? { ...each, ...Object.fromEntries([...keys].map((key) => [key, place])) } : place,
      )
  }
  return written
}

/** Codes of faults that a decoder itself reports, for a reply that it cannot read or that ends too early. */
const UNREADABLE: ReadonlySet<string> = new Set(['upstream_garbled', 'upstream_cut', 'upstream_empty'])

function parsed(bytes: Buffer): Json | undefined {
  try {
    return JSON.parse(bytes.toString('utf8')) as Json
  } catch {
    return undefined
  }
}

/** The usage that a reply of the pass-through reports, read on its way: the bytes that the caller gets are not touched. */
import type { IncomingHttpHeaders } from 'node:http'
import { contentCoding } from '../../core/content-coding.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { Pieces } from '../../core/pieces.ts'
import type { End, StreamEvent } from '../../dialects/canon/events.ts'
import type { Usage } from '../../dialects/canon/usage.ts'
import type { FrameReader } from '../../dialects/sse/framing.ts'
import { EventReader } from '../../dialects/sse/reader.ts'
import type { EmbeddingWire, StreamDecoder, UpstreamDialect } from '../../dialects/types.ts'
import { frameCounts, headerCounts } from './invocation-counts.ts'

/** Bytes of a whole reply that are kept. */
const MOST = 8 * 1024 * 1024

export interface Reported {
  readonly usage: Usage
  readonly end: End | undefined
}

/** Reads the replies of generations or, with the second, of lists of vectors. */
export class ReplyUsage {
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
  private readonly out: StreamEvent[] = []

  constructor(dialect: UpstreamDialect, vectors?: EmbeddingWire) {
    this.dialect = dialect
    this.vectors = vectors
  }

  /** True where the provider has reported a failure in a reply that had begun well. */
  get hasFailed(): boolean {
    return this.failed
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    if (status < 200 || status > 299) return
    if (contentCoding(headers['content-encoding']) !== undefined) return
    const type = String(headers['content-type'] ?? '').toLowerCase()
    const { framing } = this.dialect
    if (type.startsWith(framing?.type ?? 'text/event-stream')) {
      const decoder = this.dialect.streamDecoder()
      this.decoder = decoder
      const onFrame = (data: string, event: string | undefined): void => {
        this.counted = frameCounts(data) ?? this.counted
        this.note(() => decoder.feed(data, event, this.out))
      }
      this.frames = framing ? framing.reader(onFrame) : new EventReader(onFrame)
    } else {
      this.pieces = new Pieces()
      this.counted = headerCounts(headers)
    }
  }

  data(chunk: Buffer): void {
    if (this.frames) {
      try {
        this.frames.push(chunk)
      } catch {
        // No frames of this wire: what is left says nothing.
        this.frames = undefined
        this.decoder = undefined
        this.last = undefined
      }
    } else if (this.pieces) {
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

  private note(decode: () => void): void {
    this.out.length = 0
    decode()
    for (const event of this.out) {
      if (event.type === 'usage' && event.usage.estimated !== true) this.last = event.usage
      else if (event.type === 'end') this.end = event
      else if (event.type === 'fault' && !UNREADABLE.has(event.fault.code)) this.failed = true
    }
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

/** What a decoder calls a reply that it cannot read, or that ends too early: no word of the provider's. */
const UNREADABLE: ReadonlySet<string> = new Set(['upstream_garbled', 'upstream_cut', 'upstream_empty'])

function parsed(bytes: Buffer): Json | undefined {
  try {
    return JSON.parse(bytes.toString('utf8')) as Json
  } catch {
    return undefined
  }
}

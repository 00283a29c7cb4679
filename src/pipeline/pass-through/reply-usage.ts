/** The usage that a reply of the pass-through reports, read on its way: the bytes that the caller gets are not touched. */
import type { IncomingHttpHeaders } from 'node:http'
import { contentCoding } from '../../core/content-coding.ts'
import { isObject, type Json } from '../../core/json.ts'
import { Pieces } from '../../core/pieces.ts'
import type { StreamEvent } from '../../dialects/canon/events.ts'
import type { Usage } from '../../dialects/canon/usage.ts'
import type { FrameReader } from '../../dialects/sse/framing.ts'
import { EventReader } from '../../dialects/sse/reader.ts'
import type { StreamDecoder, UpstreamDialect } from '../../dialects/types.ts'

/** Bytes of a whole reply that are kept. */
const MOST = 8 * 1024 * 1024

export class ReplyUsage {
  private readonly dialect: UpstreamDialect
  private frames: FrameReader | undefined
  private decoder: StreamDecoder | undefined
  private pieces: Pieces | undefined
  private last: Usage | undefined

  constructor(dialect: UpstreamDialect) {
    this.dialect = dialect
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    if (status !== 200 || contentCoding(headers['content-encoding']) !== undefined) return
    const type = String(headers['content-type'] ?? '').toLowerCase()
    const { framing } = this.dialect
    if (type.startsWith(framing?.type ?? 'text/event-stream')) {
      const decoder = this.dialect.streamDecoder()
      this.decoder = decoder
      const onFrame = (data: string, event: string | undefined): void => this.note((out) => decoder.feed(data, event, out))
      this.frames = framing ? framing.reader(onFrame) : new EventReader(onFrame)
    } else this.pieces = new Pieces()
  }

  data(chunk: Buffer): void {
    if (this.frames) {
      try {
        this.frames.push(chunk)
      } catch {
        // No frames of this wire: what came before counts.
        this.frames = undefined
      }
    } else if (this.pieces) {
      this.pieces.push(chunk)
      if (this.pieces.size > MOST) this.pieces = undefined
    }
  }

  /** @returns undefined where none has been reported, or none could be read. */
  usage(): Usage | undefined {
    const { decoder, pieces, dialect } = this
    this.frames?.close()
    if (decoder) this.note((out) => decoder.end(out))
    const body = pieces && parsed(pieces.take())
    if (body !== undefined && isObject(body)) this.note((out) => dialect.decodeResult(body, out))
    this.frames = undefined
    this.decoder = undefined
    this.pieces = undefined
    return this.last
  }

  private note(decode: (out: StreamEvent[]) => void): void {
    const events: StreamEvent[] = []
    decode(events)
    for (const event of events) if (event.type === 'usage' && event.usage.estimated !== true) this.last = event.usage
  }
}

function parsed(bytes: Buffer): Json | undefined {
  try {
    return JSON.parse(bytes.toString('utf8')) as Json
  } catch {
    return undefined
  }
}

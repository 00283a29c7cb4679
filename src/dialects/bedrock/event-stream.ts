/**
 * The binary event stream of AWS (`application/vnd.amazon.eventstream`; smithy.io, "Amazon Event Stream Specification"). A message is its
 * length, the length of its headers and their checksum (4 bytes each), the headers, the payload, and a checksum of all before it. Both are
 * CRC32 as in gzip.
 */
import { crc32 } from 'node:zlib'
import { Pieces } from '../../core/pieces.ts'
import type { FrameReader, OnFrame } from '../../machines/sse/framing.ts'

export const STREAM_TYPE = 'application/vnd.amazon.eventstream'

/** In front of the type of an exception, to set it apart from the types of events. */
export const EXCEPTION = 'exception:'

const PRELUDE = 12
const CHECKSUM = 4
/** The specification allows 24 MiB of payload and 128 KiB of headers; a longer message is none that a provider of text sends. */
const MOST = 16 * 1024 * 1024
const MAX_HEADERS = 128 * 1024

/** Exceptions are members of the union of events in the types of AWS, such as `throttlingException`. */
const NAMES_ERROR = /(?:exception|error)$/i

const STRING = 7
/** Bytes of the values that have a fixed length, by their type; those of types 6 and 7 say it themselves. */
const FIXED: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 }

/** The headers whose values are text. @throws RangeError where they do not end where they should. */
function textHeaders(bytes: Buffer): Map<string, string> {
  const found = new Map<string, string>()
  let at = 0
  while (at < bytes.length) {
    const nameEnd = at + 1 + bytes.readUInt8(at)
    const type = bytes.readUInt8(nameEnd)
    const fixed = FIXED[type]
    if (fixed === undefined && type !== STRING && type !== STRING - 1) throw new RangeError('a header of the stream has an unknown type')
    const from = fixed === undefined ? nameEnd + 3 : nameEnd + 1
    const end = from + (fixed ?? bytes.readUInt16BE(nameEnd + 1))
    if (end > bytes.length) throw new RangeError('the headers of the stream are cut')
    if (type === STRING) found.set(bytes.toString('utf8', at + 1, nameEnd), bytes.toString('utf8', from, end))
    at = end
  }
  return found
}

/** Cuts the bytes of a stream into its messages, wherever they come apart. */
export class EventStreamReader implements FrameReader {
  private readonly onFrame: OnFrame
  private readonly pieces = new Pieces()
  /** Length of the message that is awaited; 0 until its prelude has come. */
  private awaited = 0
  private broken = false

  constructor(onFrame: OnFrame) {
    this.onFrame = onFrame
  }

  /** @throws RangeError for bytes that are no message, once: what comes behind them is not read. */
  push(chunk: Buffer): void {
    if (this.broken || chunk.length === 0) return
    this.pieces.push(chunk)
    if (this.pieces.size < (this.awaited || PRELUDE)) return
    try {
      this.read()
    } catch (cause) {
      this.broken = true
      this.pieces.clear()
      throw cause
    }
  }

  /** The rest is no whole message. */
  close(): void {
    this.pieces.clear()
  }

  private read(): void {
    let bytes = this.pieces.take()
    this.awaited = 0
    while (bytes.length >= PRELUDE) {
      const length = messageLength(bytes)
      if (bytes.length < length) {
        this.awaited = length
        break
      }
      this.message(bytes.subarray(0, length))
      bytes = bytes.subarray(length)
    }
    if (bytes.length > 0) this.pieces.push(bytes)
  }

  private message(bytes: Buffer): void {
    const end = bytes.length - CHECKSUM
    if (crc32(bytes.subarray(0, end)) !== bytes.readUInt32BE(end)) throw new RangeError('a message of the stream has a wrong checksum')
    const payload = PRELUDE + bytes.readUInt32BE(4)
    const headers = textHeaders(bytes.subarray(PRELUDE, payload))
    const data = bytes.toString('utf8', payload, end)
    const type = headers.get(':message-type')
    const exception = headers.get(':exception-type')
    const error = headers.get(':error-code')
    const event = headers.get(':event-type')
    // What names an error is one, whatever else the message says of itself.
    if (type === 'exception' || exception !== undefined) this.onFrame({ data, event: EXCEPTION + (exception ?? '') })
    else if (type === 'error' || error !== undefined)
      this.onFrame({ data: JSON.stringify({ message: headers.get(':error-message') ?? '' }), event: EXCEPTION + (error ?? '') })
    else if (event !== undefined && NAMES_ERROR.test(event)) this.onFrame({ data, event: EXCEPTION + event })
    else this.onFrame({ data, event })
  }
}

/** @returns bytes of the message that begins here. */
function messageLength(bytes: Buffer): number {
  if (crc32(bytes.subarray(0, PRELUDE - CHECKSUM)) !== bytes.readUInt32BE(PRELUDE - CHECKSUM))
    throw new RangeError('a message of the stream has a wrong checksum')
  const length = bytes.readUInt32BE(0)
  const headers = bytes.readUInt32BE(4)
  if (headers > MAX_HEADERS || length < PRELUDE + headers + CHECKSUM) throw new RangeError('the lengths of a message do not fit')
  if (length > MOST) throw new RangeError('an event of the stream is too long')
  return length
}

/** Decoders of content codings (RFC 9110 section 8.4.1), whose names have no case. */
import { Transform, type TransformCallback } from 'node:stream'
import {
  brotliDecompressSync,
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  gunzipSync,
  type InflateRaw,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib'

/** Headers that name no coding: some servers send an empty one, `none`, or the charset. */
const PLAIN: ReadonlySet<string> = new Set(['', 'identity', 'none', 'utf-8', 'utf8'])

/** @returns the name in lower case; undefined where the body is not encoded. Several names are one that is not known. */
export function contentCoding(header: string | readonly string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  const names = String(header)
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => !PLAIN.has(name))
  return names.length === 0 ? undefined : names.join(',')
}

export interface Decoder extends Transform {
  /** Bytes that have been decoded. */
  readonly bytesWritten: number
}

/** @param coding of `contentCoding`. @returns undefined for one that is not known, or a list of them. */
export function createDecoder(coding: string): Decoder | undefined {
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip()
    case 'deflate':
      return new Deflated()
    case 'br':
      return createBrotliDecompress()
    case 'zstd':
      return createZstdDecompress()
    default:
      return undefined
  }
}

/**
 * A short body, decoded at once. Where its end is missing: what has come of it.
 * @param coding of `contentCoding`. @param most bytes of the result.
 * @returns undefined for a coding that is not known, and where the bytes are none of it or hold more than `most`.
 */
export function decodedAtOnce(coding: string, bytes: Buffer, most: number): Buffer | undefined {
  const plain = { maxOutputLength: most, finishFlush: constants.Z_SYNC_FLUSH }
  try {
    switch (coding) {
      case 'gzip':
      case 'x-gzip':
        return gunzipSync(bytes, plain)
      case 'deflate':
        return isWrapped(bytes) ? inflateSync(bytes, plain) : inflateRawSync(bytes, plain)
      case 'br':
        return brotliDecompressSync(bytes, { maxOutputLength: most, finishFlush: constants.BROTLI_OPERATION_FLUSH })
      case 'zstd':
        return zstdDecompressSync(bytes, { maxOutputLength: most, finishFlush: constants.ZSTD_e_flush })
      default:
        return undefined
    }
  } catch {
    return undefined
  }
}

/** The zlib format begins with the method, 8, in the low half of its first byte (RFC 1950 section 2.2). */
const isWrapped = (bytes: Buffer): boolean => ((bytes[0] ?? 0) & 0x0f) === 8

/**
 * `deflate` is the format of zlib (RFC 9110 section 8.4.1.2: "some non-conformant implementations send the deflate compressed data
 * without the zlib wrapper").
 */
class Deflated extends Transform {
  private decoder: InflateRaw | ReturnType<typeof createInflate> | undefined

  /** As those of `node:zlib` count: without what came behind the end. */
  get bytesWritten(): number {
    return this.decoder?.bytesWritten ?? 0
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.decoder ??= this.open(chunk)
    this.decoder.write(chunk, done)
  }

  override _flush(done: TransformCallback): void {
    // Its end is behind it already where bytes came behind that of the body.
    if (!this.decoder || this.decoder.readableEnded) {
      done()
      return
    }
    this.decoder.once('end', () => done())
    this.decoder.end()
  }

  override _read(size: number): void {
    this.decoder?.resume()
    super._read(size)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.decoder?.destroy()
    done(error)
  }

  private open(first: Buffer): InflateRaw | ReturnType<typeof createInflate> {
    const decoder = isWrapped(first) ? createInflate() : createInflateRaw()
    decoder.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) decoder.pause()
    })
    decoder.on('error', (error) => this.destroy(error))
    return decoder
  }
}

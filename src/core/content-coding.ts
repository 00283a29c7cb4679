/** Decoders of content codings (RFC 9110 section 8.4.1), whose names have no case. */
import { Transform, type TransformCallback } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress, type InflateRaw } from 'node:zlib'

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

/** @param coding of `contentCoding`. @returns undefined for one that is not known, or a list of them. */
export function decoderOf(coding: string): Transform | undefined {
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
 * `deflate` is the format of zlib (RFC 9110 section 8.4.1.2: "some non-conformant implementations send the deflate compressed data
 * without the zlib wrapper"). The wrapper begins with the method, 8, in the low half of its first byte (RFC 1950 section 2.2).
 */
class Deflated extends Transform {
  private decoder: InflateRaw | ReturnType<typeof createInflate> | undefined

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    if (chunk.length === 0) {
      done()
      return
    }
    this.decoder ??= this.open(chunk)
    this.decoder.write(chunk, done)
  }

  override _flush(done: TransformCallback): void {
    if (!this.decoder) {
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
    const decoder = ((first[0] ?? 0) & 0x0f) === 8 ? createInflate() : createInflateRaw()
    decoder.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) decoder.pause()
    })
    decoder.on('error', (error) => this.destroy(error))
    return decoder
  }
}

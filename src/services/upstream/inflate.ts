/** Decodes a content encoding that a provider applied although none was requested; bounded output, paused with the reply. */

import type { Transform } from 'node:stream'
import { createDecoder } from '../../core/content-coding.ts'
import { Fault } from '../../core/faults.ts'

/** A reply never inflates past this many bytes. */
const MAX_INFLATED = 64 * 1024 * 1024

export interface InflateSink {
  data(chunk: Buffer): void
  end(): void
  /** A fault where the reply is too large; else the decompressor's own error. */
  fail(cause: Error): void
  /** After a `push` that returned false: more may come. */
  drained(): void
}

export class Inflater {
  private readonly stream: Transform
  private readonly sink: InflateSink
  /** First byte of every body in this coding, where it has one: a body without it was decoded before, with the header left in place. */
  private readonly magic: number | undefined
  private total = 0
  private plain: boolean | undefined

  constructor(stream: Transform, sink: InflateSink, magic?: number) {
    this.stream = stream
    this.sink = sink
    this.magic = magic
    stream.on('data', (chunk: Buffer) => {
      this.total += chunk.length
      if (this.total > MAX_INFLATED) stream.destroy(new Fault('upstream_oversized'))
      else sink.data(chunk)
    })
    stream.on('drain', () => sink.drained())
    stream.on('end', () => sink.end())
    stream.on('error', (cause) => sink.fail(cause))
  }

  /** @returns false where nothing more should come until `drained`. */
  push(chunk: Buffer): boolean {
    this.plain ??= this.magic !== undefined && chunk[0] !== this.magic
    if (!this.plain) return this.stream.write(chunk)
    this.sink.data(chunk)
    return true
  }

  /** Nothing is inflated meanwhile, but for what the stream's own small buffers hold. */
  pause(): void {
    this.stream.pause()
  }

  resume(): void {
    this.stream.resume()
  }

  close(): void {
    if (this.plain) this.sink.end()
    else this.stream.end()
  }

  /** Frees the decompressor; nothing more comes. */
  destroy(): void {
    this.stream.destroy()
  }
}

/** First bytes of codings that have them. */
const MAGIC: Readonly<Record<string, number>> = { gzip: 0x1f, 'x-gzip': 0x1f, zstd: 0x28 }

/** @param coding in lower case. @returns undefined for one that is not understood, or a list of them. */
export function inflaterFor(coding: string, sink: InflateSink): Inflater | undefined {
  const decoder = createDecoder(coding)
  return decoder && new Inflater(decoder, sink, MAGIC[coding])
}

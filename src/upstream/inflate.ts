/** Undoes a content encoding that a provider applied although none was asked for; bounded output. */

import type { Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'

/** A reply never inflates past this many bytes. */
const MAX_INFLATED = 64 * 1024 * 1024

export interface InflateSink {
  data(chunk: Buffer): void
  end(): void
  fail(cause: Error): void
}

export class Inflater {
  private readonly stream: Transform
  private total = 0

  constructor(stream: Transform, sink: InflateSink) {
    this.stream = stream
    stream.on('data', (chunk: Buffer) => {
      this.total += chunk.length
      if (this.total > MAX_INFLATED) stream.destroy(new Error('the inflated reply is too large'))
      else sink.data(chunk)
    })
    stream.on('end', () => sink.end())
    stream.on('error', (cause) => sink.fail(cause))
  }

  push(chunk: Buffer): void {
    this.stream.write(chunk)
  }

  close(): void {
    this.stream.end()
  }
}

/** @returns undefined for an encoding, or a list of them, that is not understood. */
export function inflaterFor(encoding: string | string[], sink: InflateSink): Inflater | undefined {
  switch (String(encoding).trim().toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return new Inflater(createGunzip(), sink)
    case 'deflate':
      return new Inflater(createInflate(), sink)
    case 'br':
      return new Inflater(createBrotliDecompress(), sink)
    case 'zstd':
      return new Inflater(createZstdDecompress(), sink)
    default:
      return undefined
  }
}

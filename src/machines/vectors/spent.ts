/**
 * Frees the memory of a reply's chunks as soon as nothing of them is needed any more. Left to the garbage collector, tens of
 * megabytes of them would pile up before it runs.
 */

export class SpentChunks {
  /** Those not given back, in order. */
  private readonly chunks: Buffer[] = []
  /** Bytes of those that were. */
  private freed = 0
  private due: ArrayBuffer[] = []

  /** A chunk comes in; its bytes may be read from now on. */
  came(chunk: Buffer): void {
    this.chunks.push(chunk)
  }

  /** Of the reply's first `bytes` nothing is needed any more, nor is there a view of them. */
  free(bytes: number): void {
    let count = 0
    for (const chunk of this.chunks) {
      if (this.freed + chunk.length > bytes) break
      this.freed += chunk.length
      count++
      const own = wholeBuffer(chunk)
      if (own && this.due.push(own) === 1) setImmediate(() => this.detach())
    }
    this.chunks.splice(0, count)
  }

  /** Runs after this turn of the event loop, when the sender of the chunk no longer uses it. */
  private detach(): void {
    const { due } = this
    this.due = []
    // Moved to a length of nothing, the old memory is free at once (ECMA-262, ArrayBuffer.prototype.transfer).
    for (const memory of due) memory.transfer(0)
  }
}

/** The memory of a chunk that fills it; undefined where the memory may hold other data too. */
function wholeBuffer({ buffer, byteLength }: Buffer): ArrayBuffer | undefined {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? buffer : undefined
}

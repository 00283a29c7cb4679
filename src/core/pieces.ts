/** Bytes that come in pieces, kept until they are whole. */

/**
 * Bytes below which a piece shares memory with others. A Buffer takes some 400 bytes beside its own, so that a body in chunks of one byte
 * would take four hundred times what limits count of it.
 */
const SMALL = 1024
/** Bytes of what small pieces share. */
const BLOCK = 16 * 1024

export class Pieces {
  /** Bytes so far. */
  size = 0
  private kept: Buffer[] = []
  /** Memory of small pieces that is not in a piece yet, and the number of bytes written to it. */
  private block: Buffer | undefined
  private written = 0

  /** Nearly always there is one piece: the first is kept as it is. */
  push(piece: Buffer): void {
    this.size += piece.length
    if (this.kept.length > 0 && piece.length < SMALL) this.join(piece)
    else {
      this.closeBlock()
      this.kept.push(piece)
    }
  }

  private join(piece: Buffer): void {
    if (!this.block || this.written + piece.length > this.block.length) {
      this.closeBlock()
      this.block = Buffer.allocUnsafeSlow(BLOCK)
    }
    piece.copy(this.block, this.written)
    this.written += piece.length
  }

  /** Makes the bytes written to the block a piece, in its place among the others. */
  private closeBlock(): void {
    if (!this.block || this.written === 0) return
    this.kept.push(this.block.subarray(0, this.written))
    this.block = this.block.subarray(this.written)
    this.written = 0
  }

  /** @returns all of it, which is kept in one piece. */
  whole(): Buffer {
    this.closeBlock()
    const [first] = this.kept
    const bytes = this.kept.length === 1 && first ? first : Buffer.concat(this.kept, this.size)
    this.kept = [bytes]
    return bytes
  }

  /** @returns all of it, of which nothing is kept. */
  take(): Buffer {
    const bytes = this.whole()
    this.clear()
    return bytes
  }

  clear(): void {
    this.kept = []
    this.block = undefined
    this.written = 0
    this.size = 0
  }
}

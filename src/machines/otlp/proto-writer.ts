/**
 * Writes messages in the wire format of Protocol Buffers (protobuf.dev, "Encoding"), into one buffer that is used again: what a caller
 * keeps it copies. A nested message is written behind one byte for its length, and moves where the length needs more.
 */

const FIRST_BYTES = 16 * 1024
/** A buffer that a long text has made longer is not kept. */
const MAX_KEPT = 256 * 1024
/** Bytes of a character at most, and of a varint. */
const UTF8 = 3
const VARINT = 10
/** Shorter texts are copied here, longer ones by Node. */
const SHORT = 48
const TWO_32 = 2 ** 32

export class ProtoWriter {
  private bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  private length = 0

  /** Bytes since `clear()`. Valid until the next write. */
  get written(): Buffer {
    return this.bytes.subarray(0, this.length)
  }

  clear(): void {
    this.length = 0
    if (this.bytes.length > MAX_KEPT) this.bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  }

  /** Begins a nested message. @returns what `end()` needs. */
  begin(field: number): number {
    this.tag(field, 2)
    this.room(1)
    return ++this.length
  }

  end(start: number): void {
    const size = this.length - start
    if (size < 0x80) {
      this.bytes[start - 1] = size
      return
    }
    const more = sizeOfVarint(size) - 1
    this.room(more)
    this.bytes.copyWithin(start + more, start, this.length)
    this.length = start - 1
    this.varint(size)
    this.length += size
  }

  text(field: number, text: string): void {
    this.tag(field, 2)
    this.room(VARINT + text.length * UTF8)
    const start = ++this.length
    this.characters(text)
    this.end(start)
  }

  /** Bytes that are at hand, such as a message that was written before. */
  block(field: number, block: Uint8Array): void {
    this.tag(field, 2)
    this.varint(block.length)
    this.raw(block)
  }

  /** Bytes without a tag or a length. */
  raw(block: Uint8Array): void {
    this.room(block.length)
    this.bytes.set(block, this.length)
    this.length += block.length
  }

  /** An id as its bytes. @param id hexadecimal digits, an even number of them and at most 254. */
  hex(field: number, id: string): void {
    this.tag(field, 2)
    const size = id.length / 2
    this.room(size + 1)
    this.bytes[this.length++] = size
    for (let i = 0; i < id.length; i += 2) {
      this.bytes[this.length++] = (digit(id.charCodeAt(i)) << 4) | digit(id.charCodeAt(i + 1))
    }
  }

  /** @param value an integer from 0 on; a negative one is written as its ten bytes. */
  int(field: number, value: number): void {
    this.tag(field, 0)
    this.varint(value)
  }

  double(field: number, value: number): void {
    this.tag(field, 1)
    this.room(8)
    this.length = this.bytes.writeDoubleLE(value, this.length)
  }

  fixed32(field: number, value: number): void {
    this.tag(field, 5)
    this.room(4)
    this.length = this.bytes.writeUInt32LE(value, this.length)
  }

  /** A count as fixed64. */
  fixed64(field: number, value: number): void {
    this.tag(field, 1)
    this.halves(value % TWO_32, Math.floor(value / TWO_32))
  }

  /** Doubles, or counts as fixed64, one behind the other. */
  packed(field: number, values: ArrayLike<number>, kind: 'double' | 'fixed64'): void {
    this.tag(field, 2)
    this.varint(values.length * 8)
    this.room(values.length * 8)
    for (let i = 0; i < values.length; i++) {
      const value = values[i] ?? 0
      if (kind === 'double') this.length = this.bytes.writeDoubleLE(value, this.length)
      else this.halves(value % TWO_32, Math.floor(value / TWO_32))
    }
  }

  /** A time as nanoseconds since the epoch, which a double cannot hold. @param ms milliseconds since the epoch, with fractions. */
  time(field: number, ms: number): void {
    const seconds = Math.floor(ms / 1000)
    const nanos = Math.round((ms - seconds * 1000) * 1e6)
    // In two parts, of which each product stays exact.
    const upper = Math.floor(seconds / 0x10000) * 1e9
    const low = (upper % 0x10000) * 0x10000 + (seconds % 0x10000) * 1e9 + nanos
    this.tag(field, 1)
    this.halves(low % TWO_32, Math.floor(upper / 0x10000) + Math.floor(low / TWO_32))
  }

  private halves(low: number, high: number): void {
    this.room(8)
    this.length = this.bytes.writeUInt32LE(low, this.length)
    this.length = this.bytes.writeUInt32LE(high, this.length)
  }

  private tag(field: number, type: number): void {
    this.varint((field << 3) | type)
  }

  private varint(value: number): void {
    this.room(VARINT)
    if (value < 0) {
      for (let rest = BigInt.asUintN(64, BigInt(value)); ; rest >>= 7n) {
        const last = rest < 0x80n
        this.bytes[this.length++] = Number(rest & 0x7fn) | (last ? 0 : 0x80)
        if (last) return
      }
    }
    let rest = value
    while (rest >= 0x80) {
      this.bytes[this.length++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    this.bytes[this.length++] = rest
  }

  private characters(text: string): void {
    if (text.length > SHORT) {
      this.length += this.bytes.write(text, this.length)
      return
    }
    const start = this.length
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code >= 0x80) {
        this.length = start + this.bytes.write(text, start)
        return
      }
      this.bytes[this.length++] = code
    }
  }

  private room(more: number): void {
    if (this.length + more <= this.bytes.length) return
    const longer = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, this.length + more))
    this.bytes.copy(longer, 0, 0, this.length)
    this.bytes = longer
  }
}

function sizeOfVarint(value: number): number {
  let size = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++
  return size
}

/** Of a lower-case hexadecimal digit. */
function digit(code: number): number {
  return code <= 0x39 ? code - 0x30 : code - 0x57
}

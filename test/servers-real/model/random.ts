/** The same random weights on each machine. */
export class Weights {
  private state: number

  constructor(seed: number) {
    this.state = seed
  }

  /** Between 0 and 1 (mulberry32). */
  private next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0
    let value = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) / 4294967296
  }

  /** Normally distributed. */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next())
  }

  matrix(size: number, scale: number): Float32Array {
    return Float32Array.from({ length: size }, () => this.normal() * scale)
  }
}

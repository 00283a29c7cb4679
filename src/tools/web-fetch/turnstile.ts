/** Lets so many through at a time; the others wait in the order in which they came. */
export class Turnstile {
  private free: number
  private readonly waiting: (() => void)[] = []

  constructor(most: number) {
    this.free = most
  }

  async through<T>(work: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free--
    else await new Promise<void>((resolve) => this.waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.waiting.shift()
      if (next) next()
      else this.free++
    }
  }
}

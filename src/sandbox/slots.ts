/** So many at once; the others wait in line. */
export class Slots {
  private free: number
  private readonly waiting: (() => void)[] = []

  constructor(count: number) {
    this.free = count
  }

  /** @throws the signal's reason where it ends before there is a place. */
  async take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.free > 0) {
      this.free--
      return
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const leave = (): void => {
      const at = this.waiting.indexOf(resolve)
      if (at === -1) return
      this.waiting.splice(at, 1)
      reject(signal.reason)
    }
    this.waiting.push(resolve)
    signal.addEventListener('abort', leave, { once: true })
    await promise.finally(() => signal.removeEventListener('abort', leave))
  }

  give(): void {
    const next = this.waiting.shift()
    if (next) next()
    else this.free++
  }
}

interface Waiting {
  key: string
  go: () => void
}

/** So many at once, and half of them for one key; the others wait in line. */
export class Slots {
  private free: number
  private readonly each: number
  private readonly held = new Map<string, number>()
  private readonly line: Waiting[] = []

  constructor(count: number) {
    this.free = count
    this.each = Math.ceil(count / 2)
  }

  /** @throws the signal's reason where it ends before there is a place. */
  async take(key: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting = { key, go: resolve }
    const leave = (): void => {
      const at = this.line.indexOf(waiting)
      if (at === -1) return
      this.line.splice(at, 1)
      reject(signal.reason)
    }
    this.line.push(waiting)
    signal.addEventListener('abort', leave, { once: true })
    this.serve()
    await promise.finally(() => signal.removeEventListener('abort', leave))
  }

  give(key: string): void {
    const held = (this.held.get(key) ?? 1) - 1
    if (held > 0) this.held.set(key, held)
    else this.held.delete(key)
    this.free++
    this.serve()
  }

  private serve(): void {
    while (this.free > 0) {
      const at = this.line.findIndex(({ key }) => (this.held.get(key) ?? 0) < this.each)
      if (at === -1) return
      const [{ key, go }] = this.line.splice(at, 1)
      this.free--
      this.held.set(key, (this.held.get(key) ?? 0) + 1)
      go()
    }
  }
}

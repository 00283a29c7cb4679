/** The end of an exchange before its time: the caller left, or the deadline passed. */
import type { Cancel } from '../plugin-api/exchange.ts'

const nothing = (): void => {}

export class CancelSource implements Cancel {
  aborted = false
  reason: unknown = undefined
  /** Nearly always one attempt waits, so the first has a place of its own. */
  private first: (() => void) | undefined
  private others: (() => void)[] | undefined
  private controller: AbortController | undefined

  onAbort(fn: () => void): () => void {
    if (this.aborted) {
      fn()
      return nothing
    }
    if (!this.first) {
      this.first = fn
      return () => {
        if (this.first === fn) this.first = undefined
      }
    }
    this.others ??= []
    this.others.push(fn)
    return () => {
      this.others = this.others?.filter((other) => other !== fn)
    }
  }

  abort(reason: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    const { first, others } = this
    this.first = undefined
    this.others = undefined
    first?.()
    if (others) for (const fn of others) fn()
    this.controller?.abort(reason)
  }

  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController()
      if (this.aborted) this.controller.abort(this.reason)
    }
    return this.controller.signal
  }
}

/** The end of an exchange before its time: the caller left, or the deadline passed. */
import type { Cancel } from '../plugin-api/exchange.ts'

export class CancelSource implements Cancel {
  aborted = false
  reason: unknown = undefined
  private waiting: Set<() => void> | undefined
  private controller: AbortController | undefined

  onAbort(fn: () => void): () => void {
    if (this.aborted) {
      fn()
      return () => {}
    }
    this.waiting ??= new Set()
    this.waiting.add(fn)
    return () => this.waiting?.delete(fn)
  }

  abort(reason: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    const { waiting } = this
    this.waiting = undefined
    if (waiting) for (const fn of waiting) fn()
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

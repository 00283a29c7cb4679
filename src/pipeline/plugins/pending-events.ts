/** Events that the tap of a plugin was given and has not emitted yet. */
import type { StreamEvent } from '../../plugin-api/index.ts'

/**
 * As long as the tap only passes events on or holds them back, they can be emitted in its place; once it has changed an event, its result for
 * the rest is unknown.
 */
export class PendingEvents {
  /** True once the tap emitted an event that it was not given. */
  changed = false
  private pending: StreamEvent[] = []

  received(event: StreamEvent): void {
    if (!this.changed) this.pending.push(event)
  }

  emitted(event: StreamEvent): void {
    if (this.changed) return
    const at = this.pending.indexOf(event)
    // Only what is no part of a block may overtake what is held.
    if (at === 0 || (at > 0 && event.type === 'usage')) this.pending.splice(at, 1)
    else if (event.type !== 'block-delta' || !this.joins(event.block, event.text)) {
      this.changed = true
      this.pending = []
    }
  }

  /** Returns all that is pending, and forgets it. */
  take(): readonly StreamEvent[] {
    const { pending } = this
    this.pending = []
    return pending
  }

  /** Takes off text that was cut in other places. @returns false where the pending text does not begin with it. */
  private joins(block: number, text: string): boolean {
    let rest = text
    while (rest !== '') {
      const [first] = this.pending
      if (first?.type !== 'block-delta' || first.block !== block) return false
      if (first.text.startsWith(rest)) {
        if (first.text === rest) this.pending.shift()
        else this.pending[0] = { ...first, text: first.text.slice(rest.length) }
        return true
      }
      if (!rest.startsWith(first.text)) return false
      rest = rest.slice(first.text.length)
      this.pending.shift()
    }
    return true
  }
}

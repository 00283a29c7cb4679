/** What a tap that stands in the stream still owes: events that it was given and has not handed on. */
import type { StreamEvent } from '../../plugin-api/index.ts'

/**
 * As long as a tap only passes on or holds back, what it owes can be handed on in its place.
 * Once it has changed something, what it would have made of the rest is unknown.
 */
export class OwedEvents {
  /** True once something came out that never went in. */
  changed = false
  private owed: StreamEvent[] = []

  given(event: StreamEvent): void {
    if (!this.changed) this.owed.push(event)
  }

  handedOn(event: StreamEvent): void {
    if (this.changed) return
    const at = this.owed.indexOf(event)
    // Only what is no part of a block may overtake what is held.
    if (at === 0 || (at > 0 && event.type === 'usage')) this.owed.splice(at, 1)
    else if (event.type !== 'block-delta' || !this.paid(event.block, event.text)) {
      this.changed = true
      this.owed = []
    }
  }

  /** Hands on all that is owed. */
  take(): readonly StreamEvent[] {
    const { owed } = this
    this.owed = []
    return owed
  }

  /** Text that was cut anew: it must be how the owed text begins. */
  private paid(block: number, text: string): boolean {
    let rest = text
    while (rest !== '') {
      const [first] = this.owed
      if (first?.type !== 'block-delta' || first.block !== block) return false
      if (first.text.startsWith(rest)) {
        if (first.text === rest) this.owed.shift()
        else this.owed[0] = { ...first, text: first.text.slice(rest.length) }
        return true
      }
      if (!rest.startsWith(first.text)) return false
      rest = rest.slice(first.text.length)
      this.owed.shift()
    }
    return true
  }
}

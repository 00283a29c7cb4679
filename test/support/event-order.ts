/** Asserts that canonical events come in a legal order. */
import type { StreamEvent } from '../../src/dialects/canon/events.ts'

export class EventOrder {
  private readonly open = new Set<number>()
  private next = 0
  private ended = false

  /** @throws Error naming the rule that the event broke. */
  check(event: StreamEvent): void {
    if (this.ended && event.type !== 'usage') throw new Error(`event order: ${event.type} after the end`)
    switch (event.type) {
      case 'block-start':
        if (event.block !== this.next) throw new Error(`event order: block ${event.block} starts, ${this.next} was due`)
        this.next++
        this.open.add(event.block)
        return
      case 'block-delta':
      case 'block-note':
        if (!this.open.has(event.block)) throw new Error(`event order: ${event.type} for block ${event.block}, which is not open`)
        return
      case 'block-end':
        if (!this.open.delete(event.block)) throw new Error(`event order: block ${event.block} ends twice or never started`)
        return
      case 'end':
        if (this.open.size > 0) throw new Error('event order: end while a block is open')
        this.ended = true
        return
      case 'fault':
        this.ended = true
    }
  }
}

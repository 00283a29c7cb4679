/**
 * Reads the calls of a decoded answer along, whatever its wire: none goes on without arguments, and an answer with a call whose arguments
 * are no JSON does not end as a success.
 */
import { isBroken, NO_ARGUMENTS } from './call-arguments.ts'
import { endBroken } from './ends.ts'
import type { StreamEvent } from './events.ts'

export class CallWatch {
  private readonly args = new Map<number, string>()
  private areBroken = false
  private readonly ours: ReadonlySet<string> | undefined

  /** @param ours names of tools that the gateway runs: it reports wrong arguments to the model. */
  constructor(ours: ReadonlySet<string> | undefined) {
    this.ours = ours
  }

  /** Looks at the events from `from` on, and puts them right in place. */
  read(events: StreamEvent[], from = 0): void {
    for (let at = from; at < events.length; at++) {
      const event = events[at]
      if (event === undefined) return
      switch (event.type) {
        case 'block-start':
          if (event.kind === 'call' && !(event.call && this.ours?.has(event.call.name))) this.args.set(event.block, '')
          break
        case 'block-delta': {
          const before = this.args.size === 0 ? undefined : this.args.get(event.block)
          if (before !== undefined) this.args.set(event.block, before + event.text)
          break
        }
        case 'block-end':
          if (this.args.size > 0 && this.ended(event.block))
            events.splice(at++, 0, { type: 'block-delta', block: event.block, text: NO_ARGUMENTS })
          break
        case 'end': {
          const fault = this.areBroken ? endBroken(event) : undefined
          if (fault) events[at] = { type: 'fault', fault }
        }
      }
    }
  }

  /** @returns true for a call without any arguments. */
  private ended(block: number): boolean {
    const args = this.args.get(block)
    if (args === undefined) return false
    this.args.delete(block)
    this.areBroken ||= isBroken(args)
    return args.trim() === ''
  }
}

/** A part of the store that this process holds as a whole, and reads as a whole. */
import { HeldPart, type HeldPartOptions } from './held-part.ts'
import type { Dealing } from './record-calls.ts'

export type HeldSnapshotOptions = HeldPartOptions

export abstract class HeldSnapshot<Snapshot> extends HeldPart {
  /** In force. Empty before `load`. */
  current: Snapshot

  /** @param what names it in reports of an outage. */
  constructor(empty: Snapshot, what: Dealing, options: HeldSnapshotOptions) {
    super(what, options)
    this.current = empty
  }

  abstract all(): Snapshot | Promise<Snapshot>

  protected async look(): Promise<() => boolean> {
    const found = await this.all()
    return () => {
      if (JSON.stringify(found) === JSON.stringify(this.current)) return false
      this.current = found
      return true
    }
  }
}

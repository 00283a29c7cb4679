/** Observations about providers, kept for a limited time: another server may answer at the address by then. */
import type { Clock } from './clock.ts'

export interface Kept {
  /** Milliseconds. */
  readonly forMs: number
  /** Entries; the oldest one gives way. */
  readonly most: number
}

export class Remembered<Value> {
  private readonly clock: Clock
  private readonly kept: Kept
  /** By key, the one that was noted last stands last. */
  readonly known = new Map<string, { readonly value: Value; readonly until: number }>()

  constructor(clock: Clock, kept: Kept) {
    this.clock = clock
    this.kept = kept
  }

  note(key: string, value: Value): void {
    this.known.delete(key)
    this.known.set(key, { value, until: this.clock.monotonic() + this.kept.forMs })
    if (this.known.size <= this.kept.most) return
    for (const oldest of this.known.keys()) {
      this.known.delete(oldest)
      return
    }
  }

  get(key: string): Value | undefined {
    const found = this.known.get(key)
    return found && this.clock.monotonic() < found.until ? found.value : undefined
  }
}

/**
 * Under overload the short requests of a key are refused at the rate at which its long bodies are. Otherwise its short requests, which
 * wait for no long body, would take the processor time that its long bodies need: at three times the load those got a fifth of their share.
 * Only keys that have long bodies refused are concerned, and of these each by its own.
 */

/** Milliseconds after which what was counted weighs half as much. */
const HALF_LIFE = 500

/** Long bodies of the last moments below which a key is not counted any more. */
const FORGOTTEN = 0.5

/**
 * Part of the short requests of a key that is admitted whatever happens to its long bodies: one costs a twelfth of 330 KB to serve, and a
 * seventh of itself to refuse, so that refusing more of them would serve few long bodies more.
 */
const MIN_ADMITTED = 0.5

/** Keys that are counted; each sends long bodies under overload. */
const MAX_KEYS = 4096

interface Counted {
  /** Long bodies, and those of them that were refused; both decay. */
  offered: number
  refused: number
  /** Grows with each short request by the part that is admitted; one that is admitted takes 1. */
  credit: number
}

export class ShedRatio {
  private readonly keys = new Map<string, Counted>()
  private readonly now: () => number
  private decayedAt = 0

  constructor(now: () => number) {
    this.now = now
  }

  /** A long body of a key has been announced. */
  offered(payer: string): void {
    this.decay()
    const counted = this.keys.get(payer)
    if (counted) counted.offered++
    else if (this.keys.size < MAX_KEYS) this.keys.set(payer, { offered: 1, refused: 0, credit: 1 })
  }

  /** A long body of a key has been refused because it would have waited for too long. */
  refused(payer: string): void {
    const counted = this.keys.get(payer)
    if (counted) counted.refused++
  }

  /** @returns whether the next short request of a key is admitted. */
  admitsShort(payer: string): boolean {
    this.decay()
    const counted = this.keys.get(payer)
    if (!counted || counted.refused < FORGOTTEN) return true
    counted.credit += Math.max(MIN_ADMITTED, 1 - counted.refused / counted.offered)
    if (counted.credit < 1) return false
    counted.credit--
    return true
  }

  private decay(): void {
    const now = this.now()
    if (now - this.decayedAt < HALF_LIFE) return
    const part = 0.5 ** Math.floor((now - this.decayedAt) / HALF_LIFE)
    this.decayedAt = now
    for (const [payer, counted] of this.keys) {
      counted.offered *= part
      counted.refused *= part
      if (counted.offered < FORGOTTEN) this.keys.delete(payer)
    }
  }
}

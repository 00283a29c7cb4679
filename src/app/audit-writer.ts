/**
 * Entries of the audit log about what no store changes: configurations that come into force, and sign-ins that were refused. They are
 * written in the background, in their order; while the store does not answer they wait.
 */
import type { Clock, Timer } from '../core/clock.ts'
import { asFault } from '../core/faults.ts'
import type { AuditLogStore, UntimedEntry } from '../store/audit-log.ts'

export interface AuditWriterOptions {
  readonly store: Pick<AuditLogStore, 'add'>
  readonly clock: Pick<Clock, 'after'>
  readonly log: { warn(facts: object, text: string): void }
}

/** Milliseconds until entries that could not be written are tried again, and for the last try at the end. */
const RETRY_MS = 1_000
const MAX_CLOSE_MS = 2_000
/** Entries that wait at once, and those of one transaction. */
const MAX_WAITING = 10_000
const BATCH = 500

export class AuditWriter {
  private readonly options: AuditWriterOptions
  private waiting: UntimedEntry[] = []
  private dropped = 0
  private writing: Promise<void> | undefined
  private timer: Timer | undefined
  private isFailing = false

  constructor(options: AuditWriterOptions) {
    this.options = options
  }

  note(entry: UntimedEntry): void {
    if (this.waiting.length >= MAX_WAITING) {
      this.dropped++
      return
    }
    this.waiting.push(entry)
    if (!this.timer) this.write()
  }

  /** Resolves when all that waits is written, or the store has failed. */
  async flush(): Promise<void> {
    while (this.writing) await this.writing
  }

  async close(): Promise<void> {
    this.stopTimer()
    this.write()
    const late = Promise.withResolvers<void>()
    const timer = this.options.clock.after(MAX_CLOSE_MS, late.resolve)
    await Promise.race([this.flush(), late.promise])
    timer.cancel()
    this.stopTimer()
  }

  private stopTimer(): void {
    this.timer?.cancel()
    this.timer = undefined
  }

  private write(): void {
    this.stopTimer()
    if (this.waiting.length === 0) return
    this.writing ??= this.batch().then((isWritten) => {
      this.writing = undefined
      if (isWritten) this.write()
      else this.timer = this.options.clock.after(RETRY_MS, () => this.write())
    })
  }

  /** @returns false where the store did not take them. */
  private async batch(): Promise<boolean> {
    const batch = this.waiting.slice(0, BATCH)
    try {
      await this.options.store.add(batch)
    } catch (thrown) {
      if (!this.isFailing) this.options.log.warn({ problem: asFault(thrown).message }, 'the audit log cannot be written: entries wait')
      this.isFailing = true
      return false
    }
    this.isFailing = false
    this.waiting = this.waiting.slice(batch.length)
    if (this.dropped > 0) this.options.log.warn({ count: this.dropped }, 'entries of the audit log were dropped: too many waited')
    this.dropped = 0
    return true
  }
}

/**
 * Raises an event a week and a day before a key ends. Whatever processes and restarts there are, the store keeps one event of each time
 * and end: they have the same name.
 */
import type { Clock, Timer } from '../../core/clock.ts'
import { KEY_EXPIRING, type NewEvent } from '../../core/event-types.ts'
import type { ApiKey } from '../../plugin-api/key.ts'

export type EndingKey = Pick<ApiKey, 'identity' | 'name' | 'label' | 'disabled' | 'expiresAt'> & {
  /** Milliseconds since the epoch; absent for keys of the file. */
  readonly createdAt?: number
}

export interface ExpiryWatchOptions {
  readonly clock: Pick<Clock, 'now' | 'after'>
  /** Keys of the configuration, as it is at the time. */
  readonly configured: () => readonly EndingKey[]
  /** Keys of the store behind a hash, a page at a time. */
  readonly after: (hash: string, most: number) => Promise<readonly (EndingKey & { hash: string })[]>
  readonly raise: (event: NewEvent) => void
  readonly failed: (cause: unknown) => void
}

const DAY_MS = 86_400_000
/** Days before the end, falling. */
export const WARNED_DAYS = [7, 1] as const
/** Milliseconds from one look to the next: a warning comes so much late at most. */
export const LOOK_ROUND_MS = 3_600_000
const FIRST_LOOK = 5_000
/** Keys of one page. */
const PAGE = 500
/** Warnings that are remembered; beyond it the store alone knows what has been raised. */
const MAX_REMEMBERED = 20_000

export class ExpiryWatch {
  private readonly options: ExpiryWatchOptions
  private readonly raised = new Set<string>()
  private timer: Timer | undefined
  private closed = false

  constructor(options: ExpiryWatchOptions) {
    this.options = options
    this.timer = options.clock.after(FIRST_LOOK, () => void this.round())
  }

  close(): void {
    this.closed = true
    this.timer?.cancel()
  }

  private async round(): Promise<void> {
    try {
      await this.look()
    } catch (cause) {
      if (!this.closed) this.options.failed(cause)
    }
    if (!this.closed) this.timer = this.options.clock.after(LOOK_ROUND_MS, () => void this.round())
  }

  private async look(): Promise<void> {
    for (const key of this.options.configured()) this.check(key)
    for (let hash = ''; !this.closed; ) {
      const page = await this.options.after(hash, PAGE)
      for (const key of page) this.check(key)
      const last = page.at(-1)
      if (page.length < PAGE || !last) return
      hash = last.hash
      // The embedded store answers at once: without a turn between the pages many keys would hold all requests up.
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** One warning for each look: where the day has come, that of the week would say less. */
  private check({ identity, name, label, disabled, expiresAt, createdAt }: EndingKey): void {
    if (disabled || expiresAt === null) return
    const now = this.options.clock.now()
    const left = expiresAt - now
    const days = WARNED_DAYS.findLast((each) => left <= each * DAY_MS)
    // The maker of a key that lasts no longer knows its end.
    if (days === undefined || left <= 0 || (createdAt !== undefined && expiresAt - createdAt <= days * DAY_MS)) return
    const once = `expiring:${identity}:${days}:${expiresAt}`
    if (this.raised.has(once)) return
    if (this.raised.size >= MAX_REMEMBERED) this.raised.clear()
    this.raised.add(once)
    const data = { key: identity, name, label, expires_at: new Date(expiresAt).toISOString(), days }
    this.options.raise(KEY_EXPIRING.make({ at: now, subject: identity, data, once }))
  }
}

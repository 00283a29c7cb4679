/**
 * Scans of the ledger that callers can start: one at a time in a process, shared by everybody who wants the same, and kept
 * for a while. Days that are over are read once.
 */
import type { Clock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import type { LedgerReader } from './types.ts'
import { DAY_MS, scanUse, type UseQuery, type UseRow } from './use.ts'
import { type Verdict, verifyLedger } from './verify.ts'

/** Milliseconds for which the figures of today and of the two days before are kept: processes forward rows late. */
const FRESH_MS = 300_000
const UNSETTLED_DAYS = 2
/** Days that are kept: no operation reads more. */
const MOST_DAYS = 31
/** Results of queries by key that are kept. */
const MOST_FILTERED = 32
/** Different scans that may wait for their turn, and the seconds that callers beyond are asked to wait. */
const MOST_WAITING = 8
const RETRY_SECONDS = 10
/** A verdict is kept for this many times as long as its scan took: verifying takes a tenth of the process at most. */
const VERDICT_LIFE = 10

interface Kept<T> {
  readonly value: T
  /** Monotonic milliseconds. */
  readonly until: number
}

export class LedgerScans {
  private readonly ledger: LedgerReader
  private readonly clock: Pick<Clock, 'now' | 'monotonic'>
  private readonly days = new Map<number, Kept<readonly UseRow[]>>()
  private readonly filtered = new Map<string, Kept<readonly UseRow[]>>()
  private readonly running = new Map<string, Promise<unknown>>()
  private verdict: Kept<Verdict> | undefined
  private last: Promise<unknown> = Promise.resolve()

  constructor(ledger: LedgerReader, clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.ledger = ledger
    this.clock = clock
  }

  /**
   * Sums per day, model, endpoint and provider. Figures of the last two days and of queries by key may be five minutes old.
   * @param query whole UTC days. @throws Fault `unavailable` where too many scans wait, or the ledger cannot be read.
   */
  use(query: UseQuery): Promise<readonly UseRow[]> {
    if (this.ledger.use) return this.ledger.use(query)
    return query.keys ? this.filteredUse(query) : this.wholeUse(query)
  }

  /**
   * The sum of the entries against the balances, and the rules that every row keeps.
   * The verdict of a long scan is kept for ten times as long as the scan took.
   * @throws Fault `unavailable`.
   */
  async verify(): Promise<Verdict> {
    if (this.verdict && this.verdict.until > this.clock.monotonic()) return this.verdict.value
    return this.once('verify', async () => {
      const begun = this.clock.monotonic()
      const value = await verifyLedger(this.ledger)
      const ended = this.clock.monotonic()
      this.verdict = { value, until: ended + VERDICT_LIFE * (ended - begun) }
      return value
    })
  }

  private async wholeUse({ from, until }: UseQuery): Promise<readonly UseRow[]> {
    const missing = this.firstMissing(from, until)
    if (missing !== undefined)
      await this.once(`${missing} ${until}`, async () => {
        // Another scan may have read them while this one waited.
        const first = this.firstMissing(missing, until)
        if (first !== undefined) this.keepDays(first, until, await scanUse(this.ledger, { from: first, until }))
      })
    const rows: UseRow[] = []
    for (let day = from; day < until; day += DAY_MS) rows.push(...(this.days.get(day)?.value ?? []))
    return rows
  }

  private firstMissing(from: number, until: number): number | undefined {
    for (let day = from; day < until; day += DAY_MS) if (!isKept(this.days.get(day), this.clock.monotonic())) return day
    return undefined
  }

  private keepDays(from: number, until: number, rows: readonly UseRow[]): void {
    const today = Math.floor(this.clock.now() / DAY_MS) * DAY_MS
    const fresh = this.clock.monotonic() + FRESH_MS
    const byDay = Map.groupBy(rows, ({ day }) => day)
    for (let day = from; day < until; day += DAY_MS) {
      const settled = day < today - UNSETTLED_DAYS * DAY_MS
      this.days.set(day, { value: byDay.get(day) ?? [], until: settled ? Number.POSITIVE_INFINITY : fresh })
    }
    for (const day of this.days.keys()) if (day <= today - MOST_DAYS * DAY_MS) this.days.delete(day)
  }

  private async filteredUse(query: UseQuery): Promise<readonly UseRow[]> {
    const name = JSON.stringify([query.from, query.until, query.keys])
    const kept = this.filtered.get(name)
    if (isKept(kept, this.clock.monotonic())) return kept.value
    return this.once(name, async () => {
      const value = await scanUse(this.ledger, query)
      this.filtered.delete(name)
      this.filtered.set(name, { value, until: this.clock.monotonic() + FRESH_MS })
      for (const oldest of this.filtered.keys()) {
        if (this.filtered.size <= MOST_FILTERED) break
        this.filtered.delete(oldest)
      }
      return value
    })
  }

  /** Joins the scan of this name that runs or waits, else starts one behind those that do. */
  private once<T>(name: string, scan: () => Promise<T>): Promise<T> {
    const running = this.running.get(name)
    // A name always stands for a scan of the same type.
    if (running) return running as Promise<T>
    if (this.running.size > MOST_WAITING)
      throw new Fault('unavailable', { message: 'Too many scans of the ledger wait', retryAfter: RETRY_SECONDS })
    const done = this.last.then(scan).finally(() => this.running.delete(name))
    this.last = done.catch(() => {})
    this.running.set(name, done)
    return done
  }
}

function isKept<T>(kept: Kept<T> | undefined, now: number): kept is Kept<T> {
  return kept !== undefined && kept.until > now
}

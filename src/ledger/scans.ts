/**
 * Scans of the ledger that callers can start: one at a time in a process, shared by all callers that want the same, and kept
 * for a while. Days that are over are read once.
 */
import type { Clock } from '../core/clock.ts'
import { Fault } from '../core/faults.ts'
import type { ChargeQuery, ChargeStatement } from './charge-sums.ts'
import type { LedgerLists, LedgerReader } from './reader.ts'
import { type SessionScan, scanSessions } from './session-use.ts'
import type { ExtremeList, ExtremeQuery, SliceList, SliceQuery } from './slices/slice-types.ts'
import { Slices } from './slices/slices.ts'
import type { FoundPage, GenerationSearch, SessionList, SessionQuery, SessionSlice, UseQuery, UseRow } from './types.ts'
import { DAY_MS, withMoves } from './use.ts'
import { type Verdict, verifyLedger } from './verify.ts'

/** Milliseconds for which the figures of today and of the two days before are kept: processes forward rows late. */
const FRESH_MS = 300_000
const UNSETTLED_DAYS = 2
/** Days that are kept: no operation reads more. */
const MAX_DAYS = 31
/** Results of queries by key that are kept. */
const MAX_FILTERED = 32
/** Rows of one of them, 4 MB; a longer result is read anew. */
const MAX_KEPT_ROWS = 20_000
/** Different scans that may wait for their turn, and the `Retry-After` in seconds of those beyond. */
const MAX_WAITING = 8
const RETRY_SECONDS = 10
/** A result is kept for this many times as long as its scan took: callers that want no fresh one take a tenth of the process at most. */
const LIFE = 10
/** Lists of sessions that are kept. */
const MAX_SESSION_LISTS = 4
/** Searches that run at once in a process. */
const MAX_SEARCHES = 4

/** A verdict that may be shared or kept. */
export interface DatedVerdict extends Verdict {
  /** ISO 8601: when its scan began. Whatever was recorded later need not be in it. */
  checked_at: string
}

/** The check that runs. */
export interface VerifyProgress {
  readonly full: boolean
  /** ISO 8601: when it began. */
  readonly checked_at: string
  /** Generations that it has read until now, and those of the last check with what that had covered before; null where none is known. */
  readonly generations: number
  readonly of: number | null
}

interface Scan {
  readonly done: Promise<unknown>
  /** It no longer waits for its turn. */
  begun: boolean
}

interface Kept<T> {
  readonly value: T
  /** Monotonic milliseconds. */
  readonly until: number
}

export class LedgerScans implements LedgerLists {
  private readonly ledger: LedgerReader
  private readonly clock: Pick<Clock, 'now' | 'monotonic'>
  private readonly days = new Map<number, Kept<readonly UseRow[]>>()
  private readonly filtered = new Map<string, Kept<readonly UseRow[]>>()
  private readonly sessionLists = new Map<string, Kept<SessionScan>>()
  private readonly running = new Map<string, Scan>()
  private searches = 0
  private verdict: Kept<DatedVerdict> | undefined
  private checking: VerifyProgress | undefined
  private last: Promise<unknown> = Promise.resolve()
  private readonly sliced: Slices

  /** @param ledger where another process makes the lists of it, they are that one's. */
  constructor(ledger: LedgerReader, clock: Pick<Clock, 'now' | 'monotonic' | 'after'>) {
    this.ledger = ledger
    this.clock = clock
    this.sliced = new Slices(ledger, clock)
    Object.assign(this, ledger.lists)
  }

  /**
   * Sums per day, model, endpoint and provider. Figures of the last two days and of queries of some keys may be five minutes old,
   * those of each key apart as old as their scan took, ten times; what entries have moved is of now.
   * @param query whole UTC days. @throws Fault `unavailable` where too many scans wait, or the ledger cannot be read.
   */
  async use(query: UseQuery): Promise<readonly UseRow[]> {
    const rows = await (query.keys || query.byKey ? this.filteredUse(query) : this.wholeUse(query))
    return query.withoutMoves ? rows : withMoves(this.ledger, query, rows)
  }

  /**
   * Sums per session, the one that was used last first. Which there are, and their order, is kept for ten times as long as it took to find.
   * @throws Fault 400 where there are too many sessions; `unavailable` where too many scans wait, or the ledger cannot be read.
   */
  async sessions(query: SessionQuery, slice: SessionSlice): Promise<SessionList> {
    const { from, until, keys, session } = query
    const name = JSON.stringify(['sessions', from, until, keys, session])
    const kept = this.sessionLists.get(name)
    const scan = isKept(kept, this.clock.monotonic()) ? kept.value : await this.once(name, () => this.sessionScan(name, query))
    const rows = await this.once(`${name} ${slice.offset} ${slice.limit}`, () => scan.rows(slice))
    return { total: scan.total, rows }
  }

  /** Generations, the newest first. @param before `<seq> <tag>`, or '' to begin. @throws Fault `unavailable` where too many searches run. */
  async search(query: GenerationSearch, before: string): Promise<FoundPage> {
    if (this.searches >= MAX_SEARCHES) throw new Fault('unavailable', { message: 'Too many searches of the ledger run', retryAfter: 1 })
    this.searches++
    try {
      return await this.ledger.search(query, before)
    } finally {
      this.searches--
    }
  }

  /** Nothing of it is kept: a charge-back is of the moment. @throws Fault 400 where there are too many sums, `unavailable` where too many scans wait. */
  charges(query: ChargeQuery): Promise<ChargeStatement> {
    return this.once(JSON.stringify(['charges', query]), () => this.ledger.charges(query), true)
  }

  /** These wait for no other scan: a visitor looks at them. @throws Fault 400, and `unavailable` where too many run. */
  slices(query: SliceQuery): Promise<SliceList> {
    return this.sliced.slices(query)
  }

  extremes(query: ExtremeQuery): Promise<ExtremeList> {
    return this.sliced.extremes(query)
  }

  private async sessionScan(name: string, query: SessionQuery): Promise<SessionScan> {
    const begun = this.clock.monotonic()
    const value = await scanSessions(this.ledger, query)
    const ended = this.clock.monotonic()
    keep(this.sessionLists, name, { value, until: ended + LIFE * (ended - begun) }, MAX_SESSION_LISTS)
    return value
  }

  /**
   * The sum of the entries against the balances, and the rules that every row keeps.
   * The verdict of a long scan is kept for ten times as long as the scan took; it states when the scan began.
   * @param options.fresh only a scan that begins from now on will do. @param options.full all generations are checked, whatever an earlier
   * check has covered. @throws Fault `unavailable`.
   */
  async verify({ fresh = false, full = false } = {}): Promise<DatedVerdict> {
    if (!fresh && !full && isKept(this.verdict, this.clock.monotonic())) return this.verdict.value
    const scan = async (): Promise<DatedVerdict> => {
      const begun = this.clock.monotonic()
      const checked_at = new Date(this.clock.now()).toISOString()
      const { verdict } = this
      const of = verdict ? verdict.value.generations + (verdict.value.before?.generations ?? 0) : null
      const read = (generations: number): void => {
        this.checking = { full, checked_at, generations, of }
      }
      read(0)
      const checked = await verifyLedger(this.ledger, { full, now: this.clock.now(), read }).finally(() => {
        this.checking = undefined
      })
      const value = { ...checked, checked_at }
      const ended = this.clock.monotonic()
      this.verdict = { value, until: ended + LIFE * (ended - begun) }
      return value
    }
    return this.once(full ? 'verify all' : 'verify', scan, fresh)
  }

  /** Progress of the running check; undefined where none runs. */
  get verifying(): VerifyProgress | undefined {
    return this.checking
  }

  private async wholeUse({ from, until }: UseQuery): Promise<readonly UseRow[]> {
    const missing = this.firstMissing(from, until)
    if (missing !== undefined)
      await this.once(`${missing} ${until}`, async () => {
        // Another scan may have read them while this one waited.
        const first = this.firstMissing(missing, until)
        if (first !== undefined) this.keepDays(first, until, await this.ledger.use({ from: first, until }))
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
    for (const day of this.days.keys()) if (day <= today - MAX_DAYS * DAY_MS) this.days.delete(day)
  }

  private async filteredUse(query: UseQuery): Promise<readonly UseRow[]> {
    const name = JSON.stringify([query.from, query.until, query.keys, query.byKey, query.apart, query.model, query.provider])
    const kept = this.filtered.get(name)
    if (isKept(kept, this.clock.monotonic())) return kept.value
    return this.once(name, async () => {
      const begun = this.clock.monotonic()
      const value = await this.ledger.use(query)
      const ended = this.clock.monotonic()
      // What is spent at this moment is watched by key.
      const life = query.byKey ? Math.min(FRESH_MS, LIFE * (ended - begun)) : FRESH_MS
      if (value.length <= MAX_KEPT_ROWS) keep(this.filtered, name, { value, until: ended + life }, MAX_FILTERED)
      return value
    })
  }

  /**
   * Joins the scan of this name that runs or waits, else starts one behind those that do.
   * @param fresh joins one that waits, and none that has begun.
   */
  private once<T>(name: string, read: () => Promise<T>, fresh = false): Promise<T> {
    const running = this.running.get(name)
    // A name always stands for a scan of the same type.
    if (running && !(fresh && running.begun)) return running.done as Promise<T>
    if (this.running.size > MAX_WAITING)
      throw new Fault('unavailable', { message: 'Too many scans of the ledger wait', retryAfter: RETRY_SECONDS })
    const done = this.last
      .then(() => {
        scan.begun = true
        return read()
      })
      .finally(() => {
        if (this.running.get(name) === scan) this.running.delete(name)
      })
    const scan: Scan = { done, begun: false }
    this.last = done.catch(() => {})
    this.running.set(name, scan)
    return done
  }
}

function isKept<T>(kept: Kept<T> | undefined, now: number): kept is Kept<T> {
  return kept !== undefined && kept.until > now
}

/** Keeps a result, and forgets the oldest ones beyond `most`. */
function keep<T>(results: Map<string, Kept<T>>, name: string, result: Kept<T>, most: number): void {
  results.delete(name)
  results.set(name, result)
  for (const oldest of results.keys()) {
    if (results.size <= most) break
    results.delete(oldest)
  }
}

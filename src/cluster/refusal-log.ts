/**
 * Counts the requests that the gateway itself refuses, by minute, key and reason, and keeps the latest of each in full. Rows are written
 * to the store in the background: no request waits for it, and 100,000 refusals of one key in a minute are one row for each reason.
 */
import type { Clock, Timer } from '../core/clock.ts'
import { FAULTS } from '../core/faults.ts'
import { randomTag } from '../core/ids.ts'
import { plainName } from '../core/plain-name.ts'
import { TOKEN_REFUSALS, tokenRefusal } from '../core/token-refusals.ts'
import { type MetricRegistry, reading } from '../machines/metrics/metrics.ts'
import type { RefusalRow, RefusalStore, RefusedRequest } from '../store/refusals.ts'
import { type ClusterReport, OutageReport, within } from './record-calls.ts'

export interface Refusal extends Omit<RefusedRequest, 'at'> {
  /** Identity; '' where the request had no key that is known. Of such a request no text is kept: a stranger decides it. */
  readonly key: string
  readonly reason: string
  readonly status: number
  readonly type: string
}

export interface RefusalLogOptions {
  readonly store: RefusalStore
  readonly clock: Pick<Clock, 'after' | 'now'>
  readonly report: (report: ClusterReport) => void
}

const unwritten = reading('gauge', 'refusals_unwritten', 'Rows of refused requests that wait for the store.')

const MINUTE = 60_000
/** Requests of a row that are kept in full, and the characters of their texts. */
const LATEST = 5
/** The same of requests without a known key: all callers who have mistyped theirs share a row. */
const LATEST_UNKNOWN = 20
const MAX_MESSAGE_LENGTH = 500
const MAX_NAME_LENGTH = 128
/** Rows in memory: beyond, requests are counted without their keys. */
const MAX_ROWS = 2_000
/** Milliseconds until a new row is written, until one is written again, and until a failed batch comes again; for one batch. */
const FIRST_WRITE = 250
const NEXT_WRITE = 2_000
const RETRY = 1_000
const MAX_PUT_MS = 10_000
const MAX_CLOSE_MS = 2_000
const BATCH = 100

interface OpenRow {
  readonly row: Omit<RefusalRow, 'detail'>
  readonly status: number
  readonly type: string
  readonly latest: RefusedRequest[]
  /** Requests by limit; undefined where none was named. */
  limits: Record<string, number> | undefined
  count: number
  last: number
  /** Refusals that the store has of it. */
  written: number
}

export class RefusalLog {
  /** Interface of it for other parts. A list holds all that this process has refused so far. */
  readonly store: RefusalStore
  private readonly options: RefusalLogOptions
  private readonly outage: OutageReport
  private readonly writer = randomTag()
  private readonly rows = new Map<string, OpenRow>()
  private made = 0
  private timer: Timer | undefined
  private dueAt = 0
  private writing: Promise<void> | undefined

  constructor(options: RefusalLogOptions) {
    this.options = options
    const { store } = options
    this.store = {
      put: (rows) => store.put(rows),
      list: async (query) => {
        await this.writeNow()
        return store.list(query)
      },
      prune: (before, most, age) => store.prune(before, most, age),
    }
    this.outage = new OutageReport('refusals', options.report)
  }

  /** Shows in the metrics of a gateway what waits. */
  showIn(metrics: MetricRegistry): void {
    metrics.of(unwritten).from(() => this.unwritten().length)
  }

  note(refusal: Refusal): void {
    const now = Math.floor(this.options.clock.now())
    const at = now - (now % MINUTE)
    const open = this.openRow(refusal, at)
    open.count++
    open.last = now
    const { limit } = refusal
    if (limit !== undefined) {
      open.limits ??= {}
      open.limits[limit] = (open.limits[limit] ?? 0) + 1
    }
    const kept = open.row.key === '' ? withoutTexts(refusal) : refusal
    if (open.row.key !== '' || kept.id !== '') {
      const { id, operation, model, field, message } = kept
      if (open.latest.length === (open.row.key === '' ? LATEST_UNKNOWN : LATEST)) open.latest.pop()
      open.latest.unshift({
        id,
        at: now,
        operation,
        model: model === null ? null : shortened(model, MAX_NAME_LENGTH),
        field: field === null ? null : shortened(field, MAX_NAME_LENGTH),
        message: shortened(message, MAX_MESSAGE_LENGTH),
        limit,
      })
    }
    this.writeIn(open.written === 0 ? FIRST_WRITE : NEXT_WRITE)
  }

  /** Writes what waits, if the store takes it soon. */
  async close(): Promise<void> {
    this.timer?.cancel()
    if (this.writing) {
      const done = await within(this.options.clock, MAX_CLOSE_MS, this.writing).then(
        () => true,
        () => false,
      )
      if (!done) return
    }
    this.timer?.cancel()
    await this.batches(MAX_CLOSE_MS)
  }

  private async writeNow(): Promise<void> {
    while (this.writing) await this.writing
    if (this.unwritten().length > 0) await this.write(() => this.batches(MAX_PUT_MS))
  }

  /** Writes what waits, batch by batch, for as long as it gets less. @returns false where the store does not take it. */
  private async batches(longest: number): Promise<boolean> {
    for (let before = Number.POSITIVE_INFINITY; ; ) {
      const { length } = this.unwritten()
      if (length === 0 || length >= before) return length === 0
      before = length
      await this.batch(longest)
    }
  }

  private openRow({ key, reason, status, type }: Refusal, at: number): OpenRow {
    const name = `${at} ${reason} ${key}`
    const found = this.rows.get(name)
    if (found) return found
    if (key !== '' && this.rows.size >= MAX_ROWS) return this.openRow({ key: '', reason, status, type } as Refusal, at)
    const row = { at, id: `${this.writer}.${++this.made}`, key, reason }
    const made: OpenRow = { row, status, type, latest: [], limits: undefined, count: 0, last: at, written: 0 }
    this.rows.set(name, made)
    return made
  }

  private unwritten(): OpenRow[] {
    return [...this.rows.values()].filter(({ count, written }) => count > written)
  }

  private writeIn(delay: number): void {
    if (this.writing) return
    const due = this.options.clock.now() + delay
    if (this.timer && this.dueAt <= due) return
    this.timer?.cancel()
    this.dueAt = due
    this.timer = this.options.clock.after(delay, () => void this.write(() => this.batch(MAX_PUT_MS)))
  }

  private write(work: () => Promise<boolean>): Promise<void> {
    this.timer?.cancel()
    this.timer = undefined
    this.writing = work().then((isWritten) => {
      this.writing = undefined
      const waiting = this.unwritten()
      if (waiting.length > 0) this.writeIn(!isWritten ? RETRY : waiting.some(({ written }) => written === 0) ? FIRST_WRITE : NEXT_WRITE)
    })
    return this.writing
  }

  /** @returns false where the store did not take it: the same rows come again, each in the place of its earlier form. */
  private async batch(longest: number): Promise<boolean> {
    const { store, clock } = this.options
    const open = this.unwritten().slice(0, BATCH)
    const counts = open.map(({ count }) => count)
    const put = async (): Promise<void> =>
      store.put(
        open.map(({ row, status, type, count, last, latest, limits }) => ({
          ...row,
          detail: { status, type, count, last, latest: [...latest], ...(limits && { limits: { ...limits } }) },
        })),
      )
    try {
      await within(clock, longest, put())
    } catch (thrown) {
      this.outage.failed(thrown)
      return false
    }
    this.outage.went()
    for (const [index, count] of counts.entries()) {
      const row = open[index]
      if (row) row.written = count
    }
    const minute = Math.floor(clock.now() / MINUTE) * MINUTE
    for (const [name, { row, count, written }] of this.rows) if (row.at < minute && count === written) this.rows.delete(name)
    return true
  }
}

/** Kept fields where the caller is not known: the words of the gateway for the reason, and nothing that the request holds. */
function withoutTexts(refusal: Refusal): Refusal {
  const why = TOKEN_REFUSALS.find((each) => each === refusal.reason)
  const code = Object.keys(FAULTS).find((each): each is keyof typeof FAULTS => each === refusal.reason) ?? 'invalid_key'
  return { ...refusal, model: null, field: null, message: why === undefined ? FAULTS[code].message : tokenRefusal(why).message }
}

/** Without what would disguise it, in one line. */
function shortened(text: string, longest: number): string {
  const short = text.length > longest ? `${text.slice(0, longest)}…` : text
  return plainName(short.replaceAll('\n', ' '))
}

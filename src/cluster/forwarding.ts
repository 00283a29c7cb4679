/** Sends settled generations to the store of record: gathers them, forwards them batch by batch, then deletes them here. */
import type { Clock, Timer } from '../core/clock.ts'
import type { GenerationRecord, Journal } from '../ledger/types.ts'
import type { SettledRows, StoreOfRecord } from '../store/record.ts'
import { type ClusterReport, failureReason, OutageReport, unreachable, within } from './record-calls.ts'

export interface ForwardingOptions {
  readonly node: string
  readonly record: Pick<StoreOfRecord, 'take'>
  /** Journal of the rows until the record has them. */
  readonly journal: Pick<Journal, 'forget' | 'lastSeq'> & { export(): Iterable<Pick<GenerationRecord, 'hold' | 'settled'>> }
  readonly clock: Clock
  /** Called with rows of this life that the record has taken. */
  readonly taken: (rows: readonly SettledRows[]) => void
  /** Milliseconds for which the first row of a batch waits for others. */
  readonly gather?: number
  readonly report: (report: ClusterReport) => void
}

/** Generations of one batch, and milliseconds for which the first of them waits for others: what waits is in the journal, its cost in the lease. */
const BATCH = 500
const GATHER_MS = 250
/** Milliseconds after which a batch counts as failed; forwarding it again is right. */
const MAX_TAKE_MS = 10_000
/** Milliseconds until a failed batch is tried again: doubled from the first to the last. */
const FIRST_RETRY = 100
const LAST_RETRY = 5_000
/** Rows kept in memory; more are read from the journal again when their turn comes. */
const MAX_KEPT = 20_000
/** Milliseconds for the last try at the end. */
const MAX_CLOSE_MS = 2_000

const ignore = (): void => {}

export class Forwarding {
  private readonly options: ForwardingOptions
  private readonly outage: OutageReport
  private waiting: SettledRows[] = []
  /** True where the journal has settled rows that are not among those kept. At a start it may have some. */
  private more = true
  /** Rows up to this sequence are from an earlier life. */
  private readonly before: number
  /** Handed in, but still in the journal. */
  private readonly unforgotten = new Set<number>()
  /** Settled rows whose commit is not known yet: the journal shows them already. */
  private readonly uncommitted: ReadonlySet<number>
  /** The step that runs now; steps that must not run beside it wait for it. */
  private turn: Promise<unknown> = Promise.resolve()
  private timer: Timer | undefined
  private failures = 0
  /** True while a batch is on its way: it sees to the next one. */
  private busy = false
  /** True while a batch waits for its turn. */
  private isDue = false
  private closed = false

  constructor(options: ForwardingOptions, uncommitted: ReadonlySet<number>) {
    this.options = options
    this.uncommitted = uncommitted
    this.before = options.journal.lastSeq()
    this.outage = new OutageReport('hand-in', options.report)
  }

  private get gather(): number {
    return this.options.gather ?? GATHER_MS
  }

  /** Generations that wait, as far as they are kept. */
  get queued(): number {
    return this.waiting.length
  }

  /** A generation whose settlement is committed. */
  add(row: SettledRows): void {
    if (this.closed || this.more) return
    if (this.waiting.length >= MAX_KEPT) this.more = true
    else this.waiting.push(row)
    if (!this.busy && this.failures === 0) this.schedule(this.gather)
  }

  /** Hands in all that is settled now. @throws Fault `unavailable`. */
  async flush(): Promise<void> {
    do {
      for (let left = this.waiting.length; left > 0; ) {
        const done = await this.alone(() => this.batch())
        if (done === 0) break
        left -= done
      }
    } while (this.more && (await this.alone(() => this.batch())) > 0)
  }

  /** Hands in what earlier lives have left in the journal, trying until it is done. @throws Fault `unavailable` once closed. */
  async handInLeftovers(): Promise<void> {
    for (;;) {
      if (this.closed) throw unreachable(new Error('closed before the journal was forwarded'))
      try {
        return await this.flush()
      } catch {
        await new Promise<void>((resolve) => this.options.clock.after(this.pause(), resolve))
      }
    }
  }

  /** Runs a reading of the record between two batches, with none of them in doubt; a due batch goes first. @throws Fault `unavailable`. */
  between<T>(read: () => Promise<T>): Promise<T> {
    return this.alone(async () => {
      if (this.failures > 0 || this.isDue) await this.batch()
      return read()
    })
  }

  /** Tries once more to hand everything in; what the record does not take stays in the journal for the next start. */
  async close(): Promise<void> {
    this.timer?.cancel()
    await within(this.options.clock, MAX_CLOSE_MS, this.flush()).catch(ignore)
    this.closed = true
    this.timer?.cancel()
  }

  /** Runs steps one after the other, also after one that failed. */
  private alone<T>(run: () => Promise<T>): Promise<T> {
    const result = this.turn.then(run)
    this.turn = result.catch(ignore)
    return result
  }

  private schedule(ms: number): void {
    if (this.closed) return
    this.timer ??= this.options.clock.after(ms, () => {
      this.timer = undefined
      this.isDue = true
      // A reading before it may have forwarded it.
      this.alone(async () => this.isDue && this.batch()).catch(ignore)
    })
  }

  /** Milliseconds until the next try. */
  private pause(): number {
    return Math.min(LAST_RETRY, FIRST_RETRY * 2 ** Math.min(this.failures - 1, 10)) * (0.5 + this.options.clock.random() / 2)
  }

  /** @returns how many generations were forwarded. @throws Fault `unavailable`; all of them wait on. */
  private async batch(): Promise<number> {
    this.busy = true
    this.isDue = false
    try {
      this.forget(this.unforgotten.size > MAX_KEPT)
      if (this.waiting.length === 0 && this.more) this.readAgain()
      const rows = this.waiting.slice(0, BATCH)
      if (rows.length > 0) await this.take(rows)
      this.failures = 0
      return rows.length
    } catch (thrown) {
      this.failures++
      this.outage.failed(thrown)
      throw unreachable(thrown)
    } finally {
      this.busy = false
      if (this.failures > 0) this.schedule(this.pause())
      else if (this.waiting.length > 0 || this.more) this.schedule(this.waiting.length >= BATCH || this.more ? 0 : this.gather)
    }
  }

  private async take(rows: readonly SettledRows[]): Promise<void> {
    const { record, node, clock, taken } = this.options
    await within(clock, MAX_TAKE_MS, record.take(node, rows))
    this.waiting = this.waiting.slice(rows.length)
    taken(rows.filter(({ hold }) => hold.seq > this.before))
    for (const { hold } of rows) this.unforgotten.add(hold.seq)
    this.forget(false)
    this.outage.went()
  }

  /** @param must throws where the journal does not delete them: too many would have to be remembered. */
  private forget(must: boolean): void {
    if (this.unforgotten.size === 0) return
    try {
      this.options.journal.forget([...this.unforgotten])
      this.unforgotten.clear()
    } catch (cause) {
      this.options.report({ kind: 'forget-failed', reason: failureReason(cause) })
      if (must) throw cause
    }
  }

  /** Reads one batch: the journal may have a long backlog, and reading all of it would stall the event loop. */
  private readAgain(): void {
    this.more = false
    for (const { hold, settled } of this.options.journal.export()) {
      if (!settled || this.unforgotten.has(hold.seq) || this.uncommitted.has(hold.seq)) continue
      if (this.waiting.length >= BATCH) {
        this.more = true
        return
      }
      this.waiting.push({ hold, settled })
    }
  }
}

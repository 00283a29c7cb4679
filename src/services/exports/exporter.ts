/**
 * One export: takes batches of rows from the store (generations of the ledger, entries of the audit log) and delivers them, one after the
 * other, off the path of any request. Where a batch has come is kept in the store only after the destination has it; a crash before that
 * repeats it, with the same name and bytes.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Clock, Timer } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { Pace } from '../../ledger/pace.ts'
import type { BatchReaders, ReaderBatch } from '../../ledger/types.ts'
import { closed, counter, gauge, type MetricRegistry } from '../../machines/metrics/metrics.ts'
import { batchId, DeliveryError, type Destination, type ExportSettings, objectName } from './destination.ts'

const LABELS = { labels: [closed('export')], limit: 8 } as const
const exported = counter(
  'export_rows_total',
  'Generations that a destination of `exports` has taken, and entries that one of `audit.sinks` has (`audit:` before its name).',
  LABELS,
)
const failedBatches = counter(
  'export_failed_batches_total',
  'Batches of `exports` and `audit.sinks` that were not taken, each time that one was sent.',
  LABELS,
)
/** Read from the store, so not at each scrape. */
const lagRows = gauge(
  'export_lag_rows',
  'Generations or entries that an export had not delivered when it last looked: behind each batch and each try, and each `interval`; counted up to 10,000.',
  LABELS,
)
const lagSeconds = gauge(
  'export_lag_seconds',
  'Age in seconds, when it last looked, of the oldest generation or entry that an export had not delivered.',
  LABELS,
)

/** Milliseconds: younger generations mostly still run. */
const AGE = 10_000
/** Milliseconds until the next batch where more wait, and to the first one. */
const BREATH = 50
const FIRST = 1_000
/** Milliseconds between two tries: doubled each time. */
const FIRST_PAUSE = 1_000
const MAX_PAUSE_MS = 60_000
const MAX_COUNTED = 10_000

/** Failures of an export, for the log. */
export interface ExportReports {
  /** The first failure since a batch was taken. */
  failing(facts: { readonly export: string; readonly destination: string; readonly problem: string }): void
  works(facts: { readonly export: string; readonly failures: number }): void
}

export interface ExporterSource<Row> {
  readonly settings: Pick<ExportSettings, 'name' | 'path' | 'compression' | 'rows' | 'interval' | 'timeout' | 'since'>
  readonly destination: Destination
  readonly readers: BatchReaders<Row>
  /** A row as it is delivered, with the end of its line. */
  readonly line: (row: Row) => string
  readonly reports: ExportReports
  /** This process, among those that share the store. */
  readonly holder: string
  readonly clock: Clock
  readonly metrics: MetricRegistry
}

export class Exporter<Row> {
  private readonly source: ExporterSource<Row>
  private timer: Timer | undefined
  private running: Promise<void> | undefined
  private pause = FIRST_PAUSE
  /** Failures of the batch since one was taken. */
  private failures = 0
  private isClosed = false

  constructor(source: ExporterSource<Row>) {
    this.source = source
    this.later(FIRST)
  }

  /** Ends when a delivery that is under way has ended; what is not delivered stays for the next start. */
  async close(): Promise<void> {
    this.isClosed = true
    this.timer?.cancel()
    this.source.destination.close()
    await this.running
  }

  private later(ms: number): void {
    if (this.isClosed) return
    this.timer = this.source.clock.after(ms, () => {
      this.running = this.round()
    })
  }

  private async round(): Promise<void> {
    const { settings, metrics, readers } = this.source
    const { name } = settings
    try {
      const batch = await this.claim()
      if (!batch) {
        for (const metric of [lagRows, lagSeconds]) metrics.of(metric).series(name).value = 0
        return this.later(settings.interval)
      }
      const isOpen = batch.begunAt > 0
      const count = isOpen ? await this.deliver(batch) : 0
      if (isOpen && !(await readers.accept(batch, ''))) return this.later(BREATH)
      if (count > 0) metrics.of(exported).series(name).add(count)
      if (count > 0) this.succeeded()
      await this.showLag()
      this.later(count >= settings.rows ? BREATH : settings.interval)
    } catch (error) {
      if (this.isClosed) return
      await this.showLag().catch(() => {})
      this.failed(error)
    }
  }

  private claim(): Promise<ReaderBatch | undefined> | ReaderBatch | undefined {
    const { settings, readers, holder, clock } = this.source
    const { name, rows, timeout, interval, since = 0 } = settings
    return readers.claim({
      reader: name,
      holder,
      holdFor: timeout + MAX_PAUSE_MS + interval,
      since,
      age: Math.min(AGE, interval),
      most: rows,
      ahead: true,
      now: clock.now(),
    })
  }

  /** @returns the rows of the batch. */
  private async deliver(batch: ReaderBatch): Promise<number> {
    const { settings, readers, destination, line } = this.source
    const { name, path, compression } = settings
    const pieces: string[] = []
    let count = 0
    const pages = readers.pages(batch)
    const pace = new Pace(Symbol.asyncIterator in pages)
    for await (const page of pages) {
      count += page.length
      pieces.push(page.map(line).join(''))
      if (pace.over) await pace.rest()
    }
    // Retention may have removed all of them.
    if (count === 0) return 0
    const plain = Buffer.from(pieces.join(''))
    const isGzip = compression === 'gzip'
    await destination.deliver({
      name: objectName(path, name, batch, compression),
      token: `${name}-${batchId(batch)}`,
      body: isGzip ? await promisify<Buffer, Buffer>(gzip)(plain) : plain,
      isGzip,
    })
    return count
  }

  private async showLag(): Promise<void> {
    const { settings, readers, clock, metrics } = this.source
    const { name, since = 0 } = settings
    const { rows, oldest } = await readers.unread(name, since, MAX_COUNTED)
    metrics.of(lagRows).series(name).value = rows
    metrics.of(lagSeconds).series(name).value = oldest === undefined ? 0 : Math.max(0, Math.round((clock.now() - oldest) / 1000))
  }

  private succeeded(): void {
    const { settings, reports } = this.source
    if (this.failures > 0) reports.works({ export: settings.name, failures: this.failures })
    this.failures = 0
    this.pause = FIRST_PAUSE
  }

  private failed(error: unknown): void {
    const { settings, destination, clock, reports, metrics } = this.source
    metrics.of(failedBatches).series(settings.name).add()
    this.failures++
    if (this.failures === 1) reports.failing({ export: settings.name, destination: destination.place, problem: errorProblem(error) })
    this.later(this.pause * (0.75 + clock.random() / 2))
    this.pause = Math.min(MAX_PAUSE_MS, this.pause * 2)
  }
}

/** In words that a log may show. */
export function errorProblem(error: unknown): string {
  if (error instanceof DeliveryError || error instanceof Fault) return error.message
  return error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.name) : 'failed'
}

/**
 * Sends one signal to a collector, in batches, and never in a request's way: what waits is bounded by bytes, and what finds no room is
 * dropped and counted. As long as the collector is away one batch is sent again and again, with longer and longer pauses, so that an
 * outage loses only what the queue cannot hold.
 */
import type { Clock, Timer } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import { closed, counter, type MetricRegistry } from '../../machines/metrics/metrics.ts'
import { exportRequest, type Reporter } from '../../machines/otlp/otlp.ts'
import { Delivery, type Outcome } from './delivery.ts'
import type { OtlpTarget } from './settings.ts'

export type OtlpSignal = 'traces' | 'metrics' | 'logs'

const dropped = counter(
  'otel_dropped_total',
  'Spans, metrics and lines of the log that were not delivered by OTLP. `reason` is full (the queue had no room), refused (the collector took the request for wrong), rejected (it took a part), or closed (the process ended).',
  { labels: [closed('signal'), closed('reason')], limit: 12 },
)
const exported = counter('otel_exported_total', 'Spans, metrics and lines of the log that a collector has taken by OTLP.', {
  labels: [closed('signal')],
  limit: 3,
})

/** A batch leaves at this size, or after this long. */
const BATCH_BYTES = 512 * 1024
const INTERVAL = 2_000
/** Milliseconds between two tries: doubled each time, and as long as the collector says, within a bound. */
const FIRST_PAUSE = 1_000
const MAX_PAUSE_MS = 30_000
/** Time for which the end of the process waits for the last batches. */
const LAST_WORD = 2_000

/** Bytes of a block of memory that records share, and from which on one has its own. */
const BLOCK_BYTES = 64 * 1024
const LARGE = BLOCK_BYTES / 4

interface Records {
  readonly bytes: Buffer
  readonly count: number
}

export interface ExporterSource {
  readonly signal: OtlpSignal
  readonly target: OtlpTarget
  readonly reporter: Reporter
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricRegistry
}

export class Exporter {
  private readonly source: ExporterSource
  private readonly delivery: Delivery
  private waiting: Records[] = []
  private block = Buffer.alloc(0)
  private used = 0
  /** Of all that waits, and of what is under way. */
  private held = 0
  private sending = false
  private timer: Timer | undefined
  private pause = FIRST_PAUSE
  /** Undefined while all goes well; else what was lost since it does not. */
  private trouble: { lost: number } | undefined
  private ended = false
  private whenIdle: (() => void) | undefined

  constructor(source: ExporterSource) {
    this.source = source
    this.delivery = new Delivery(source.target, source.clock)
  }

  /** Records of one request, written with the tag of their field; their bytes are copied. */
  add(records: Records): void {
    if (this.ended) this.lose(records.count, 'closed')
    else if (this.held + records.bytes.length > this.source.target.queue) {
      if (!this.trouble) this.begin('the queue is full')
      this.lose(records.count, 'full')
    } else {
      this.held += records.bytes.length
      this.waiting.push({ bytes: this.kept(records.bytes), count: records.count })
      if (this.sending) return
      if (this.held >= BATCH_BYTES) this.send()
      else this.timer ??= this.source.clock.after(INTERVAL, () => this.send())
    }
  }

  /**
   * Records wait in blocks that have nothing else in them. A piece of Node's pool of buffers would keep a whole block of the pool, whose
   * other pieces are long out of use: a queue would hold several times what its bound counts.
   */
  private kept(bytes: Buffer): Buffer {
    const { length } = bytes
    if (length > LARGE) {
      const own = Buffer.allocUnsafeSlow(length)
      bytes.copy(own)
      return own
    }
    if (this.used + length > this.block.length) {
      this.block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
      this.used = 0
    }
    const start = this.used
    this.used += bytes.copy(this.block, start)
    return this.block.subarray(start, this.used)
  }

  /** Sends what waits, within a short time; what is left then is lost. */
  async close(): Promise<void> {
    this.ended = true
    const late = this.source.clock.after(LAST_WORD, () => this.delivery.abort())
    if (this.trouble) this.delivery.abort()
    if (!this.sending) this.send()
    if (this.sending) await new Promise<void>((resolve) => (this.whenIdle = resolve))
    late.cancel()
    this.delivery.close()
  }

  private send(): void {
    this.timer?.cancel()
    this.timer = undefined
    const batch = this.take()
    if (batch.length === 0) {
      this.whenIdle?.()
      return
    }
    this.sending = true
    void this.deliver(batch)
  }

  private take(): Records[] {
    let bytes = 0
    let count = 0
    for (const { bytes: each } of this.waiting) {
      if (count > 0 && bytes + each.length > BATCH_BYTES) break
      bytes += each.length
      count++
    }
    return this.waiting.splice(0, count)
  }

  private async deliver(batch: readonly Records[]): Promise<void> {
    const { signal, reporter, metrics } = this.source
    const count = batch.reduce((sum, records) => sum + records.count, 0)
    const body = exportRequest(
      reporter,
      batch.map(({ bytes }) => bytes),
    )
    let outcome = await this.delivery.send(body)
    while (outcome.kind === 'later' && !this.ended) {
      if (!this.trouble) this.begin(outcome.why)
      await this.rest(outcome.after)
      outcome = await this.delivery.send(body)
    }
    this.held -= batch.reduce((sum, { bytes }) => sum + bytes.length, 0)
    if (outcome.kind === 'taken') {
      metrics
        .of(exported)
        .series(signal)
        .add(count - Math.min(count, outcome.rejected))
      if (outcome.rejected > 0) this.lose(outcome.rejected, 'rejected')
      this.recovered()
    } else this.failed(outcome, count)
    this.sending = false
    if (this.ended || this.held >= BATCH_BYTES) this.send()
    else if (this.waiting.length > 0) this.timer ??= this.source.clock.after(INTERVAL, () => this.send())
  }

  private failed(outcome: Exclude<Outcome, { kind: 'taken' }>, count: number): void {
    if (!this.trouble) this.begin(outcome.why)
    this.lose(count, outcome.kind === 'refused' ? 'refused' : 'closed')
  }

  /** @param after milliseconds that the collector wants. */
  private rest(after: number): Promise<void> {
    const { clock } = this.source
    const pause = Math.min(MAX_PAUSE_MS, Math.max(after, this.pause * (0.75 + clock.random() / 2)))
    this.pause = Math.min(MAX_PAUSE_MS, this.pause * 2)
    return new Promise((resolve) => {
      const timer = clock.after(pause, resolve)
      this.delivery.onAbort = () => {
        timer.cancel()
        resolve()
      }
    })
  }

  private lose(count: number, reason: string): void {
    this.source.metrics.of(dropped).series(this.source.signal, reason).add(count)
    if (this.trouble) this.trouble.lost += count
  }

  private begin(problem: string): void {
    const { signal, target, log } = this.source
    this.trouble = { lost: 0 }
    log.warn(
      { signal, endpoint: targetAddress(target), problem },
      'telemetry is not delivered; headgate_otel_dropped_total counts what is lost',
    )
  }

  private recovered(): void {
    this.pause = FIRST_PAUSE
    // As long as most of the room is taken the trouble goes on: a slow collector would bring a line for each batch.
    if (!this.trouble || this.held > this.source.target.queue / 2) return
    const { signal, target, log } = this.source
    log.info({ signal, endpoint: targetAddress(target), lost: this.trouble.lost }, 'telemetry is delivered again')
    this.trouble = undefined
  }
}

/** Address of the exports, for the log: a query may hold a key. */
export function targetAddress({ url }: Pick<OtlpTarget, 'url'>): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

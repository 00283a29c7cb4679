/**
 * Writes findings of guardrails to the store: gathered after each reply, hashed, and written in batches. No request waits
 * for it. Findings that are not yet written are lost with the process.
 */
import { createHmac } from 'node:crypto'
import type { Clock, Timer } from '../core/clock.ts'
import { type MetricRegistry, reading } from '../machines/metrics/metrics.ts'
import type { AuditRow, GuardrailStore } from '../store/guardrails.ts'
import { type ClusterReport, OutageReport, within } from './record-calls.ts'

export interface Finding extends Omit<AuditRow, 'detail' | 'id'> {
  readonly entities: readonly string[]
  readonly engines: readonly string[]
  /** Distinct texts that matched. */
  readonly matched: readonly string[]
  /** True: the texts are kept as they are, too. */
  readonly full: boolean
}

export interface AuditTrailOptions {
  readonly store: Pick<GuardrailStore, 'note' | 'secret'>
  readonly clock: Pick<Clock, 'after'>
  readonly report: (report: ClusterReport) => void
}

const auditDropped = reading('counter', 'guardrail_audit_dropped_total', 'Findings that the audit trail had no room for.')

/** Milliseconds for which the first finding waits for others, until a failed batch comes again, and for one batch. */
const GATHER = 250
const RETRY = 1_000
const MAX_NOTE_MS = 10_000
const MAX_CLOSE_MS = 2_000
const BATCH = 500
/** Bounds of the queue: rows, and bytes of hashes and texts. */
const MAX_ROWS = 10_000
const MAX_BYTES = 16 * 1024 * 1024
/** Texts of one finding that are hashed. */
const MAX_HASHES = 20

export class AuditTrail {
  /** Findings that found no room: the store did not answer for too long. */
  dropped = 0
  private readonly options: AuditTrailOptions
  private readonly outage: OutageReport
  private waiting: { row: AuditRow; bytes: number }[] = []
  private bytes = 0
  private secret = ''
  private timer: Timer | undefined
  private writing: Promise<void> | undefined

  constructor(options: AuditTrailOptions) {
    this.options = options
    this.outage = new OutageReport('audit', options.report)
  }

  /** Shows what was dropped in the metrics of a gateway. */
  showIn(metrics: MetricRegistry): void {
    metrics.of(auditDropped).from(() => this.dropped)
  }

  /** Before anything is noted. @throws Fault `unavailable`. */
  async load(): Promise<void> {
    this.secret = await this.options.store.secret()
  }

  /** @param findings of one exchange that is over. */
  note(findings: readonly Finding[]): void {
    for (const [index, finding] of findings.entries()) this.add(this.auditRow(finding, index))
    if (this.waiting.length > 0 && !this.writing) this.timer ??= this.options.clock.after(GATHER, () => this.write())
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
    while (this.waiting.length > 0) {
      const before = this.waiting.length
      await this.batch(MAX_CLOSE_MS)
      if (this.waiting.length === before) return
    }
  }

  private add(row: AuditRow): void {
    const { hashes, texts = [] } = row.detail
    const bytes = texts.reduce((sum, text) => sum + 2 * text.length, 64 * hashes.length + 500)
    if (this.waiting.length >= MAX_ROWS || this.bytes + bytes > MAX_BYTES) {
      this.dropped++
      return
    }
    this.bytes += bytes
    this.waiting.push({ row, bytes })
  }

  private auditRow({ entities, engines, matched, full, ...rest }: Finding, index: number): AuditRow {
    const first = matched.slice(0, MAX_HASHES)
    const hashes = first.map((text) => createHmac('sha256', this.secret).update(text).digest('hex'))
    const detail = { entities, engines, count: matched.length, hashes, ...(full ? { texts: first } : {}) }
    return { ...rest, id: `${rest.generation}.${index}`, detail }
  }

  private write(): void {
    this.timer = undefined
    this.writing = this.batch(MAX_NOTE_MS).then((written) => {
      this.writing = undefined
      if (this.waiting.length > 0) this.timer = this.options.clock.after(written ? 0 : RETRY, () => this.write())
    })
  }

  /** @returns false where the store did not take it: the same rows come again, and are kept once. */
  private async batch(longest: number): Promise<boolean> {
    const { store, clock } = this.options
    const batch = this.waiting.slice(0, BATCH)
    const noted = async (): Promise<void> => store.note(batch.map(({ row }) => row))
    try {
      await within(clock, longest, noted())
    } catch (thrown) {
      this.outage.failed(thrown)
      return false
    }
    this.outage.went()
    this.waiting = this.waiting.slice(batch.length)
    for (const { bytes } of batch) this.bytes -= bytes
    return true
  }
}

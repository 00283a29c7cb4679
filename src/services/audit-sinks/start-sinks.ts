/** Starts the sinks of the audit log: exports whose rows are its entries. */
import { randomUUID } from 'node:crypto'
import type { AuditRow } from '../../core/audit-entries.ts'
import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import type { MetricRegistry } from '../../machines/metrics/metrics.ts'
import { type AuditReaders, sinkReader } from '../../store/audit-readers.ts'
import type { Destination } from '../exports/destination.ts'
import { Exporter, type ExportReports } from '../exports/exporter.ts'
import { FileSink, type FileSinkSettings } from './file-sink.ts'
import { entryText, syslogFrame } from './syslog-message.ts'
import { type SyslogSettings, SyslogSink } from './syslog-sink.ts'

export interface SinkSettings {
  readonly name: string
  readonly file?: FileSinkSettings | undefined
  readonly syslog?: SyslogSettings | undefined
  /** Milliseconds. */
  readonly interval: number
  readonly timeout: number
}

/** Entries of a batch. */
const BATCH = 500

interface SinksSource {
  readonly readers: AuditReaders
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricRegistry
}

export function startSinks(sinks: readonly SinkSettings[], { readers, clock, log, metrics }: SinksSource): { close(): Promise<void> } {
  const holder = randomUUID()
  const reports: ExportReports = {
    failing: (facts) => log.error(facts, 'the audit log is not delivered to a sink; the batch is sent again'),
    works: (facts) => log.info(facts, 'the audit log is delivered to a sink again'),
  }
  readers.setBack = (reader) => log.error({ export: reader }, 'the audit log is not the one that was delivered: the sink begins anew')
  const running = sinks.map((sink) => {
    const { destination, line } = openSink(sink, clock)
    const { interval, timeout } = sink
    const settings = { name: sinkReader(sink), path: '', compression: 'none' as const, rows: BATCH, interval, timeout }
    return new Exporter<AuditRow>({ settings, destination, line, readers, reports, holder, clock, metrics })
  })
  return {
    close: async () => {
      await Promise.all(running.map((each) => each.close()))
    },
  }
}

function openSink(
  { name, file, syslog, timeout }: SinkSettings,
  clock: Clock,
): { destination: Destination; line: (row: AuditRow) => string } {
  if (file) return { destination: new FileSink(file), line: (row) => `${entryText(row)}\n` }
  if (syslog) return { destination: new SyslogSink(syslog, timeout, clock), line: (row) => syslogFrame(row, syslog) }
  throw new TypeError(`the sink ${name} has no destination`)
}

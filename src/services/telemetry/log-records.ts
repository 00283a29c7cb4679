/** Lines of the log as log records of OTLP, beside standard output. */
import type { Json, JsonObject } from '../../core/json.ts'
import { writeAttribute } from '../../machines/otlp/otlp.ts'
import { ProtoWriter } from '../../machines/otlp/proto-writer.ts'
import type { Exporter } from './exporter.ts'

/** The field `log_records` of `ScopeLogs`. */
const RECORD = 2
/** `SeverityNumber` and its text, by the levels of pino. */
const SEVERITIES: Readonly<Record<number, readonly [number: number, text: string]>> = {
  10: [1, 'TRACE'],
  20: [5, 'DEBUG'],
  30: [9, 'INFO'],
  40: [13, 'WARN'],
  50: [17, 'ERROR'],
  60: [21, 'FATAL'],
}
/** Fields of a line that have a place of their own in a record. */
const PLACED: ReadonlySet<string> = new Set(['level', 'time', 'msg', 'trace_id', 'span_id'])
/** Characters of a value that is a list or an object, as JSON. */
const LONGEST = 1024

export class LogRecords {
  readonly exporter: Exporter
  private readonly writer = new ProtoWriter()

  constructor(exporter: Exporter) {
    this.exporter = exporter
  }

  /** @param line as it was written: JSON that this program has made. */
  add(line: string): void {
    const fields = JSON.parse(line) as JsonObject
    const { writer } = this
    writer.clear()
    const record = writer.begin(RECORD)
    const time = Number(fields.time)
    writer.time(1, time)
    writer.time(11, time)
    const [number, text] = SEVERITIES[Number(fields.level)] ?? [9, 'INFO']
    writer.int(2, number)
    writer.text(3, text)
    const body = writer.begin(5)
    writer.text(1, String(fields.msg ?? ''))
    writer.end(body)
    for (const name in fields) if (!PLACED.has(name)) writeField(writer, name, fields[name])
    const { trace_id: traceId, span_id: spanId } = fields
    if (typeof traceId === 'string' && typeof spanId === 'string') {
      writer.hex(9, traceId)
      writer.hex(10, spanId)
    }
    writer.end(record)
    this.exporter.add({ bytes: writer.written, count: 1 })
  }
}

function writeField(writer: ProtoWriter, name: string, value: Json | undefined): void {
  if (value === null || value === undefined) return
  const shown = typeof value === 'object' ? JSON.stringify(value).slice(0, LONGEST) : value
  writeAttribute(writer, 6, name, shown)
}

/** Messages of OTLP 1.11 (github.com/open-telemetry/opentelemetry-proto, tag v1.11.0) that all signals share, and spans. */
import { ProtoWriter } from './proto-writer.ts'

export type Attribute = string | number | boolean | readonly string[]

/** A number that is no integer by nature, such as a time in seconds, even where its value is a whole one. */
export class Double {
  readonly value: number
  constructor(value: number) {
    this.value = value
  }
}

/** `KeyValue`: what there is no value for is left out. */
export function writeAttribute(writer: ProtoWriter, field: number, key: string, value: Attribute | Double | undefined): void {
  if (value === undefined) return
  const pair = writer.begin(field)
  writer.text(1, key)
  const holder = writer.begin(2)
  writeValue(writer, value)
  writer.end(holder)
  writer.end(pair)
}

/** The fields of `AnyValue`. */
function writeValue(writer: ProtoWriter, value: Attribute | Double): void {
  if (typeof value === 'string') writer.text(1, value)
  else if (typeof value === 'boolean') writer.int(2, value ? 1 : 0)
  else if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) writer.int(3, value)
    else writer.double(4, value)
  } else if (value instanceof Double) writer.double(4, value.value)
  else {
    const list = writer.begin(5)
    for (const each of value) {
      const entry = writer.begin(1)
      writer.text(1, each)
      writer.end(entry)
    }
    writer.end(list)
  }
}

/** `SpanKind` and `StatusCode`. */
export const KIND = { internal: 1, server: 2, client: 3 } as const
export const STATUS = { unset: 0, error: 2 } as const

/** `SpanFlags`: the flags of the trace, that the parent's origin is known, and that it is another program's. */
const SAMPLED = 1
const ORIGIN_KNOWN = 0x100
const PARENT_REMOTE = 0x200

export interface SpanHead {
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string | undefined
  readonly parentIsRemote: boolean
  /** The caller's `tracestate`; '' for none. */
  readonly state: string
  readonly name: string
  readonly kind: (typeof KIND)[keyof typeof KIND]
  /** Milliseconds since the epoch, with fractions. */
  readonly start: number
  readonly end: number
}

/** One request's spans, written one after the other as the field `spans` of `ScopeSpans`. */
export class SpanWriter {
  /** Number that have been written. */
  count = 0
  private readonly writer = new ProtoWriter()
  private open = 0

  begin(head: SpanHead): void {
    const { writer } = this
    this.count++
    this.open = writer.begin(2)
    writer.hex(1, head.traceId)
    writer.hex(2, head.spanId)
    if (head.state !== '') writer.text(3, head.state)
    if (head.parentId !== undefined) writer.hex(4, head.parentId)
    writer.text(5, head.name)
    writer.int(6, head.kind)
    writer.time(7, head.start)
    writer.time(8, Math.max(head.start, head.end))
    writer.fixed32(16, SAMPLED | ORIGIN_KNOWN | (head.parentIsRemote ? PARENT_REMOTE : 0))
  }

  attribute(key: string, value: Attribute | Double | undefined): void {
    writeAttribute(this.writer, 9, key, value)
  }

  link(traceId: string, spanId: string, why: string): void {
    const { writer } = this
    const link = writer.begin(13)
    writer.hex(1, traceId)
    writer.hex(2, spanId)
    writeAttribute(writer, 4, 'headgate.link', why)
    writer.fixed32(6, SAMPLED | ORIGIN_KNOWN)
    writer.end(link)
  }

  /** Ends the span. @param failed true where its work did. */
  end(failed: boolean): void {
    const { writer } = this
    if (failed) {
      const status = writer.begin(15)
      writer.int(3, STATUS.error)
      writer.end(status)
    }
    writer.end(this.open)
  }

  /** @returns the bytes of all spans, valid until the next one is begun; the writer begins anew. */
  take(): { bytes: Buffer; count: number } {
    const taken = { bytes: this.writer.written, count: this.count }
    this.writer.clear()
    this.count = 0
    return taken
  }
}

/** Resource that reports, as the head of every export. */
export interface Reporter {
  readonly resource: Readonly<Record<string, Attribute>>
  readonly scope: { readonly name: string; readonly version: string }
  /** Of the conventions that the attributes follow. */
  readonly schemaUrl: string
}

/**
 * An export request of spans or of log records: both have a resource, a scope, and their records as the same fields.
 * @param records written before, each with the tag of its field.
 */
export function exportRequest({ resource, scope, schemaUrl }: Reporter, records: readonly Uint8Array[]): Buffer {
  const writer = new ProtoWriter()
  const ofResource = writer.begin(1)
  const about = writer.begin(1)
  for (const [key, value] of Object.entries(resource)) writeAttribute(writer, 1, key, value)
  writer.end(about)
  const ofScope = writer.begin(2)
  const program = writer.begin(1)
  writer.text(1, scope.name)
  writer.text(2, scope.version)
  writer.end(program)
  for (const record of records) writer.raw(record)
  writer.text(3, schemaUrl)
  writer.end(ofScope)
  writer.end(ofResource)
  return writer.written
}

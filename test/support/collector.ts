/**
 * A collector for OTLP over HTTP that decodes with the official definitions (github.com/open-telemetry/opentelemetry-proto, v1.11.0,
 * copied to `test/fixtures/otlp`) and takes nothing that breaks the rules which stand there.
 */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import protobuf from 'protobufjs'

const { Root } = protobuf
const root = new Root()
root.resolvePath = (_origin, target) => join(import.meta.dirname, '../fixtures/otlp', target)
const SERVICES = ['trace', 'logs', 'metrics'].map((signal) => `opentelemetry/proto/collector/${signal}/v1/${signal}_service.proto`)
root.loadSync(SERVICES)

const REQUESTS: Readonly<Record<string, protobuf.Type>> = {
  '/v1/traces': root.lookupType('opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest'),
  '/v1/logs': root.lookupType('opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest'),
  '/v1/metrics': root.lookupType('opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest'),
}

export type Value = string | number | boolean | Value[] | undefined

export interface SeenSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string
  readonly name: string
  readonly kind: string
  readonly flags: number
  readonly state: string
  /** Nanoseconds since the epoch. */
  readonly start: bigint
  readonly end: bigint
  readonly status: string
  readonly attributes: Readonly<Record<string, Value>>
  readonly links: readonly { traceId: string; spanId: string; attributes: Readonly<Record<string, Value>> }[]
  readonly resource: Readonly<Record<string, Value>>
}

export interface SeenExport {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Without compression. */
  readonly bytes: Buffer
  /** As protobufjs decodes it, with numbers of 64 bits as text and bytes as hexadecimal digits. */
  readonly message: Decoded
}

export interface CollectorAnswer {
  status: number
  headers?: Record<string, string>
  body?: Buffer
}

export interface Collector {
  readonly url: string
  readonly exports: readonly SeenExport[]
  readonly spans: readonly SeenSpan[]
  /** Broken rules of OTLP, in words; empty where all is well. */
  readonly problems: readonly string[]
  /** Answers to exports; those that are not answered with 200 are not kept. A function may wait. */
  answer: (index: number) => CollectorAnswer | Promise<CollectorAnswer>
  /** Requests so far, those that failed among them. */
  readonly received: number
  close(): Promise<void>
}

// biome-ignore lint/suspicious/noExplicitAny: the shape is that of the definitions, which are loaded at run time.
type Decoded = any

export async function startCollector(): Promise<Collector> {
  const exports: SeenExport[] = []
  const spans: SeenSpan[] = []
  const problems: string[] = []
  let received = 0
  const server = createServer(async (request, response) => {
    const index = received++
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const { status, headers, body } = await collector.answer(index)
    if (status === 200) {
      const whole = Buffer.concat(pieces)
      const bytes = request.headers['content-encoding'] === 'gzip' ? gunzipSync(whole) : whole
      const path = request.url ?? ''
      if (request.method !== 'POST') problems.push(`method ${request.method}`)
      if (request.headers['content-type'] !== 'application/x-protobuf') problems.push(`content-type ${request.headers['content-type']}`)
      const message = decoded(path, bytes, problems)
      exports.push({ path, headers: request.headers, bytes, message })
      if (path === '/v1/traces') spans.push(...decodeSpans(message, problems))
    }
    response.writeHead(status, { 'content-type': 'application/x-protobuf', ...headers })
    response.end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const collector: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    exports,
    spans,
    problems,
    answer: () => ({ status: 200 }),
    get received() {
      return received
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return collector
}

function decoded(path: string, bytes: Buffer, problems: string[]): Decoded {
  const type = REQUESTS[path]
  if (!type) {
    problems.push(`unknown path ${path}`)
    return {}
  }
  const message = type.decode(bytes)
  const wrong = type.verify(message)
  if (wrong) problems.push(wrong)
  // A field that the definitions do not have, or a length that is written in more bytes than it needs, would be lost here.
  const again = type.encode(message).finish()
  if (again.length > bytes.length) problems.push(`${bytes.length} bytes are ${again.length} when written again`)
  return type.toObject(message, { longs: String, enums: String, bytes: String, defaults: true })
}

const hex = (base64: string): string => Buffer.from(base64, 'base64').toString('hex')

function decodeSpans(message: Decoded, problems: string[]): SeenSpan[] {
  const found: SeenSpan[] = []
  for (const { resource, scopeSpans } of message.resourceSpans) {
    const about = decodeAttributes(resource.attributes, problems)
    if (about['service.name'] === undefined) problems.push('a resource without service.name')
    for (const { spans, scope } of scopeSpans) {
      if (scope.name === '') problems.push('a scope without a name')
      for (const span of spans) found.push(decodeSpan(span, about, problems))
    }
  }
  return found
}

function decodeSpan(span: Decoded, resource: SeenSpan['resource'], problems: string[]): SeenSpan {
  const seen: SeenSpan = {
    traceId: decodeId(span.traceId, 32, problems),
    spanId: decodeId(span.spanId, 16, problems),
    parentId: span.parentSpanId === '' ? '' : decodeId(span.parentSpanId, 16, problems),
    name: span.name,
    kind: span.kind,
    flags: span.flags,
    state: span.traceState,
    start: BigInt(span.startTimeUnixNano),
    end: BigInt(span.endTimeUnixNano),
    status: span.status?.code ?? 'STATUS_CODE_UNSET',
    attributes: decodeAttributes(span.attributes, problems),
    links: span.links.map((link: Decoded) => ({
      traceId: decodeId(link.traceId, 32, problems),
      spanId: decodeId(link.spanId, 16, problems),
      attributes: decodeAttributes(link.attributes, problems),
    })),
    resource,
  }
  if (seen.name === '') problems.push('a span without a name')
  if (!/^SPAN_KIND_(INTERNAL|SERVER|CLIENT|PRODUCER|CONSUMER)$/.test(seen.kind)) problems.push(`kind ${seen.kind}`)
  if (!/^STATUS_CODE_(UNSET|OK|ERROR)$/.test(seen.status)) problems.push(`status ${seen.status}`)
  if (seen.start <= 0n || seen.end < seen.start) problems.push(`${seen.name}: from ${seen.start} to ${seen.end}`)
  if ((seen.flags & 0x100) === 0) problems.push(`${seen.name}: flags ${seen.flags}`)
  return seen
}

function decodeId(base64: string, digits: number, problems: string[]): string {
  const id = hex(base64)
  if (id.length !== digits || /^0*$/.test(id)) problems.push(`id ${id}, expected ${digits} digits that are not all 0`)
  return id
}

export function decodeAttributes(pairs: readonly Decoded[], problems: string[]): Record<string, Value> {
  const found: Record<string, Value> = {}
  for (const { key, value } of pairs) {
    if (key === '') problems.push('an attribute without a name')
    if (key in found) problems.push(`attribute ${key} twice`)
    found[key] = plainValue(value)
  }
  return found
}

function plainValue(value: Decoded): Value {
  if ('stringValue' in value) return value.stringValue
  if ('boolValue' in value) return value.boolValue
  if ('intValue' in value) return Number(value.intValue)
  if ('doubleValue' in value) return value.doubleValue
  if ('arrayValue' in value) return value.arrayValue.values.map(plainValue)
  return undefined
}

const isSameService = (one: SeenSpan, other: SeenSpan): boolean => one.resource['service.name'] === other.resource['service.name']

/** Rules that hold within one trace whose spans have all come: parents exist, and nothing ends after the request's own span. */
export function treeProblems(spans: readonly SeenSpan[], outside: readonly string[] = []): string[] {
  const problems: string[] = []
  const byId = new Map(spans.map((span) => [span.spanId, span]))
  if (byId.size < spans.length) problems.push('two spans of one id')
  for (const span of spans) {
    const parent = byId.get(span.parentId)
    if (span.parentId === '' || outside.includes(span.parentId)) continue
    if (!parent) problems.push(`${span.name}: no parent ${span.parentId}`)
    else if (parent.traceId !== span.traceId) problems.push(`${span.name}: of another trace than its parent`)
    // Each gateway takes its times from a moment of its own, to the millisecond: those of two cannot be compared so closely.
    else if (isSameService(parent, span) && (span.start < parent.start || span.end > parent.end))
      problems.push(`${span.name}: not within ${parent.name}`)
  }
  return problems
}

/** Outline of the spans below a span, in the order of time, by name. */
export function outline(spans: readonly SeenSpan[], parentId: string): { name: string; under: ReturnType<typeof outline> }[] {
  return spans
    .filter((span) => span.parentId === parentId)
    .sort((a, b) => (a.start < b.start ? -1 : a.start > b.start ? 1 : 0))
    .map(({ name, spanId }) => ({ name, under: outline(spans, spanId) }))
}

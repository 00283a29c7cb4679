/**
 * Headers that go from one program to the next so that their spans form one trace: `traceparent` and `tracestate` (W3C Trace
 * Context, Recommendation of 23 November 2021) and `baggage` (W3C Baggage, Candidate Recommendation). A header that breaks their rules
 * counts as absent.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { randomHex } from '../../core/ids.ts'

/** The trace of one request. Made at its head only where the request is traced, or continues the trace of its caller. */
export class RequestTrace {
  traceId: string
  /** Of the request's own span: the parent of all others. */
  readonly spanId = randomHex(16)
  /** Of the caller's span; undefined where the trace begins here. */
  parentId: string | undefined
  /** True: its spans are kept, whatever becomes of the request. */
  sampled: boolean
  /** True where the caller's header decided: then only a caller with a key may have its way. */
  readonly byCaller: boolean

  constructor(traceId: string, { parentId, sampled, byCaller }: Pick<RequestTrace, 'parentId' | 'sampled' | 'byCaller'>) {
    this.traceId = traceId
    this.parentId = parentId
    this.sampled = sampled
    this.byCaller = byCaller
  }

  /** Takes over the names that the body gives, where no header gave any and they have the form of W3C. */
  adopt(traceId: unknown, parentId: unknown): void {
    if (this.parentId !== undefined || typeof traceId !== 'string' || !isId(traceId, 32)) return
    this.traceId = traceId
    if (typeof parentId === 'string' && isId(parentId, 16)) this.parentId = parentId
  }
}

export interface TraceParent {
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
}

/** Version, trace, span and flags; a later version may go on after a dash (section 3.2.2 and 4.3 of Trace Context). */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const MAX_PARENT_LENGTH = 512

/** @returns undefined where the header is missing, malformed or of no valid trace. */
export function readTraceparent(header: unknown): TraceParent | undefined {
  if (typeof header !== 'string' || header.length > MAX_PARENT_LENGTH) return undefined
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(header) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (isZero(traceId) || isZero(spanId)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** Of version 00: its only flag says whether the spans of the trace are kept. */
export function traceparent(traceId: string, spanId: string, sampled: boolean): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`
}

function isId(text: string, digits: number): boolean {
  return text.length === digits && /^[0-9a-f]+$/.test(text) && !isZero(text)
}

const isZero = (id: string): boolean => /^0+$/.test(id)

/** Lists of at most 32 members, passed on up to 512 characters (sections 3.3.1.1 and 3.3.1.5 of Trace Context). */
const MAX_MEMBERS = 32
const MAX_STATE_LENGTH = 512
const STATE_MEMBER =
  /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/

/** `tracestate` as it may be passed on; undefined where it is missing or malformed. What is too long loses members from its end. */
export function readTracestate(header: unknown): string | undefined {
  if (typeof header !== 'string' || header.length > 8 * MAX_STATE_LENGTH) return undefined
  const members = header.split(',').map((member) => member.trim())
  const named = members.filter((member) => member !== '')
  if (named.length === 0 || named.length > MAX_MEMBERS || !named.every((member) => STATE_MEMBER.test(member))) return undefined
  const keys = new Set(named.map((member) => member.slice(0, member.indexOf('='))))
  if (keys.size < named.length) return undefined
  let state = ''
  for (const member of named) {
    const longer = state === '' ? member : `${state},${member}`
    if (longer.length > MAX_STATE_LENGTH) break
    state = longer
  }
  return state === '' ? undefined : state
}

/** Section 3.3.2 of Baggage: what every platform passes on. */
const MAX_BAGGAGE_LENGTH = 8192
const MAX_BAGGAGE = 64
const BAGGAGE_MEMBER =
  /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+[ \t]*=[ \t]*[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*(?:[ \t]*;[\x20-\x2b\x2d-\x7e]*)?$/

/** `baggage` as it may be passed on; undefined where it is missing, malformed or too long. */
export function readBaggage(header: unknown): string | undefined {
  if (typeof header !== 'string' || header === '' || header.length > MAX_BAGGAGE_LENGTH) return undefined
  const members = header.split(',').map((member) => member.trim())
  return members.length <= MAX_BAGGAGE && members.every((member) => BAGGAGE_MEMBER.test(member)) ? members.join(',') : undefined
}

/** Parts of a trace that the operator lets a provider see. */
export const TRACE_SCOPES = ['none', 'trace', 'baggage'] as const
export type TraceScope = (typeof TRACE_SCOPES)[number]

/**
 * Headers of a call to a provider: name, value, name, value. Where the request is not traced here, those of the caller go on unchanged.
 * @param span id of the call's own span; undefined where the request has none.
 */
export function traceHeaders(
  scope: TraceScope,
  { trace, span, headers }: { trace: RequestTrace | undefined; span: string | undefined; headers: IncomingHttpHeaders },
): string[] {
  if (scope === 'none') return []
  const sent: string[] = []
  const caller = readTraceparent(headers.traceparent)
  if (trace && span !== undefined) sent.push('traceparent', traceparent(trace.traceId, span, trace.sampled))
  else if (caller) sent.push('traceparent', traceparent(caller.traceId, caller.spanId, caller.sampled))
  // Its members belong to the trace of the caller.
  const state = caller ? readTracestate(headers.tracestate) : undefined
  if (state !== undefined && sent.length > 0) sent.push('tracestate', state)
  const baggage = scope === 'baggage' ? readBaggage(headers.baggage) : undefined
  if (baggage !== undefined) sent.push('baggage', baggage)
  return sent
}

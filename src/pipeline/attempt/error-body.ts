/** A reply that is no answer: gathers its body, bounded, and has the dialect turn it into a fault. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { isObject, type Json } from '../../core/json.ts'

const CAP = 64 * 1024

export interface FaultSource {
  clock: Clock
  decode: (status: number, body: Json | undefined) => Fault
}

export class ErrorBody {
  private readonly status: number
  private readonly retryAfter: number | undefined
  private readonly chunks: Buffer[] = []
  private size = 0
  private readonly decode: FaultSource['decode']

  constructor(status: number, headers: IncomingHttpHeaders, source: FaultSource) {
    this.status = status
    this.retryAfter = retryAfterSeconds(headers['retry-after'], source.clock)
    this.decode = source.decode
  }

  /** @returns false once enough has been read. */
  push(chunk: Buffer): boolean {
    this.chunks.push(chunk)
    this.size += chunk.length
    return this.size < CAP
  }

  /** What a body that never came whole leaves: an error status says enough by itself. */
  instead(broken: Fault): Fault {
    return this.status >= 400 && broken.origin === 'upstream' ? this.fault() : broken
  }

  fault(): Fault {
    const body = parse(Buffer.concat(this.chunks))
    if (this.status >= 200 && this.status < 300 && !(isObject(body) && body.error)) return new Fault('upstream_garbled')
    if (this.status >= 300 && this.status < 400) return new Fault('upstream_error')
    const fault = this.decode(this.status, body)
    if (this.retryAfter === undefined || fault.retryAfter !== undefined) return fault
    const { message, metadata, providerStatus } = fault
    return new Fault(fault.code, { message, metadata, providerStatus, retryAfter: this.retryAfter })
  }
}

function parse(bytes: Buffer): Json | undefined {
  try {
    return JSON.parse(bytes.toString('utf8')) as Json
  } catch {
    return undefined
  }
}

/** Longest pause in seconds that is taken from a provider. */
const MAX_RETRY_AFTER = 60

/**
 * The `Retry-After` header of a provider (RFC 9110, 10.2.3), made harmless.
 * @returns whole seconds, at most 60; undefined where the header is absent or no sense can be made of it.
 */
function retryAfterSeconds(header: string | undefined, clock: Clock): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  if (/^\d{1,9}$/.test(text)) return Math.min(Number(text), MAX_RETRY_AFTER)
  if (!/^[A-Z][a-z]{2},? /.test(text)) return undefined
  const at = Date.parse(text)
  if (Number.isNaN(at)) return undefined
  const seconds = Math.ceil((at - clock.now()) / 1000)
  return seconds < 0 ? undefined : Math.min(seconds, MAX_RETRY_AFTER)
}

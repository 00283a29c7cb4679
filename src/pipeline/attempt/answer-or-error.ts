/** Stands before whatever takes an answer: a reply that is none is gathered here, and becomes a fault of the dialect's. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { isObject, type Json } from '../../core/json.ts'
import type { BodyReceiver, Receiver } from '../../services/upstream/call.ts'
import type { Trail } from '../run.ts'

/** Bytes of an error that are read. */
const CAP = 64 * 1024

export interface AnswerRules {
  clock: Clock
  decode: (status: number, body: Json | undefined, headers: IncomingHttpHeaders) => Fault
  /** True for the head of an answer. */
  accepts: (status: number, headers: IncomingHttpHeaders) => boolean
  /** Where the status of every reply is noted; a count of tokens has none. */
  trail?: Pick<Trail, 'noteStatus'>
}

/** The heads of replies that hold a whole answer. */
export function isSuccess(status: number): boolean {
  return status === 200 || status === 201
}

/** Passes the body of an answer on to its receiver; of any other reply the receiver gets the fault alone. */
export class AnswerOrError implements Receiver {
  private readonly answer: BodyReceiver
  private readonly rules: AnswerRules
  private error: ErrorBody | undefined

  constructor(answer: BodyReceiver, rules: AnswerRules) {
    this.answer = answer
    this.rules = rules
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    this.rules.trail?.noteStatus(status)
    if (!this.rules.accepts(status, headers)) this.error = new ErrorBody(status, headers, this.rules)
  }

  data(chunk: Buffer): void {
    if (!this.error) this.answer.data(chunk)
    else if (!this.error.push(chunk)) this.answer.fail(this.error.fault())
  }

  end(): void {
    if (this.error) this.answer.fail(this.error.fault())
    else this.answer.end()
  }

  /** An error status says enough by itself where its body never came whole. */
  fail(fault: Fault): void {
    this.answer.fail(this.error?.instead(fault) ?? fault)
  }
}

class ErrorBody {
  private readonly status: number
  private readonly headers: IncomingHttpHeaders
  private readonly retryAfter: number | undefined
  private readonly chunks: Buffer[] = []
  private size = 0
  private readonly decode: AnswerRules['decode']

  constructor(status: number, headers: IncomingHttpHeaders, { clock, decode }: AnswerRules) {
    this.status = status
    this.headers = headers
    this.retryAfter = retryAfterSeconds(headers['retry-after'], clock)
    this.decode = decode
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
    const fault = this.decode(this.status, body, this.headers)
    if (this.retryAfter === undefined || fault.retryAfter !== undefined) return fault
    const { message, metadata, providerStatus, refusesReasoning, lacksRights, sentence } = fault
    const kept = { message, metadata, providerStatus, refusesReasoning, lacksRights, sentence }
    return new Fault(fault.code, { ...kept, retryAfter: this.retryAfter })
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

/** One upstream answer that is not streamed: gathered, parsed once, then patched or translated. */
import type { IncomingHttpHeaders } from 'node:http'
import { endOf, type StreamEvent } from '../canon/events.ts'
import { Fault } from '../core/faults.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import type { Final, PassFacts } from '../dialects/types.ts'
import type { Receiver } from '../upstream/call.ts'
import { ErrorBody } from './error-body.ts'
import { type AttemptPlan, UpstreamAttempt } from './upstream-attempt.ts'

/** A reply longer than this is cut off. */
const CAP = 16 * 1024 * 1024

/** What a lane makes of a parsed body. */
export interface WholeResult extends PassFacts {
  /** Bytes of content, where no usage was reported. */
  content?: number
  finish(final: Final): string
}

export interface WholePlan extends AttemptPlan {
  read(body: JsonObject): WholeResult
}

export class WholeAttempt extends UpstreamAttempt<WholePlan> implements Receiver {
  private chunks: Buffer[] = []
  private size = 0

  head(status: number, headers: IncomingHttpHeaders): void {
    if (status !== 200 && status !== 201) {
      this.error = new ErrorBody(status, headers, { clock: this.exchange.clock, decode: this.plan.decodeFault })
    }
  }

  data(chunk: Buffer): void {
    if (this.over) return
    this.flow?.alive?.()
    if (this.tookError(chunk)) return
    this.size += chunk.length
    if (this.size > CAP) this.fail(new Fault('upstream_garbled'))
    else this.chunks.push(chunk)
  }

  end(): void {
    if (this.over) return
    if (this.error) {
      this.fail(this.error.fault())
      return
    }
    try {
      this.complete(this.plan.read(this.parse()))
    } catch (thrown) {
      this.fail(thrown instanceof Fault ? thrown : new Fault('upstream_garbled', { cause: thrown }))
    }
  }

  fail(fault: Fault): void {
    if (!this.over) this.refuse(fault)
  }

  /** Takes the finished answer; a provider inside this process calls it straight. */
  complete(result: WholeResult): void {
    if (this.over) return
    if (result.fault) {
      this.fail(result.fault)
      return
    }
    // An end in error is a failure as long as there is nothing to show for it, as in a stream.
    if (result.end?.reason === 'error' && !result.content && !result.usage?.output) {
      this.fail(new Fault('upstream_error'))
      return
    }
    const { exchange, plan } = this
    exchange.commit(plan.endpoint)
    const { usage, end, content = 0 } = result
    this.settle({ usage, end, fault: undefined, aborted: this.discarding, relayed: content }, (final) => result.finish(final))
  }

  private parse(): JsonObject {
    const bytes = this.chunks.length === 1 ? this.chunks[0] : Buffer.concat(this.chunks)
    this.chunks = []
    if (bytes.length === 0) throw new Fault('upstream_empty')
    let body: unknown
    try {
      body = JSON.parse(bytes.toString('utf8'))
    } catch (cause) {
      throw new Fault('upstream_garbled', { cause })
    }
    if (!isObject(body)) throw new Fault('upstream_garbled')
    // Some providers report a failure inside a 200.
    if (isObject(body.error)) throw this.plan.decodeFault(200, body)
    return body
  }

  protected override gone(): void {
    this.settle({ usage: undefined, end: undefined, fault: undefined, aborted: true, relayed: 0 }, () => '')
  }
}

/** Reads a body by way of canonical events, into the exchange's path. */
export function translated(
  events: readonly StreamEvent[],
  path: { push(events: readonly StreamEvent[]): string; finish(final: Final): string },
): WholeResult {
  const result: WholeResult = { finish: (final) => path.finish(final) }
  for (const event of events) {
    if (event.type === 'usage') result.usage = event.usage
    else if (event.type === 'end') result.end = endOf(event)
    else if (event.type === 'fault') result.fault = event.fault
  }
  if (!result.fault) path.push(events)
  if (!result.usage) result.content = contentBytes(events)
  return result
}

/** What the model said, in bytes: the base of an estimate where the provider reports no usage. */
export function contentBytes(events: readonly StreamEvent[]): number {
  let bytes = 0
  for (const event of events) if (event.type === 'block-delta') bytes += Buffer.byteLength(event.text)
  return bytes
}

/** One upstream answer that is not streamed: gathered, parsed once, then patched or translated. */
import type { IncomingHttpHeaders } from 'node:http'
import type { StreamEvent } from '../canon/events.ts'
import type { Endpoint } from '../catalog/types.ts'
import { Fault } from '../core/faults.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import type { Final, PassFacts } from '../dialects/types.ts'
import type { Receiver } from '../upstream/call.ts'
import type { DrainSlots } from './drain-slots.ts'
import { ErrorBody, type FaultSource } from './error-body.ts'
import type { Exchange } from './exchange.ts'
import type { Lane, Reply, Turn } from './reply.ts'
import type { Flow } from './stream-attempt.ts'

/** A reply longer than this is cut off. */
const CAP = 16 * 1024 * 1024

/** What a lane makes of a parsed body. */
export interface WholeResult extends PassFacts {
  /** Bytes of content, where no usage was reported. */
  content?: number
  finish(final: Final): string
}

export interface WholePlan {
  endpoint: Endpoint
  lane: Lane
  drains: DrainSlots
  read(body: JsonObject): WholeResult
  decodeFault: FaultSource['decode']
}

export class WholeAttempt implements Receiver {
  readonly done: Promise<Reply>
  flow: Flow | undefined
  private readonly exchange: Exchange
  private readonly plan: WholePlan
  private resolve: (reply: Reply) => void = () => {}
  private reject: (fault: Fault) => void = () => {}
  private chunks: Buffer[] = []
  private size = 0
  private over = false
  /** The caller has gone and the provider is read to its end for the usage it reports. */
  private discarding = false
  private leaveSlot: (() => void) | undefined
  private error: ErrorBody | undefined
  private readonly takeBack: () => void

  constructor(exchange: Exchange, plan: WholePlan) {
    this.exchange = exchange
    this.plan = plan
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    this.takeBack = exchange.cancel.onAbort(() => this.cancelled())
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    if (status !== 200 && status !== 201) {
      this.error = new ErrorBody(status, headers, { clock: this.exchange.clock, decode: this.plan.decodeFault })
    }
  }

  data(chunk: Buffer): void {
    if (this.over) return
    this.flow?.alive?.()
    if (this.error) {
      if (!this.error.push(chunk)) this.fail(this.error.fault())
      return
    }
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
    if (this.over) return
    this.close()
    this.reject(this.error?.instead(fault) ?? fault)
  }

  /** Takes the finished answer; a provider inside this process calls it straight. */
  complete(result: WholeResult): void {
    if (this.over) return
    if (result.fault) {
      this.fail(result.fault)
      return
    }
    const { exchange, plan } = this
    exchange.committedEndpoint = plan.endpoint
    if (exchange.firstContentAt === 0) exchange.firstContentAt = exchange.clock.monotonic()
    const { usage, end, content = 0 } = result
    this.settle({ usage, end, aborted: this.discarding, relayed: content }, (final) => result.finish(final))
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

  private cancelled(): void {
    if (this.over) return
    const { exchange, plan } = this
    const { reason } = exchange.cancel
    if (reason instanceof Fault && reason.code === 'deadline') {
      this.fail(reason)
      return
    }
    if (plan.endpoint.provider.onAbort === 'drain') this.leaveSlot = plan.drains.take(exchange.clock, () => this.gone())
    if (this.leaveSlot) this.discarding = true
    else this.gone()
  }

  private gone(): void {
    if (!this.over) this.settle({ usage: undefined, end: undefined, aborted: true, relayed: 0 }, () => '')
  }

  private close(): void {
    this.over = true
    this.takeBack()
    this.leaveSlot?.()
    this.flow?.abort()
  }

  private settle(facts: Pick<Turn, 'usage' | 'end' | 'aborted' | 'relayed'>, finish: (final: Final) => string): void {
    this.close()
    const { endpoint, lane } = this.plan
    this.resolve({ turn: { endpoint, lane, fault: undefined, ...facts }, finish })
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
    else if (event.type === 'end')
      result.end = event.raw === undefined ? { reason: event.reason } : { reason: event.reason, raw: event.raw }
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

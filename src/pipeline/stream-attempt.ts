/** One streamed upstream answer: holds everything until the first content, then relays with back-pressure. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Endpoint } from '../catalog/types.ts'
import { Fault } from '../core/faults.ts'
import type { Receiver } from '../upstream/call.ts'
import type { DrainSlots } from './drain-slots.ts'
import { ErrorBody, type FaultSource } from './error-body.ts'
import type { Exchange } from './exchange.ts'
import type { Relay } from './relays.ts'
import type { Lane, Reply, Turn } from './reply.ts'

/** What the attempt steers: an HTTP call or a provider inside this process. */
export interface Flow {
  pause(): void
  resume(): void
  abort(): void
  alive?(): void
  /** The answer is whole: whatever may still come is worth a short wait only. */
  answered?(): void
}

export interface StreamPlan {
  endpoint: Endpoint
  lane: Lane
  relay: Relay
  drains: DrainSlots
  decodeFault: FaultSource['decode']
}

export class StreamAttempt implements Receiver {
  readonly done: Promise<Reply>
  flow: Flow | undefined
  private readonly exchange: Exchange
  private readonly plan: StreamPlan
  private resolve: (reply: Reply) => void = () => {}
  private reject: (fault: Fault) => void = () => {}
  private pending = ''
  private committed = false
  private over = false
  /** The caller has gone and the provider is read to its end for the usage it reports. */
  private discarding = false
  private leaveSlot: (() => void) | undefined
  private error: ErrorBody | undefined
  private readonly takeBack: () => void

  constructor(exchange: Exchange, plan: StreamPlan) {
    this.exchange = exchange
    this.plan = plan
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    this.takeBack = exchange.cancel.onAbort(() => this.cancelled())
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    const type = headers['content-type']?.toLowerCase() ?? ''
    if (status < 200 || status > 299 || !type.startsWith('text/event-stream')) {
      this.error = new ErrorBody(status, headers, { clock: this.exchange.clock, decode: this.plan.decodeFault })
    }
  }

  data(chunk: Buffer): void {
    if (this.over) return
    if (this.error) {
      if (!this.error.push(chunk)) this.fail(this.error.fault())
      return
    }
    const { relay } = this.plan
    let text: string
    try {
      text = relay.feed(chunk)
    } catch (cause) {
      this.fail(cause instanceof Fault ? cause : new Fault('upstream_garbled', { cause }))
      return
    }
    if (relay.lively) this.flow?.alive?.()
    this.relay(text)
    if (relay.fault) this.fail(relay.fault)
    else if (relay.end && relay.usage) this.flow?.answered?.()
  }

  /** Hands on what a relay returned; a provider inside this process calls it straight. */
  relay(text: string): void {
    const { relay } = this.plan
    if (!this.committed) {
      this.pending += text
      if (!relay.committed) return
      this.commit()
      text = this.pending
      this.pending = ''
    }
    if (text === '' || this.discarding) return
    if (this.exchange.reply?.write(text, relay.raw) === false) {
      this.flow?.pause()
      this.exchange.door.onDrain(() => this.flow?.resume())
    }
  }

  end(): void {
    if (this.over) return
    if (this.error) {
      this.fail(this.error.fault())
      return
    }
    const { relay } = this.plan
    this.relay(relay.close())
    if (relay.fault) {
      this.fail(relay.fault)
      return
    }
    if (!relay.end) {
      this.fail(new Fault(this.committed ? 'upstream_cut' : 'upstream_empty'))
      return
    }
    if (!this.committed && relay.end.reason === 'error') {
      this.fail(new Fault('upstream_error'))
      return
    }
    if (!this.committed) {
      this.commit()
      this.exchange.reply?.write(this.pending, relay.raw)
    }
    this.settle(undefined, false)
  }

  fail(fault: Fault): void {
    if (this.over) return
    const { relay } = this.plan
    // Some providers keep the connection open after their last event: an answer that has ended is whole.
    if (fault.code === 'upstream_silent' && relay.end && !relay.fault) {
      this.end()
      return
    }
    if (this.committed) this.settle(fault, false)
    else {
      this.close()
      this.reject(this.error?.instead(fault) ?? fault)
    }
  }

  private commit(): void {
    const { exchange, plan } = this
    this.committed = true
    if (exchange.firstContentAt === 0) exchange.firstContentAt = exchange.clock.monotonic()
    exchange.committedEndpoint = plan.endpoint
    if (!this.discarding) exchange.reply?.open()
  }

  private cancelled(): void {
    if (this.over) return
    const { exchange, plan } = this
    if (exchange.cancel.reason instanceof Fault && exchange.cancel.reason.code === 'deadline') {
      this.fail(exchange.cancel.reason)
      return
    }
    if (plan.endpoint.provider.onAbort === 'drain') this.leaveSlot = plan.drains.take(exchange.clock, () => this.gone())
    if (this.leaveSlot) {
      this.discarding = true
      this.flow?.resume()
      return
    }
    this.gone()
  }

  private gone(): void {
    if (this.over) return
    this.settle(undefined, true)
  }

  private close(): void {
    this.over = true
    this.takeBack()
    this.leaveSlot?.()
    this.flow?.abort()
  }

  private settle(fault: Fault | undefined, aborted: boolean): void {
    this.close()
    const { relay, endpoint, lane } = this.plan
    const turn: Turn = {
      endpoint,
      lane,
      usage: relay.usage,
      end: relay.end,
      fault,
      aborted: aborted || this.discarding,
      relayed: relay.relayed,
    }
    this.resolve({ turn, finish: (final) => relay.finish(final) })
  }
}

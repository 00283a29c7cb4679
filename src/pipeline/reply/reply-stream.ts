/** A streamed reply from its head on, which goes out with the first content or after long silence. */
import type { Timer } from '../../core/clock.ts'
import type { Fault } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import { binary } from '../../machines/sse/frames.ts'
import type { Accepted } from '../exchange.ts'
import type { StreamedReply } from '../records.ts'
import { idHeaders } from '../reply-headers.ts'

type Streamed = Pick<Accepted, 'head' | 'request' | 'run' | 'history'>

export class ReplyStream implements StreamedReply {
  /** True once the head has gone out: a failure is then an event of the stream. */
  sent = false
  ended = false
  private readonly exchange: Streamed
  private debugBodies: readonly JsonObject[] | undefined
  /** One character per byte. */
  private preface = ''
  private lastWrite: number
  private timer: Timer
  /** Milliseconds of silence after which a comment goes out, with head and lifecycle events if nothing has gone yet. */
  private readonly silenceMs: number

  constructor(exchange: Streamed) {
    this.exchange = exchange
    this.silenceMs = exchange.head.config.server.silence
    this.lastWrite = exchange.head.clock.monotonic()
    this.timer = exchange.head.clock.after(this.silenceMs, () => this.silence())
  }

  /**
   * Readies the head for an attempt: lifecycle events and, if requested, one debug event per attempted provider before them.
   * Done anew for each attempt until the head has gone out, since the events name the model that serves.
   */
  prepare(upstreamBody: JsonObject | undefined): void {
    const {
      request: { client, payload },
      run: { ctx },
    } = this.exchange
    if (this.sent) {
      if (upstreamBody) this.exchange.head.connection.text(client.debug(ctx, upstreamBody))
      return
    }
    if (upstreamBody) this.debugBodies = [...(this.debugBodies ?? []), upstreamBody]
    ctx.sequence = 0
    let text = ''
    for (const body of this.debugBodies ?? []) text += binary(client.debug(ctx, body))
    this.preface = client.open && !client.opensLate ? text + client.open(ctx, payload.source) : text
    ctx.opened = true
  }

  /** Sends the head and what was prepared; does nothing if it has gone out. */
  open(): void {
    if (this.sent) return
    if (!this.exchange.run.ctx.opened) this.prepare(undefined)
    this.sent = true
    const {
      request: { client },
      run: { ctx },
    } = this.exchange
    if (client.opensLate && client.open) this.preface += client.open(ctx)
    this.exchange.head.connection.openStream(idHeaders(this.exchange))
    if (this.preface !== '') this.exchange.head.connection.bytes(this.preface)
    this.preface = ''
  }

  /** @param raw true if `text` holds bytes, one per character. @returns false if the caller should be waited for. */
  write(text: string, raw: boolean): boolean {
    this.lastWrite = this.exchange.head.clock.monotonic()
    return raw ? this.exchange.head.connection.bytes(text) : this.exchange.head.connection.text(text)
  }

  /** @param fault why the reply ends, where it has failed. */
  end(text: string, raw = false, fault?: Fault): void {
    this.stop()
    const isCut = fault !== undefined && this.exchange.request.client.cutsFailures === true
    this.exchange.head.connection.endStream(text, raw, isCut)
  }

  /** No more comments. */
  stop(): void {
    if (this.ended) return
    this.ended = true
    this.timer.cancel()
  }

  private silence(): void {
    if (this.ended) return
    const {
      head: { brand, clock },
    } = this.exchange
    const left = this.lastWrite + this.silenceMs - clock.monotonic()
    if (left <= 0.5) {
      this.open()
      this.write(`: ${brand.toUpperCase()} PROCESSING\n\n`, false)
    }
    this.timer = clock.after(left <= 0.5 ? this.silenceMs : left, () => this.silence())
  }
}

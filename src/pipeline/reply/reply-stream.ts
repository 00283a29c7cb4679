/**
 * A streamed reply: its head and its silence (nothing goes out before content, except after long silence), and the relay of the pass
 * lane, through which a provider's stream gets into it. And the reply that has no content.
 */

import type { Timer } from '../../core/clock.ts'
import { entryAt } from '../../core/entry-at.ts'
import type { Fault } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import { markText } from '../../dialects/canon/reasoning-owner.ts'
import { binary } from '../../dialects/sse/frames.ts'
import type { Final, PassFacts, PassStream, PassWire } from '../../dialects/types.ts'
import { answeredHere } from '../attempt/turn.ts'
import { type Accepted, type Guarded, idHeaders } from '../exchange.ts'
import type { Service } from '../layer.ts'
import type { LateReader, StreamedReply } from '../records.ts'

type Streamed = Pick<Accepted, 'head' | 'request' | 'run' | 'trail'>

export class ReplyStream implements StreamedReply {
  /** True once the head has gone out: a failure is then an event of the stream. */
  sent = false
  private ended = false
  private readonly exchange: Streamed
  private readonly comment: string
  private readonly debugBodies: JsonObject[] = []
  /** One character per byte. */
  private preface = ''
  private lastWrite: number
  private timer: Timer
  /** Milliseconds of silence after which a comment goes out, with head and lifecycle events if nothing has gone yet. */
  private readonly patience: number

  constructor(exchange: Streamed) {
    this.exchange = exchange
    this.patience = exchange.run.silence
    this.comment = `: ${exchange.head.brand.toUpperCase()} PROCESSING\n\n`
    this.lastWrite = exchange.head.clock.monotonic()
    this.timer = exchange.head.clock.after(this.patience, () => this.silence())
  }

  /**
   * Readies the head for an attempt: lifecycle events and, if requested, one debug event per attempted provider before them.
   * Done anew for each attempt until the head has gone out, since the events name the model that serves.
   */
  prepare(upstreamBody: JsonObject | undefined): void {
    const {
      request: { client, source },
      run: { ctx },
    } = this.exchange
    if (this.sent) {
      if (upstreamBody) this.exchange.head.connection.text(client.debug(ctx, upstreamBody))
      return
    }
    if (upstreamBody) this.debugBodies.push(upstreamBody)
    ctx.sequence = 0
    let text = ''
    for (const body of this.debugBodies) text += binary(client.debug(ctx, body))
    this.preface = client.open ? text + client.open(ctx, source) : text
    ctx.opened = true
  }

  /** Sends the head and what was prepared; does nothing if it has gone out. */
  open(): void {
    if (this.sent) return
    if (!this.exchange.run.ctx.opened) this.prepare(undefined)
    this.sent = true
    this.exchange.head.connection.openStream(idHeaders(this.exchange))
    this.exchange.head.connection.bytes(this.preface)
    this.preface = ''
  }

  /** @param raw true if `text` holds bytes, one per character. @returns false if the caller should be waited for. */
  write(text: string, raw: boolean): boolean {
    this.lastWrite = this.exchange.head.clock.monotonic()
    return raw ? this.exchange.head.connection.bytes(text) : this.exchange.head.connection.text(text)
  }

  end(text: string, raw = false): void {
    this.stop()
    this.exchange.head.connection.endStream(text, raw)
  }

  /** No more comments. */
  stop(): void {
    this.ended = true
    this.timer.cancel()
  }

  private silence(): void {
    if (this.ended) return
    const {
      head: { clock },
    } = this.exchange
    const left = this.lastWrite + this.patience - clock.monotonic()
    if (left <= 0.5) {
      this.open()
      this.write(this.comment, false)
    }
    this.timer = clock.after(left <= 0.5 ? this.patience : left, () => this.silence())
  }
}

/** What has come through a relay. */
export interface RelayFacts extends PassFacts {
  /** True once content has been returned: the commit point. */
  readonly committed: boolean
  readonly relayed: number
  readonly images: number
}

export interface Relay {
  /** True if its methods return bytes, one per character; else text, but for `finish`. */
  readonly raw: boolean
  readonly facts: RelayFacts
  feed(chunk: Buffer): string
  close(): string
  /** The upstream broke off: what taps hold is handed on. */
  abandon?(): string
  /** Bytes, one per character. */
  finish(final: Final): string
  /** Content has been decoded, whether or not it has gone out: the path knows of this attempt. */
  readonly begun?: boolean
  /** The answer has ended at a stop sequence, and the provider writes on: it need not be heard. */
  readonly isCut?: boolean
  /** A guardrail refuses the answer. */
  readonly refusal?: Fault | undefined
  /** Settles once nothing waits for an engine any more. */
  readonly pending?: Promise<void> | undefined
  readonly crowded?: boolean
  /** What comes while no bytes do. */
  listen?(late: LateReader): void
}

/** Same wire on both sides: frames travel with a short list of patches. */
export class PassRelay implements Relay {
  readonly raw = true
  readonly facts: PassStream
  private readonly mark: ((text: string) => string) | undefined
  /** @param mark what becomes of text on its way: reasoning gets the mark of its account. */
  constructor(stream: PassStream, mark: ((text: string) => string) | undefined) {
    this.facts = stream
    this.mark = mark
  }
  feed(chunk: Buffer): string {
    const text = this.facts.feed(chunk)
    return this.facts.plain ? text : this.marked(text)
  }
  close(): string {
    return this.marked(this.facts.close())
  }
  finish(final: Final): string {
    return this.marked(this.facts.finish(final))
  }
  private marked(text: string): string {
    return this.mark ? this.mark(text) : text
  }
}

/** Marks what the provider signed or encrypted with its account; undefined where it is bound to none. */
export function marking({ signed }: PassWire, account: string | undefined): ((text: string) => string) | undefined {
  return account === undefined ? undefined : (text) => markText(text, signed, account)
}

/** Answers with a whole stream without content, free of charge: no provider is called. */
export function prepareResponse(): Service<Guarded> {
  return async function handle(exchange) {
    const { run, route, request, head } = exchange
    const endpoint = entryAt(route.endpoints, 0)
    run.ctx.model = endpoint.model.slug
    run.final = {
      usage: head.costs.noUsage,
      cost: 0,
      inputCost: 0,
      outputCost: 0,
      end: { reason: 'stop' },
      completedAt: Math.floor(head.clock.now() / 1000),
    }
    run.reply = new ReplyStream(exchange)
    const encoder = request.client.streamEncoder(run.ctx)
    return { turn: answeredHere(endpoint), finish: (final) => encoder.finish(final) }
  }
}

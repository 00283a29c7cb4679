/** Where decoded events go in the translate lane: taps, then the client's encoder or, not streaming, a fold. One per exchange. */

import type { StreamEvent } from '../canon/events.ts'
import { Fold } from '../canon/fold.ts'
import type { Final, StreamEncoder } from '../dialects/types.ts'
import type { Exchange } from './exchange.ts'

/** A call of a server tool found in a turn: kept from the caller, run by the gateway. */
export interface FoundCall {
  id: string
  name: string
  args: string
}

export class EventPath {
  private readonly exchange: Exchange
  private readonly encoder: StreamEncoder | undefined
  private readonly folded: Fold | undefined
  private readonly entry: (event: StreamEvent) => void
  private batch: StreamEvent[] = []
  /** Next block number towards the caller; turns count on. */
  private nextBlock = 0
  private blocks = new Map<number, number>()
  private serverTools: ReadonlySet<string> | undefined
  private withheld = new Map<number, FoundCall>()
  /** The running turn as the model wrote it, for the next turn's request; only kept where tools may run. */
  turn: Fold | undefined
  calls: FoundCall[] = []

  constructor(exchange: Exchange) {
    this.exchange = exchange
    if (exchange.stream) this.encoder = exchange.client.streamEncoder(exchange.ctx)
    else this.folded = new Fold()
    let entry = (event: StreamEvent): void => {
      this.batch.push(event)
    }
    for (const tap of (exchange.taps ?? []).filter((one) => one.mode === 'mutate').reverse()) {
      const next = entry
      entry = (event) => tap.push(event, next)
    }
    this.entry = entry
  }

  /** @param serverTools names under which the gateway's own tools were offered; undefined where none were. */
  beginTurn(serverTools: ReadonlySet<string> | undefined): void {
    this.blocks = new Map()
    this.withheld = new Map()
    this.calls = []
    this.serverTools = serverTools
    this.turn = serverTools ? new Fold() : undefined
  }

  /** Takes events as decoded in this turn. @returns text for the client, '' where nothing is to be sent. */
  push(events: readonly StreamEvent[]): string {
    for (const event of events) {
      this.turn?.push(event)
      const renumbered = this.renumber(event)
      if (renumbered) this.entry(renumbered)
    }
    return this.flush()
  }

  /** Adds a whole block of the gateway's own, such as the output item of a tool that ran. */
  add(events: (block: number) => readonly StreamEvent[]): string {
    for (const event of events(this.nextBlock++)) this.entry(event)
    return this.flush()
  }

  finish(final: Final): string {
    if (this.encoder) return this.encoder.finish(final)
    return this.exchange.client.encodeResult((this.folded ?? new Fold()).result, this.exchange.ctx, final)
  }

  private flush(): string {
    const { batch } = this
    if (batch.length === 0) return ''
    this.batch = []
    if (this.encoder) return this.encoder.push(batch)
    for (const event of batch) this.folded?.push(event)
    return ''
  }

  private renumber(event: StreamEvent): StreamEvent | undefined {
    switch (event.type) {
      case 'block-start': {
        if (event.kind === 'call' && event.call && this.serverTools?.has(event.call.name)) {
          const call = { id: event.call.id, name: event.call.name, args: '' }
          this.withheld.set(event.block, call)
          this.calls.push(call)
          return undefined
        }
        const block = this.nextBlock++
        this.blocks.set(event.block, block)
        return block === event.block ? event : { ...event, block }
      }
      case 'block-delta':
      case 'block-note':
      case 'block-end': {
        const held = this.withheld.get(event.block)
        if (held) {
          if (event.type === 'block-delta') held.args += event.text
          return undefined
        }
        const block = this.blocks.get(event.block)
        if (block === undefined) return undefined
        return block === event.block ? event : { ...event, block }
      }
      default:
        return event
    }
  }
}

/** Turns placeholders of the request back into what they stand for, for the caller alone. */
import type { JsonObject } from '../../core/json.ts'
import { hasTexts, type StreamEvent } from '../../dialects/canon/events.ts'
import { type Vault, withTexts } from '../../guardrails/index.ts'
import type { Tap } from '../../plugin-api/index.ts'

type Emit = (event: StreamEvent) => void

interface OpenBlock {
  /** Arguments that are JSON: values are escaped. */
  readonly call: boolean
  json: boolean | undefined
  /** May be the beginning of a placeholder. */
  tail: string
}

export class RestoreTap implements Tap {
  readonly mode = 'mutate'
  private readonly vault: Vault
  private readonly blocks = new Map<number, OpenBlock>()
  private readonly altered = new Set<number>()

  constructor(vault: Vault) {
    this.vault = vault
  }

  push(event: StreamEvent, emit: Emit): void {
    if (event.type === 'block-start') {
      this.blocks.set(event.block, { call: event.kind === 'call', json: undefined, tail: '' })
      emit(event.of === undefined ? event : { ...event, of: { ...event.of, data: this.whole(event.of.data) } })
    } else if (event.type === 'block-delta') this.delta(event, emit)
    else if (event.type === 'block-note') this.note(event, emit)
    else if (event.type === 'block-end') {
      this.release(event.block, emit)
      this.blocks.delete(event.block)
      emit(event)
    } else if (event.type === 'opaque') emit({ ...event, of: { ...event.of, data: this.whole(event.of.data) } })
    else {
      if (event.type === 'end' || event.type === 'fault') this.finish(emit)
      emit(event)
    }
  }

  finish(emit: Emit): void {
    for (const block of this.blocks.keys()) this.release(block, emit)
  }

  private delta(event: Extract<StreamEvent, { type: 'block-delta' }>, emit: Emit): void {
    const { vault } = this
    const open = this.blocks.get(event.block)
    if (!open || vault.size === 0) {
      emit(event)
      return
    }
    const text = open.tail + event.text
    if (open.call && open.json === undefined && text.trim() !== '') open.json = /^\s*[{[]/.test(text)
    const until = vault.openAt(text)
    open.tail = text.slice(until)
    this.say(event.block, { text: text.slice(0, until), json: open.json === true }, emit)
  }

  private note(event: Extract<StreamEvent, { type: 'block-note' }>, emit: Emit): void {
    const { block, note } = event
    if (this.vault.size > 0 && note === 'logprobs') return
    this.release(block, emit)
    if (this.altered.has(block) && (note === 'signature' || note === 'encrypted')) return
    emit(hasTexts(note) ? { ...event, data: this.whole(event.data) } : event)
  }

  private release(block: number, emit: Emit): void {
    const open = this.blocks.get(block)
    if (!open || open.tail === '') return
    const { tail } = open
    open.tail = ''
    emit({ type: 'block-delta', block, text: tail })
  }

  private say(block: number, { text, json }: { text: string; json: boolean }, emit: Emit): void {
    if (text === '') return
    const restored = this.vault.restored(text, json ? escaped : undefined)
    if (restored !== text) this.altered.add(block)
    emit({ type: 'block-delta', block, text: restored })
  }

  /** Texts within may be JSON themselves, such as the arguments of a tool that ran. */
  private whole(data: JsonObject): JsonObject {
    return withTexts(data, (text) => {
      const restored = this.vault.restored(text, /^\s*[{[]\s*["{[]/.test(text) ? escaped : undefined)
      return restored === text ? undefined : restored
    })
  }
}

function escaped(value: string): string {
  return JSON.stringify(value).slice(1, -1)
}

/** Folds a stream of canonical events into the finished blocks that a whole reply is written from. */
import type { Fault } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import { type BlockKind, type Called, type End, type NoteKind, type StreamEvent, toEnd } from './events.ts'
import type { Opaque } from './request.ts'
import type { Usage } from './usage.ts'

export interface Block {
  kind: BlockKind
  item?: string | undefined
  call?: Called | undefined
  of?: Opaque | undefined
  /** Joined deltas: the text, or a call's arguments. */
  text: string
  notes: { note: NoteKind; data: JsonObject }[]
  closed: boolean
}

export interface Folded {
  model?: string | undefined
  blocks: Block[]
  usage?: Usage
  end?: End
  fault?: Fault
  opaque: Opaque[]
}

export class Fold {
  readonly result: Folded = { blocks: [], opaque: [] }
  private readonly byNumber = new Map<number, Block>()

  push(event: StreamEvent): void {
    const { result } = this
    switch (event.type) {
      case 'start':
        result.model = event.model ?? result.model
        return
      case 'block-start': {
        const block: Block = { kind: event.kind, item: event.item, call: event.call, of: event.of, text: '', notes: [], closed: false }
        this.byNumber.set(event.block, block)
        result.blocks.push(block)
        return
      }
      case 'block-delta': {
        const block = this.byNumber.get(event.block)
        if (block) block.text += event.text
        return
      }
      case 'block-note': {
        const block = this.byNumber.get(event.block)
        if (event.note === 'outcome') {
          if (block?.of) block.of = { ...block.of, data: event.data }
        } else if (event.note !== 'progress') block?.notes.push({ note: event.note, data: event.data })
        return
      }
      case 'block-end': {
        const block = this.byNumber.get(event.block)
        if (block) block.closed = true
        return
      }
      case 'usage':
        result.usage = event.usage
        return
      case 'end':
        result.end = toEnd(event)
        return
      case 'fault':
        result.fault = event.fault
        return
      case 'opaque':
        result.opaque.push(event.of)
    }
  }
}

/** Words of an answer as guardrails have left them, for the spans of a key whose operator wants to see content. */
import type { BlockKind, StreamEvent } from '../../dialects/canon/events.ts'
import type { Tap } from '../../plugin-api/index.ts'

/** Characters that are kept of one answer. */
const LONGEST = 16 * 1024

/** A block of text, of reasoning, or of the arguments of a call. */
export interface CapturedBlock {
  readonly kind: BlockKind
  /** Of a call. */
  readonly name: string | undefined
  readonly id: string | undefined
  text: string
}

export class ContentCaptureTap implements Tap {
  readonly mode = 'observe'
  readonly blocks = new Map<number, CapturedBlock>()
  /** There was more. */
  cut = false
  private left = LONGEST

  push(event: StreamEvent, emit: (event: StreamEvent) => void): void {
    if (event.type === 'block-start') {
      const { kind, call } = event
      if (kind !== 'media' && kind !== 'opaque' && kind !== 'server') {
        this.blocks.set(event.block, { kind, name: call?.name, id: call?.id, text: '' })
      }
    } else if (event.type === 'block-delta') {
      const block = this.blocks.get(event.block)
      if (block) this.add(block, event.text)
    }
    emit(event)
  }

  private add(block: CapturedBlock, text: string): void {
    if (text.length > this.left) this.cut = true
    const kept = text.slice(0, this.left)
    this.left -= kept.length
    block.text += kept
  }
}

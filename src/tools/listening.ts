/** Reads the text and the reasoning of a called model while they arrive. */
import type { BlockKind, StreamEvent } from '../plugin-api/index.ts'

export interface Ears {
  text(delta: string): void
  thought?(delta: string): void
}

export function listener({ text, thought }: Ears): (event: StreamEvent) => void {
  const kinds = new Map<number, BlockKind>()
  return (event) => {
    if (event.type === 'block-start') kinds.set(event.block, event.kind)
    if (event.type !== 'block-delta' || event.text === '') return
    const kind = kinds.get(event.block)
    if (kind === 'text') text(event.text)
    else if (kind === 'reasoning' || kind === 'summary') thought?.(event.text)
  }
}

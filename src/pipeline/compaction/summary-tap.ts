/** Takes the text of an answer as the summary of a conversation, and puts one item with its encrypted form in its place. */
import type { EndReason, StreamEvent } from '../../dialects/canon/events.ts'
import type { Opaque } from '../../dialects/canon/request.ts'
import type { Tap } from '../../plugin-api/index.ts'

/** Ends after which the text is whole. A model that calls something although it may not has written what it wanted to write. */
const WHOLE: ReadonlySet<EndReason> = new Set(['stop', 'tool_calls'])

export class SummaryTap implements Tap {
  readonly mode = 'mutate'
  /** True once the item has gone out. */
  isWritten = false
  private readonly item: (summary: string) => Opaque
  private summary = ''
  private readonly texts = new Set<number>()
  /** The first block of the answer; the item gets its number. */
  private block: number | undefined

  constructor(item: (summary: string) => Opaque) {
    this.item = item
  }

  push(event: StreamEvent, emit: (event: StreamEvent) => void): void {
    switch (event.type) {
      case 'block-start':
        this.block ??= event.block
        if (event.kind === 'text') this.texts.add(event.block)
        return
      case 'block-delta':
        if (this.texts.has(event.block)) this.summary += event.text
        return
      case 'block-note':
      case 'block-end':
      case 'opaque':
        return
      case 'end':
        if (!event.paused && WHOLE.has(event.reason)) this.write(emit)
    }
    emit(event)
  }

  private write(emit: (event: StreamEvent) => void): void {
    const { block } = this
    if (block === undefined || this.isWritten || this.summary.trim() === '') return
    this.isWritten = true
    emit({ type: 'block-start', block, kind: 'opaque', of: this.item(this.summary) })
    emit({ type: 'block-end', block })
  }
}

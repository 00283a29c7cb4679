/** Returns what was read of the files, as annotations of the first text of the answer. */
import type { StreamEvent, Tap } from '../../src/plugin-api/index.ts'
import type { FileNote } from './annotations.ts'

export class FileNotes implements Tap {
  readonly mode = 'mutate'
  private waiting: FileNote[] = []
  private readonly texts = new Set<number>()

  add(note: FileNote): void {
    this.waiting.push(note)
  }

  get empty(): boolean {
    return this.waiting.length === 0
  }

  push(event: StreamEvent, emit: (event: StreamEvent) => void): void {
    if (event.type === 'block-start' && event.kind === 'text') this.texts.add(event.block)
    else if (event.type === 'block-end' && this.texts.delete(event.block)) this.annotate(event.block, emit)
    emit(event)
  }

  private annotate(block: number, emit: (event: StreamEvent) => void): void {
    for (const { hash, name, content } of this.waiting.splice(0))
      emit({ type: 'block-note', block, note: 'annotation', data: { type: 'file', hash, name, content } })
  }
}

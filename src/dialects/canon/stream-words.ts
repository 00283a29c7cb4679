/**
 * Types of events, items and parts of a reply that nothing knows: the provider's format has changed. They are passed over, or go to callers
 * of the same wire as they are; here they are noted where that happens, each once.
 */
import type { End, StreamWord } from './events.ts'

/** Of one reply. */
const MOST = 8

export class StreamWords {
  private found: StreamWord[] | undefined

  /** @param known words of the kind; a type that is no text says nothing. */
  note(kind: StreamWord['kind'], word: unknown, known: ReadonlySet<string>): void {
    if (typeof word !== 'string' || word === '' || known.has(word)) return
    this.found ??= []
    if (this.found.length < MOST && !this.found.some((each) => each.kind === kind && each.word === word)) this.found.push({ kind, word })
  }

  addTo(end: End): void {
    if (this.found) end.unknownWords = this.found
  }
}

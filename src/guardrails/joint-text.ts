/** Parts of one message as one text, and the way back to the parts. */
import { placeholderOf, type Span } from './redaction.ts'

export class JointText {
  readonly text: string
  /** By part: where it ends in the text. */
  private readonly ends: number[] = []

  constructor(parts: readonly string[]) {
    this.text = parts.join('')
    let end = 0
    for (const part of parts) {
      end += part.length
      this.ends.push(end)
    }
  }

  /** True where a border of two parts lies within. */
  crosses(start: number, end: number): boolean {
    return this.ends[this.partAt(start)] < end
  }

  /** A match over borders: the placeholder stands in the first part, the rest is taken out of the others. */
  spread(span: Span, into: Span[][]): void {
    const { start, end } = span
    let placeholder = placeholderOf(span, this.text.slice(start, end))
    for (let part = this.partAt(start), from = start; from < end; part++) {
      const base = part === 0 ? 0 : this.ends[part - 1]
      const to = Math.min(end, this.ends[part])
      if (from === to) continue
      into[part].push({ start: from - base, end: to - base, placeholder })
      placeholder = ''
      from = to
    }
  }

  /** The part that the character is in. */
  private partAt(place: number): number {
    const { ends } = this
    let from = 0
    let to = ends.length - 1
    while (from < to) {
      const middle = (from + to) >> 1
      if (ends[middle] > place) to = middle
      else from = middle + 1
    }
    return from
  }
}

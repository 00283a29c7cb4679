/** Placeholders in place of what was found. */
import { entryAt } from '../core/entry-at.ts'

export interface Span {
  readonly start: number
  readonly end: number
  readonly placeholder: string
  /** Present where what is hidden is to come back: gives it a placeholder of its own. */
  readonly keep?: (value: string) => string
}

/** Spans that are written in one step. */
const AT_ONCE = 1_024

const inOrder = (a: Span, b: Span): number => a.start - b.start || b.end - a.end

/** Spans in order; of those that overlap the rest of the second goes with the first. */
export function merged(spans: readonly Span[]): Span[] {
  const follows = (span: Span, i: number): boolean => i === 0 || inOrder(entryAt(spans, i - 1), span) <= 0
  const sorted = spans.every(follows) ? spans : [...spans].sort(inOrder)
  const result: Span[] = []
  for (const span of sorted) {
    const before = result.at(-1)
    if (!before || span.start >= before.end) result.push(span)
    else if (span.end > before.end) result[result.length - 1] = { ...before, end: span.end }
  }
  return result
}

/** Text in place of a span. */
export function spanPlaceholder({ placeholder, keep }: Span, value: string): string {
  return keep ? keep(value) : placeholder
}

/** @param quote put around a placeholder, where a number of JSON becomes a text. */
export function redacted(text: string, spans: readonly Span[], quote = ''): string {
  let result = ''
  let at = 0
  for (const span of merged(spans)) {
    result += text.slice(at, span.start) + quote + spanPlaceholder(span, text.slice(span.start, span.end)) + quote
    at = span.end
  }
  return result + text.slice(at)
}

/** As `redacted`, in steps of less than a millisecond. */
export function* redactedInSteps(text: string, spans: readonly Span[]): Generator<void, string> {
  if (spans.length <= AT_ONCE) return redacted(text, spans)
  const all = merged(spans)
  yield
  const pieces: string[] = []
  let at = 0
  for (let i = 0; i < all.length; i += AT_ONCE) {
    const some = all.slice(i, i + AT_ONCE)
    const { end } = entryAt(some, some.length - 1)
    const own = some.map((span) => ({ ...span, start: span.start - at, end: span.end - at }))
    pieces.push(redacted(text.slice(at, end), own))
    at = end
    yield
  }
  return pieces.join('') + text.slice(at)
}

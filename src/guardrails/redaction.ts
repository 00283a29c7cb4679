/** Placeholders in place of what was found. */

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
  const sorted = spans.every((span, i) => i === 0 || inOrder(spans[i - 1], span) <= 0) ? spans : [...spans].sort(inOrder)
  const result: Span[] = []
  for (const span of sorted) {
    const before = result.at(-1)
    if (!before || span.start >= before.end) result.push(span)
    else if (span.end > before.end) result[result.length - 1] = { ...before, end: span.end }
  }
  return result
}

/** What stands in place of a span. */
export function placeholderOf({ placeholder, keep }: Span, value: string): string {
  return keep ? keep(value) : placeholder
}

/** @param quote put around a placeholder, where a number of JSON becomes a text. */
export function redacted(text: string, spans: readonly Span[], quote = ''): string {
  let result = ''
  let at = 0
  for (const span of merged(spans)) {
    result += text.slice(at, span.start) + quote + placeholderOf(span, text.slice(span.start, span.end)) + quote
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
    const end = some[some.length - 1].end
    const own = some.map((span) => ({ ...span, start: span.start - at, end: span.end - at }))
    pieces.push(redacted(text.slice(at, end), own))
    at = end
    yield
  }
  return pieces.join('') + text.slice(at)
}

/** Texts that belong together, one after the other. */
export class JoinedTexts {
  readonly whole: string
  private readonly texts: readonly string[]
  /** Where each text begins in the whole. */
  private readonly starts: Uint32Array

  constructor(texts: readonly string[]) {
    this.whole = texts.join('')
    this.texts = texts
    this.starts = new Uint32Array(texts.length)
    for (let i = 1; i < texts.length; i++) this.starts[i] = this.starts[i - 1] + texts[i - 1].length
  }

  /** True where a text begins between these two places, at neither of them. */
  crosses(start: number, end: number): boolean {
    const next = this.after(start)
    return next < this.starts.length && this.starts[next] < end
  }

  /** A match over a border: the placeholder stands in the first text, the rest is taken out of the others. */
  spread(span: Span, into: Span[][]): void {
    const { start, end } = span
    const placeholder = placeholderOf(span, this.whole.slice(start, end))
    let told = false
    for (let i = this.after(start) - 1; i < this.texts.length && this.starts[i] < end; i++) {
      const from = Math.max(start - this.starts[i], 0)
      const to = Math.min(end - this.starts[i], this.texts[i].length)
      if (from >= to) continue
      into[i].push({ start: from, end: to, placeholder: told ? '' : placeholder })
      told = true
    }
  }

  /** The first text that begins behind this place, by bisection: a message may have thousands of parts and of matches. */
  private after(place: number): number {
    let low = 0
    let high = this.starts.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.starts[middle] > place) high = middle
      else low = middle + 1
    }
    return low
  }
}

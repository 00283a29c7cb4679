/** Placeholders in place of what was found. */

export interface Span {
  readonly start: number
  readonly end: number
  readonly placeholder: string
}

/** @param quote put around a placeholder, where a number of JSON becomes a text. */
export function redacted(text: string, spans: readonly Span[], quote = ''): string {
  const sorted = [...spans].sort((a, b) => a.start - b.start || b.end - a.end)
  let result = ''
  let at = 0
  for (const { start, end, placeholder } of sorted) {
    if (end <= at) continue
    // Of two that overlap the rest of the second goes with the first.
    if (start >= at) result += text.slice(at, start) + quote + placeholder + quote
    at = end
  }
  return result + text.slice(at)
}

/** A match over the border of texts that belong together: the placeholder stands in the first, the rest is taken out of the others. */
export function spread({ start, end, placeholder }: Span, texts: readonly string[], into: Span[][]): void {
  let base = 0
  let told = false
  for (const [i, text] of texts.entries()) {
    const from = Math.max(start - base, 0)
    const to = Math.min(end - base, text.length)
    if (from < to) {
      into[i].push({ start: from, end: to, placeholder: told ? '' : placeholder })
      told = true
    }
    base += text.length
  }
}

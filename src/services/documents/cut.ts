/** Texts within a number of characters. */

/** Cut, never between the halves of a character. @param most UTF-16 units. */
export function cut(text: string, most: number): { text: string; truncated?: boolean } {
  if (text.length <= most) return { text }
  return { text: text.slice(0, most).replace(/[\uD800-\uDBFF]$/, ''), truncated: true }
}

const TITLE = 300

/** A title in one line; undefined where there is none. */
export function titleOf(title: unknown): string | undefined {
  if (typeof title !== 'string') return undefined
  const line = title.replace(/[\s\p{Cc}]+/gu, ' ').trim()
  return line === '' ? undefined : cut(line, TITLE).text
}

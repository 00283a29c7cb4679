/** Bytes of a text as text, by the byte order mark, then the declared type, then the page itself; and texts within a number of characters. */

const MARKS: readonly [bytes: readonly number[], label: string][] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xfe, 0xff], 'utf-16be'],
  [[0xff, 0xfe], 'utf-16le'],
]

/** Places in which a page may name its encoding (HTML, section 13.2.3.2). */
const HEAD = 1024

/**
 * @param type the declared content type. @param inside where the text itself may name its encoding.
 * Without a label: UTF-8 where the bytes are that, else windows-1252, as browsers do it.
 */
export function decoded(bytes: Uint8Array, type: string | undefined, inside: boolean): string {
  const mark = MARKS.find(([start]) => start.every((byte, i) => bytes[i] === byte))
  if (mark) return text(bytes, mark[1]) ?? ''
  const outer = /charset\s*=\s*["']?([^\s"';]+)/i.exec(type ?? '')?.[1]
  const named = outer === undefined ? undefined : text(bytes, outer)
  if (named !== undefined) return named
  const inner = inside ? labelInside(bytes) : undefined
  const declared = inner === undefined ? undefined : text(bytes, inner)
  if (declared !== undefined) return declared
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return text(bytes, 'windows-1252') ?? ''
  }
}

/** Undefined where the label is unknown or the bytes do not fit it. */
function text(bytes: Uint8Array, label: string): string | undefined {
  try {
    return new TextDecoder(label).decode(bytes)
  } catch {
    return undefined
  }
}

function labelInside(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, HEAD)).toString('latin1')
  const label =
    /<meta[^>]{0,200}charset\s*=\s*["']?([^\s"'/>;]+)/i.exec(head)?.[1] ?? /^<\?xml[^>]{0,100}encoding\s*=\s*["']([^"']+)/i.exec(head)?.[1]
  // A page that is read as ASCII so far is no UTF-16, whatever it says.
  return label !== undefined && /^utf-?16/i.test(label) ? 'utf-8' : label
}

/** Cut, never between the halves of a character. @param most UTF-16 units. */
export function cut(text: string, most: number): { text: string; truncated?: boolean } {
  if (text.length <= most) return { text }
  return { text: text.slice(0, most).replace(/[\uD800-\uDBFF]$/, ''), truncated: true }
}

const TITLE = 300

/** A title in one line; undefined where there is none. */
export function cleanTitle(title: unknown): string | undefined {
  if (typeof title !== 'string') return undefined
  const line = title.replace(/[\s\p{Cc}]+/gu, ' ').trim()
  return line === '' ? undefined : cut(line, TITLE).text
}

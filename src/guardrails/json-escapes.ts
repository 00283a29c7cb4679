/** JSON texts with their escapes read (RFC 8259, 7). */

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', '"': '"', '\\': '\\', '/': '/' }
const BACKSLASH = 0x5c
const CODE = /^[0-9a-fA-F]{4}$/
/** Units that are read in one step, which takes about a millisecond where all of them are escapes. */
const SLICE = 16_384

/** Reads the escapes of a JSON text, whether or not it is whole: a repeated name loses no value. In steps of about a millisecond. */
export function* unescaped(source: string): Generator<void, string> {
  const pieces: string[] = []
  for (let at = 0; at < source.length; ) {
    const end = Math.min(source.length, at + SLICE)
    // A text made by adding would be copied together only at the end, and all at once.
    const parts: string[] = []
    /** What has not been taken over. */
    let from = at
    while (at < end) {
      if (source.charCodeAt(at) !== BACKSLASH) {
        at++
        continue
      }
      const code = source[at + 1] === 'u' ? source.slice(at + 2, at + 6) : ''
      const char = CODE.test(code) ? String.fromCharCode(Number.parseInt(code, 16)) : ESCAPES[source[at + 1]]
      if (char === undefined) at++
      else {
        if (from < at) parts.push(source.slice(from, at))
        parts.push(char)
        at += code === '' ? 2 : 6
        from = at
      }
    }
    pieces.push(parts.length === 0 ? source.slice(from, at) : parts.join('') + source.slice(from, at))
    if (at < source.length) yield
  }
  return pieces.join('')
}

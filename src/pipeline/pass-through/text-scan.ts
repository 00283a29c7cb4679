/** The short texts of JSON that comes in pieces: without parsing it, and of members that stand twice both. */

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Bytes of a letter that is written as an escape: `\u0066`. */
const ESCAPE = 6

export class TextScan {
  private readonly onText: (text: string) => void
  private readonly longest: number
  private readonly isOfFile: boolean
  /** Pieces of the text that has begun; `long` once it is longer than wanted. */
  private pieces: Buffer[] | 'long' | undefined
  private size = 0
  /** Backslashes at the end of the last piece. */
  private slashes = 0

  /**
   * @param longest letters of a text that is looked at. @param isOfFile true for bytes of any kind, which may have JSON in them: whatever
   *   stands between two quotes is looked at, since nothing says which of them begins a text.
   */
  constructor(longest: number, onText: (text: string) => void, isOfFile = false) {
    this.longest = longest
    this.onText = onText
    this.isOfFile = isOfFile
  }

  push(chunk: Buffer): void {
    let from = 0
    for (let at = chunk.indexOf(QUOTE); at !== -1; at = chunk.indexOf(QUOTE, at + 1)) {
      if (this.pieces === undefined) {
        this.begin()
        from = at + 1
      } else if (!this.isEscaped(chunk, from, at)) {
        this.add(chunk.subarray(from, at))
        this.end()
        if (this.isOfFile) this.begin()
        from = at + 1
      }
    }
    if (this.pieces === undefined) return
    const rest = chunk.subarray(from)
    this.slashes = rest.length > 0 ? trailing(rest, this.slashes) : this.slashes
    this.add(rest)
  }

  private begin(): void {
    this.pieces = []
    this.size = 0
    this.slashes = 0
  }

  private isEscaped(chunk: Buffer, from: number, at: number): boolean {
    return trailing(chunk.subarray(from, at), this.slashes) % 2 === 1
  }

  private add(piece: Buffer): void {
    this.size += piece.length
    if (this.pieces === 'long' || piece.length === 0) return
    if (this.size > this.longest * ESCAPE) this.pieces = 'long'
    else this.pieces?.push(piece)
  }

  private end(): void {
    const { pieces } = this
    this.pieces = undefined
    this.slashes = 0
    if (pieces === 'long' || pieces === undefined || pieces.length === 0) return
    const [first] = pieces
    const bytes = pieces.length === 1 && first ? first : Buffer.concat(pieces)
    if (this.isOfFile && hasControls(bytes)) return
    // Half or three quarters of the bytes of ASCII in UTF-16 and UTF-32.
    const text = (this.isOfFile && bytes.includes(0) ? bytes.filter((byte) => byte !== 0) : bytes).toString('utf8')
    if (!text.includes('\\')) this.found(text)
    else
      try {
        this.found(JSON.parse(`"${text}"`) as string)
      } catch {
        // No text of JSON.
      }
  }

  private found(text: string): void {
    if (text.length <= this.longest) this.onText(text)
  }
}

/** Controls cannot stand in a text of JSON (RFC 8259 section 7): most of what a picture has between two quotes is dropped by its first bytes. */
function hasControls(bytes: Buffer): boolean {
  for (const byte of bytes) if (byte < 0x20 && byte !== 0) return true
  return false
}

/** Backslashes at the end of a piece; where it has nothing else, with those before it. */
function trailing(piece: Buffer, before: number): number {
  let count = 0
  while (count < piece.length && piece[piece.length - 1 - count] === BACKSLASH) count++
  return count === piece.length ? count + before : count
}

/** Bytes by which `isWideJson` knows. */
export const WIDE_BYTES = 8
/** UTF-16 and UTF-32, big-endian and little-endian, behind the mark of their order or none. */
const WIDE = /^(?:(?:\xff\xfe(?:\0\0)?|(?:\0\0)?\xfe\xff)\0*[{["\s]|[{["\s]\0|\0[{["\s]|\0\0\0[{["\s]\0\0\0)/

/**
 * True for what some servers read as JSON by its first bytes (`json.loads` of Python), though JSON is UTF-8 (RFC 8259 section 8.1): in it
 * no text is found here.
 */
export function isWideJson(begin: Buffer): boolean {
  return WIDE.test(begin.toString('latin1'))
}

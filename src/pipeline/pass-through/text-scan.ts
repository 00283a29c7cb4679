/** The short texts of JSON that comes in pieces: without parsing it, and of members that stand twice both. */

const QUOTE = 0x22
const SINGLE_QUOTE = 0x27
const BACKSLASH = 0x5c
/** Bytes of a letter that is written as an escape: `\u0066`. */
const ESCAPE = 6
/** Some servers take any other letter behind a backslash for itself (`JsonStreamParser` of protobuf 21). */
const ESCAPES = /\\(?:u([\da-fA-F]{4})|(.))/gs
/** Letters of escapes that stand for controls (RFC 8259 section 7). */
const CONTROLS = 'bfnrt'

const unescaped = (text: string): string =>
  text.replaceAll(ESCAPES, (_, hex: string | undefined, letter: string) => {
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16))
    return CONTROLS.includes(letter) ? '\n' : letter
  })

/** Bytes between the texts of JSON: marks, blanks, numbers and words, with those that Python writes; the mark of UTF-8. */
const BETWEEN_TEXTS = new Uint8Array(256)
for (const byte of Buffer.from('{}[]:, \t\r\n+-.0123456789eEtrufalsnNIity\xef\xbb\xbf', 'latin1')) BETWEEN_TEXTS[byte] = 1

export class TextScan {
  private readonly onText: (text: string) => void
  private readonly longest: number
  private readonly isOfFile: boolean
  private readonly quote: number
  /** Pieces of the text that has begun; `long` once it is longer than wanted. */
  private pieces: Buffer[] | 'long' | undefined
  private size = 0
  /** Backslashes at the end of the last piece. */
  private slashes = 0
  /** True once something stands between two texts that no JSON has there: a server that reads it may read other texts. */
  hasOther = false

  private constructor(longest: number, onText: (text: string) => void, { isOfFile, quote }: { isOfFile: boolean; quote: number }) {
    this.longest = longest
    this.onText = onText
    this.isOfFile = isOfFile
    this.quote = quote
  }

  /** @param longest letters of a text that is looked at. */
  static inJson(longest: number, onText: (text: string) => void): TextScan[] {
    return [new TextScan(longest, onText, { isOfFile: false, quote: QUOTE })]
  }

  /**
   * Scans of bytes of any kind, which may have JSON in them: whatever stands between two quotes is looked at, since nothing says which of
   * them begins a text. Some servers read single ones as well (`JsonStreamParser` of protobuf 21).
   */
  static inFile(longest: number, onText: (text: string) => void): TextScan[] {
    return [QUOTE, SINGLE_QUOTE].map((quote) => new TextScan(longest, onText, { isOfFile: true, quote }))
  }

  push(chunk: Buffer): void {
    const { quote } = this
    let from = 0
    for (let at = chunk.indexOf(quote); at !== -1; at = chunk.indexOf(quote, at + 1)) {
      if (this.pieces === undefined) {
        this.lookBetween(chunk, from, at)
        this.begin()
        from = at + 1
      } else if (!this.isEscaped(chunk, from, at)) {
        this.add(chunk.subarray(from, at))
        this.end()
        if (this.isOfFile) this.begin()
        from = at + 1
      }
    }
    if (this.pieces === undefined) {
      this.lookBetween(chunk, from, chunk.length)
      return
    }
    const rest = chunk.subarray(from)
    this.slashes = rest.length > 0 ? trailing(rest, this.slashes) : this.slashes
    this.add(rest)
  }

  private lookBetween(chunk: Buffer, from: number, to: number): void {
    if (this.isOfFile) return
    for (let at = from; at < to && !this.hasOther; at++) this.hasOther = BETWEEN_TEXTS[chunk[at] ?? 0] === 0
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
    const plain = text.includes('\\') ? unescaped(text) : text
    if (plain.length <= this.longest) this.onText(plain)
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

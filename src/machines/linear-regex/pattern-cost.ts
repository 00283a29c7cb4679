/** Cost of compiling a pattern, read from its text: RE2 itself would take seconds to say so. */

/** Pieces once repeats are written out, at about 15 µs each (`a{1000}` a thousand times takes 3 s, and most of them are no readers). */
const MAX_PIECES = 10_000
/** Characters of ranges that are looked up one by one, at about 0.07 µs each. */
const MAX_RANGES = 500_000
/** A property such as `\p{L}` is hundreds of ranges: each time it stands in the pattern it costs about as much as so many characters. */
const RANGES_OF_PROPERTY = 1_500

/** Ranges that cost as much as one piece. */
const RANGES_OF_PIECE = 200

const REPEAT = /\{(\d{1,6})(,(\d{0,6}))?\}/y
/** A backslash and what belongs to it. */
const ESCAPE = /\\(?:x\{([\da-fA-F]{1,8})\}|x([\da-fA-F]{2})|[pP](?:\{[^}]*\}|[\s\S])|[\s\S]|$)/y
/** `(?i)`, `(?s-i:` and the like: from there on, case may not count. */
const FLAGS = /\(\?[a-zA-Z-]*i/
/** Characters that have another case lie between these (re2js 2.10.0 src/Unicode.js, MIN_FOLD and MAX_FOLD); in a range each is looked up by itself. */
const FIRST_FOLD = 0x41
const LAST_FOLD = 0x1e943

/**
 * @param source of RE2 syntax; what RE2 cannot read may get any answer.
 * @returns true where compiling takes more than about a tenth of a second.
 */
export function isTooLarge(source: string): boolean {
  return patternSize(source) === undefined
}

/** Pieces that the pattern is once repeats are written out, ranges among them by what they cost; undefined for one that is too large. */
export function patternSize(source: string): number | undefined {
  return new CostReader(source).size()
}

class CostReader {
  private readonly source: string
  private readonly folded: boolean
  private at = 0
  /** Of the group that is open, and of its last part, which a repeat repeats. */
  private pieces = 0
  private last = 0
  private ranges = 0

  constructor(source: string) {
    this.source = source
    this.folded = FLAGS.test(source)
  }

  size(): number | undefined {
    const { source } = this
    const outer: number[] = []
    let total = 0
    while (this.at < source.length) {
      const char = source.charAt(this.at)
      if (char === '(') {
        outer.push(this.pieces)
        this.pieces = 1
        this.at++
      } else if (char === ')') {
        this.last = this.pieces
        this.pieces += outer.pop() ?? 0
        this.at++
      } else this.piece(char)
      // What is repeated counts at once: an open group only grows.
      total = Math.max(total, this.pieces)
      if (total > MAX_PIECES || this.ranges > MAX_RANGES || outer.length > MAX_PIECES) return undefined
    }
    const pieces = outer.reduce((sum, each) => sum + each, this.pieces)
    return pieces > MAX_PIECES ? undefined : pieces + Math.ceil(this.ranges / RANGES_OF_PIECE)
  }

  private piece(char: string): void {
    const times = char === '{' ? this.repeat() : undefined
    if (times !== undefined) {
      this.pieces += this.last * (times - 1)
      this.last *= times
      return
    }
    if (char === '[') this.characterClass()
    else if (char === '\\') this.escape()
    else this.at++
    this.pieces++
    // A sign such as + repeats its part, whose copies a counted repeat would make again.
    this.last = char === '*' || char === '+' || char === '?' ? this.last + 1 : 1
  }

  private repeat(): number | undefined {
    REPEAT.lastIndex = this.at
    const found = REPEAT.exec(this.source)
    if (!found) return undefined
    this.at += found[0].length
    const [, least, comma, most] = found
    return Math.max(1, most ? Number(most) : Number(least) + (comma === undefined ? 0 : 1))
  }

  /** @returns the character that is meant; undefined where it is a set. */
  private escape(): number | undefined {
    ESCAPE.lastIndex = this.at
    const [text, braced, two] = ESCAPE.exec(this.source) ?? ['\\']
    this.at += text.length
    const code = braced ?? two
    if (code !== undefined) return Number.parseInt(code, 16)
    if (text[1] === 'p' || text[1] === 'P') this.ranges += RANGES_OF_PROPERTY
    return /[A-Za-z]/.test(text[1] ?? '') ? undefined : text.codePointAt(1)
  }

  /** From `[` to its `]`, which stands for itself in the first place. */
  private characterClass(): void {
    const { source } = this
    this.at++
    if (source[this.at] === '^') this.at++
    for (let first = true; this.at < source.length && (first || source[this.at] !== ']'); first = false) {
      if (source.startsWith('[:', this.at) && source.includes(':]', this.at)) {
        this.at = source.indexOf(':]', this.at) + 2
        continue
      }
      const from = this.character()
      if (source[this.at] !== '-' || source[this.at + 1] === ']') continue
      this.at++
      const to = this.character()
      if (this.folded && from !== undefined && to !== undefined) this.range(from, to)
    }
    this.at++
  }

  private character(): number | undefined {
    if (this.source[this.at] === '\\') return this.escape()
    const rune = this.source.codePointAt(this.at)
    this.at += rune !== undefined && rune > 0xffff ? 2 : 1
    return rune
  }

  private range(from: number, to: number): void {
    if (from <= FIRST_FOLD && to >= LAST_FOLD) return
    this.ranges += Math.max(0, Math.min(to, LAST_FOLD) - Math.max(from, FIRST_FOLD))
  }
}

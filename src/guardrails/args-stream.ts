/**
 * Arguments of a tool as they come. JSON is read without its escapes and stays JSON: what is hidden goes from the texts and
 * numbers, the signs around them stay. Anything else is read as plain text.
 */
import type { AnswerPolicy } from './answer-policy.ts'
import type { Findings } from './findings.ts'
import { redacted, type Span, spanPlaceholder } from './redaction.ts'
import { TextStream } from './text-stream.ts'

/** Part to which a unit of the text belongs. A scalar is a number or a word of JSON. */
type Place = 'sign' | 'text' | 'scalar' | 'scalar end'

interface Unit {
  readonly place: Place
  /** As it was written. */
  readonly source: string
}

/** Characters of JSON that are read at once. */
const PIECE = 2_048
const SPACE = /^\s*$/
const SIGNS = new Set('{}[]:, \t\r\n')
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' }

export class ArgsStream {
  private readonly stream: TextStream
  /** undefined until the first sign shows whether it is JSON. */
  private json: boolean | undefined
  /** Spaces before that sign. */
  private lead = ''
  private inText = false
  /** An escape that is not whole. */
  private escape = ''
  /** A number or word that is not whole. */
  private scalar = ''
  /** Text that is read, by unit. */
  private units: Unit[] = []
  private bare = ''
  /** A scalar of which the beginning is decided: as it was written, and as it goes out. */
  private token = { source: '', text: '' }
  private out = ''

  constructor(policy: AnswerPolicy, findings: Findings) {
    this.stream = new TextStream(policy, findings, (text, spans) => {
      if (this.json) this.write(text, spans)
      else this.out += redacted(text, spans)
    })
  }

  /** True for JSON: what is put into its texts has to be escaped. */
  get isJson(): boolean {
    return this.json === true
  }

  get held(): number {
    return this.lead.length + this.stream.held + this.escape.length + this.scalar.length
  }

  /** @returns what goes on. */
  push(piece: string): string {
    const text = this.lead + piece
    this.lead = ''
    if (this.json === undefined) {
      if (SPACE.test(text)) {
        this.lead = text
        return ''
      }
      this.json = /^\s*[{[]/.test(text)
    }
    if (!this.json) this.stream.push(text)
    // Bit by bit: what waits for a decision is copied whenever something is decided.
    else for (let at = 0; at < text.length; at += PIECE) this.pushJson(text.slice(at, at + PIECE))
    return this.taken()
  }

  private pushJson(text: string): void {
    for (let i = 0; i < text.length; i++) this.read(text.charAt(i))
    this.feed()
  }

  end(): string {
    if (this.lead !== '') this.stream.push(this.lead)
    this.lead = ''
    if (this.escape !== '') this.add(this.escape, this.escape)
    this.escape = ''
    this.endScalar()
    this.feed()
    this.stream.end()
    return this.taken()
  }

  private taken(): string {
    const { out } = this
    this.out = ''
    return out
  }

  private feed(): void {
    const { bare } = this
    this.bare = ''
    if (bare !== '') this.stream.push(bare)
  }

  private read(char: string): void {
    if (!this.inText) {
      if (char !== '"' && !SIGNS.has(char)) {
        this.scalar += char
        return
      }
      this.endScalar()
      this.inText = char === '"'
      // A comma between numbers is not one within a number.
      this.add(char === ',' ? ';' : char, char, 'sign')
    } else if (this.escape !== '') this.inEscape(char)
    else if (char === '\\') this.escape = char
    else {
      this.inText = char !== '"'
      this.add(char, char, this.inText ? 'text' : 'sign')
    }
  }

  /** RFC 8259, 7. */
  private inEscape(char: string): void {
    this.escape += char
    const escaped = this.escape
    if (escaped[1] !== 'u') this.add(ESCAPES[char] ?? char, escaped)
    else if (escaped.length === 6) {
      const code = Number.parseInt(escaped.slice(2), 16)
      if (/^[0-9a-f]{4}$/i.test(escaped.slice(2))) this.add(String.fromCharCode(code), escaped)
      else this.add(escaped, escaped)
    } else return
    this.escape = ''
  }

  private endScalar(): void {
    const { scalar } = this
    this.scalar = ''
    for (let i = 0; i < scalar.length; i++) this.add(scalar.charAt(i), scalar.charAt(i), i === scalar.length - 1 ? 'scalar end' : 'scalar')
  }

  /** @param read what is read for it: where these are more units, the first stands for what was written. */
  private add(read: string, source: string, place: Place = 'text'): void {
    this.bare += read
    for (let i = 0; i < read.length; i++) this.units.push({ place, source: i === 0 ? source : '' })
  }

  private write(text: string, spans: readonly Span[]): void {
    const own = this.units.slice(0, text.length)
    this.units = this.units.slice(text.length)
    let next = 0
    let replaced = -1
    for (const [i, { place, source }] of own.entries()) {
      let ahead = spans[next]
      while (ahead && ahead.end <= i) ahead = spans[++next]
      const span = ahead && ahead.start <= i ? ahead : undefined
      if (!span || place === 'sign') {
        this.put(place, source, source)
        continue
      }
      const placeholder = replaced === next ? '' : spanPlaceholder(span, text.slice(span.start, span.end))
      replaced = next
      this.put(place, source, place === 'text' ? JSON.stringify(placeholder).slice(1, -1) : placeholder)
    }
  }

  private put(place: Place, source: string, text: string): void {
    if (place === 'sign' || place === 'text') {
      this.out += text
      return
    }
    const { token } = this
    token.source += source
    token.text += text
    if (place !== 'scalar end') return
    // A number that is hidden becomes a text.
    this.out += token.source === token.text ? token.source : JSON.stringify(token.text)
    this.token = { source: '', text: '' }
  }
}

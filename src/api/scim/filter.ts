/**
 * Filters of queries and of paths (RFC 7644, 3.4.2.2), read into a tree. Written by hand: of the libraries one reads `\\` in a value as two
 * signs and takes exponential time for line ends, and one reads `not (a or b)` as `not a or not b` (docs/decisions/0100-scim.md).
 */
import { ScimError } from './scim-error.ts'

const OPERATORS = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const
export type Operator = (typeof OPERATORS)[number]
export type FilterValue = string | number | boolean | null

export type Filter =
  | { readonly op: 'and' | 'or'; readonly parts: readonly Filter[] }
  | { readonly op: 'not'; readonly part: Filter }
  | { readonly op: 'pr'; readonly path: string }
  | { readonly op: Operator; readonly path: string; readonly value: FilterValue }
  /** Elements of a multi-valued attribute that the inner filter fits. */
  | { readonly op: 'some'; readonly path: string; readonly part: Filter }

/** Characters of a filter. */
const MAX_FILTER_LENGTH = 4_096
/** Parentheses and brackets within each other. */
const MAX_DEPTH = 16
/** Comparisons of one filter: each is made for every resource. */
const MAX_COMPARISONS = 64

const bad = (why: string): ScimError => new ScimError(400, `filter: ${why}`, 'invalidFilter')

/** A word, a text in quotes, or a sign; each alternative begins with another character, so that it takes linear time. */
const TOKEN = /\s*(?:([()[\]])|("(?:[^"\\]|\\.)*")|([^\s()[\]"]+))/suy

interface Token {
  readonly kind: 'sign' | 'text' | 'word'
  readonly text: string
}

/** @throws ScimError `invalidFilter`. */
export function parseFilter(source: string): Filter {
  if (source.length > MAX_FILTER_LENGTH) throw bad(`expected at most ${MAX_FILTER_LENGTH} characters`)
  return new FilterReader(tokens(source)).whole()
}

function tokens(source: string): Token[] {
  const found: Token[] = []
  const text = source.trimEnd()
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex
    const match = TOKEN.exec(text)
    if (!match) throw bad(`a text without its end at character ${at + 1}`)
    const [, sign, quoted, word] = match
    if (sign !== undefined) found.push({ kind: 'sign', text: sign })
    else if (quoted !== undefined) found.push({ kind: 'text', text: quoted })
    else found.push({ kind: 'word', text: word ?? '' })
  }
  return found
}

class FilterReader {
  private readonly tokens: readonly Token[]
  private at = 0
  private depth = 0
  private comparisons = 0

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens
  }

  whole(): Filter {
    const filter = this.alternatives()
    if (this.tokens[this.at]) throw bad(`unexpected ${this.shown()}`)
    return filter
  }

  private alternatives(): Filter {
    return this.series('or', () => this.series('and', () => this.one()))
  }

  private series(op: 'and' | 'or', read: () => Filter): Filter {
    const parts = [read()]
    while (this.takes('word', op)) parts.push(read())
    const [only] = parts
    return only && parts.length === 1 ? only : { op, parts }
  }

  private one(): Filter {
    if (this.takes('sign', '(')) return this.within(')')
    if (this.takes('word', 'not')) {
      if (!this.takes('sign', '(')) throw bad('expected ( behind not')
      return { op: 'not', part: this.within(')') }
    }
    const token = this.tokens[this.at]
    if (token?.kind !== 'word') throw bad(`expected an attribute, not ${this.shown()}`)
    this.at++
    const path = token.text
    if (this.takes('sign', '[')) return this.element(path)
    return this.comparison(path)
  }

  /** `emails[type eq "work"]`, and `emails[type eq "work"].value eq "x"`, which compares within the same element. */
  private element(path: string): Filter {
    const part = this.within(']')
    const behind = this.tokens[this.at]
    if (behind?.kind !== 'word' || !behind.text.startsWith('.')) return { op: 'some', path, part }
    this.at++
    return { op: 'some', path, part: { op: 'and', parts: [part, this.comparison(behind.text.slice(1))] } }
  }

  private comparison(path: string): Filter {
    if (++this.comparisons > MAX_COMPARISONS) throw bad(`expected at most ${MAX_COMPARISONS} comparisons`)
    if (this.takes('word', 'pr')) return { op: 'pr', path }
    const token = this.tokens[this.at]
    const op = OPERATORS.find((each) => token?.kind === 'word' && token.text.toLowerCase() === each)
    if (!op) throw bad(`expected one of ${OPERATORS.join(', ')}, pr behind ${path.slice(0, 100)}, not ${this.shown()}`)
    this.at++
    return { op, path, value: this.value() }
  }

  /** A literal of JSON (RFC 7644, 3.4.2.2); `True` and `False` as well, since Microsoft Entra ID writes them so. */
  private value(): FilterValue {
    const token = this.tokens[this.at]
    if (!token || token.kind === 'sign') throw bad(`expected a value, not ${this.shown()}`)
    this.at++
    const text = token.kind === 'word' && /^(?:true|false)$/i.test(token.text) ? token.text.toLowerCase() : token.text
    try {
      return JSON.parse(text) as FilterValue
    } catch {
      throw bad('expected a value as JSON: a text in double quotes, a number, true, false or null')
    }
  }

  private within(end: ')' | ']'): Filter {
    if (++this.depth > MAX_DEPTH) throw bad(`expected at most ${MAX_DEPTH} parentheses within each other`)
    const filter = this.alternatives()
    if (!this.takes('sign', end)) throw bad(`expected ${end}, not ${this.shown()}`)
    this.depth--
    return filter
  }

  private takes(kind: Token['kind'], text: string): boolean {
    const token = this.tokens[this.at]
    if (token?.kind !== kind || token.text.toLowerCase() !== text) return false
    this.at++
    return true
  }

  private shown(): string {
    return this.tokens[this.at]?.text.slice(0, 100) ?? 'its end'
  }
}

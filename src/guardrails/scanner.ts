/** Custom patterns, compiled once per configuration and matched in linear time. */
import { RE2JS } from 're2js'
import { badField } from '../core/faults.ts'
import type { Finding } from './finding.ts'
import { type Prefilter, prefilterOf } from './prefilter.ts'

export interface ContentFilter {
  pattern: string
  action: 'block'
  label?: string
}

export interface Scanner {
  /** Reads texts until `MATCH_COUNT` distinct matches are found; undefined where nothing matches. */
  scan(texts: Iterable<string>): Finding | undefined
}

/** Contract section 7. */
const PATTERN_LENGTH = 100_000
/** A backslash and what follows; the character is captured unless it opens a well-formed code of a character. */
const ESCAPE = /\\(?:x[\da-f]{2}|x\{[\da-f]{1,6}\}|u[\da-f]{4}|u\{[\da-f]{1,6}\}|c[a-z]|([\s\S]))/gi
/** Letters that mean the same here and in JavaScript, and RE2's own start, end and bell. */
const PLAIN_ESCAPES = 'dDwWsSbBnrtfvpPAza'
const MATCH_COUNT = 20
const MATCH_LENGTH = 500

interface Compiled {
  expression: RE2JS
  prefilter: Prefilter | undefined
  label: string | undefined
}

function compile(pattern: string): RE2JS | string {
  if (pattern.length === 0) return 'expected a pattern, found an empty text'
  if (pattern.length > PATTERN_LENGTH) return `expected at most ${PATTERN_LENGTH} characters`
  const unknown = unknownEscape(pattern)
  if (unknown !== undefined) return `expected an RE2 pattern, \\${unknown} is no escape of it`
  let expression: RE2JS
  try {
    expression = RE2JS.compile(RE2JS.translateRegExp(pattern))
  } catch (problem) {
    const why = problem instanceof Error ? problem.message.replace(/^error parsing regexp: /, '') : 'unreadable'
    return `expected an RE2 pattern (no look-around, no back-references): ${shorten(why)}`
  }
  return expression.test('') ? 'expected a pattern that needs at least one character, this one matches every text' : expression
}

/** Translation reads an unknown letter as itself, so that `\\k<name>` or `\\h` would silently match something else. */
function unknownEscape(pattern: string): string | undefined {
  for (const [, char] of pattern.matchAll(ESCAPE))
    if (char !== undefined && /[A-Za-z]/.test(char) && !PLAIN_ESCAPES.includes(char)) return char
  return undefined
}

/** What is wrong with a pattern, or undefined if it can be compiled. For checks at load. */
export function patternProblem(pattern: string): string | undefined {
  const compiled = compile(pattern)
  return typeof compiled === 'string' ? compiled : undefined
}

/**
 * @param path where the filters stand, for the message: `guardrails[0].content_filters`.
 * @throws Fault 400 naming `path[i].pattern`, the pattern and what RE2 cannot take in it.
 */
export function compilePatterns(filters: readonly ContentFilter[], path = 'content_filters'): Scanner {
  const compiled = filters.map((filter, i): Compiled => {
    if (filter.action !== 'block') throw badField(`${path}[${i}].action`, "expected 'block'")
    const expression = compile(filter.pattern)
    if (typeof expression === 'string') throw badField(`${path}[${i}].pattern`, `'${shorten(filter.pattern)}': ${expression}`)
    return { expression, prefilter: prefilterOf(expression.pattern()), label: filter.label }
  })
  return { scan: (texts) => scan(compiled, texts) }
}

function scan(filters: readonly Compiled[], texts: Iterable<string>): Finding | undefined {
  let finding: Finding | undefined
  for (const text of texts) {
    for (const filter of filters) {
      if (filter.prefilter && !filter.prefilter(text)) continue
      // A boolean test runs on the fast automaton; positions are asked for only where there is something to tell.
      if (!filter.expression.test(text)) continue
      finding ??= filter.label === undefined ? { matched: [] } : { matched: [], label: filter.label }
      collect(filter.expression, text, finding.matched)
      if (finding.matched.length >= MATCH_COUNT) return finding
    }
  }
  return finding
}

/** Adds the distinct matches in one text; looks at no more than `MATCH_COUNT` of them. */
function collect(expression: RE2JS, text: string, matched: string[]): void {
  const matcher = expression.matcher(text)
  for (let looked = 0; looked < MATCH_COUNT && matched.length < MATCH_COUNT && matcher.find(); looked++) {
    const found = shorten(matcher.group() ?? '')
    if (!matched.includes(found)) matched.push(found)
  }
}

function shorten(text: string): string {
  return text.length > MATCH_LENGTH ? `${text.slice(0, MATCH_LENGTH)}…` : text
}

/** Custom patterns, compiled once per configuration and matched in linear time. */
import { badField } from '../core/faults.ts'
import { linearRegex } from '../core/linear-regex.ts'
import type { Detector, Match } from './detector.ts'
import { PatternAutomaton, PatternTooCostly } from './pattern-automaton.ts'
import { scanPattern } from './pattern-scan.ts'
import { prefilterOf } from './prefilter.ts'
import { NEXT } from './shape.ts'

/** Contract section 7. */
const PATTERN_LENGTH = 100_000
/** A backslash and what follows; the character is captured unless it opens a well-formed code of a character. */
const ESCAPE = /\\(?:x[\da-f]{2}|x\{[\da-f]{1,6}\}|u[\da-f]{4}|u\{[\da-f]{1,6}\}|c[a-z]|([\s\S]))/gi
/** Letters that mean the same here and in JavaScript, and RE2's own start, end and bell. */
const PLAIN_ESCAPES = 'dDwWsSbBnrtfvpPAza'
/** Signs that ask for an end; one that is meant as itself does no harm. */
const END = /\$|\\z/
const SHOWN = 500

interface Compiled {
  /** Of RE2's own syntax. */
  readonly source: string
  readonly automaton: PatternAutomaton
}

/** @returns what is wrong with the pattern where it cannot be compiled. */
function compile(pattern: string): Compiled | string {
  if (pattern.length === 0) return 'expected a pattern, found an empty text'
  if (pattern.length > PATTERN_LENGTH) return `expected at most ${PATTERN_LENGTH} characters`
  const unknown = unknownEscape(pattern)
  if (unknown !== undefined) return `expected an RE2 pattern, \\${unknown} is no escape of it`
  const regex = linearRegex()
  let source: string
  let matchesNothing: boolean
  try {
    source = regex.translateRegExp(pattern)
    matchesNothing = regex.compile(source).test('')
  } catch (problem) {
    const why = problem instanceof Error ? problem.message.replace(/^error parsing regexp: /, '') : 'unreadable'
    return `expected an RE2 pattern (no look-around, no back-references): ${shorten(why)}`
  }
  if (matchesNothing) return 'expected a pattern that needs at least one character, this one matches every text'
  try {
    return { source, automaton: new PatternAutomaton(source) }
  } catch (problem) {
    if (!(problem instanceof PatternTooCostly)) throw problem
    return 'takes too long for each character; expected fewer or shorter repeats and choices (lists of words belong into phrases)'
  }
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
 * @param path where the pattern stands, for the message: `guardrails[0].content_filters[1].pattern`.
 * @throws Fault 400 naming the path, the pattern and what RE2 cannot take in it.
 */
export function patternDetector(pattern: string, path: string): Detector {
  const compiled = compile(pattern)
  if (typeof compiled === 'string') throw badField(path, `'${shorten(pattern)}': ${compiled}`)
  const { source, automaton } = compiled
  const prefilter = prefilterOf(source)
  const sliced = (text: string, from: number): Generator<void, Match[]> => scanPattern(automaton, text, from)
  return {
    sliced,
    ...(END.test(source) ? { ends: true } : {}),
    verbatim: true,
    shapes: [`(?:${pattern})${NEXT}`],
    ...(prefilter ? { may: prefilter } : {}),
    find(text, from) {
      const slices = sliced(text, from)
      for (;;) {
        const { done, value } = slices.next()
        if (done) return value
      }
    },
  }
}

function shorten(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
}

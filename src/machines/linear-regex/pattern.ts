/** Patterns of guardrails: whether one can be taken, and its automaton, compiled once in a process. */
import { setImmediate as turn } from 'node:timers/promises'
import { linearRegex } from './linear-regex.ts'
import { PatternAutomaton, PatternTooCostly } from './pattern-automaton.ts'
import { isTooLarge } from './pattern-cost.ts'

/** Characters of a pattern (docs/contract.md#guardrails). */
const PATTERN_LENGTH = 100_000
/** A backslash and what follows; the character is captured unless it opens a well-formed code of a character. */
const ESCAPE = /\\(?:x[\da-f]{2}|x\{[\da-f]{1,6}\}|u[\da-f]{4}|u\{[\da-f]{1,6}\}|c[a-z]|([\s\S]))/gi
/** Letters that mean the same here and in JavaScript, and RE2's own start, end and bell. */
const PLAIN_ESCAPES = 'dDwWsSbBnrtfvpPAza'
const SHOWN = 500
/** Numbers that the automata at hand may hold: about 64 MB. */
const MAX_KEPT = 8_000_000

export interface CompiledPattern {
  /** Of RE2's own syntax. */
  readonly source: string
  readonly automaton: PatternAutomaton
}

/** By pattern, the one used last at the end: what a check has compiled is not compiled again where it is put in force. */
const kept = new Map<string, CompiledPattern>()
let keptSize = 0

/** Problem of a pattern, or undefined if it can be matched in linear time. It is compiled to find out, and kept. */
export function patternProblem(pattern: string): string | undefined {
  const compiled = compilePattern(pattern)
  return typeof compiled === 'string' ? compiled : undefined
}

/** True where compiling the pattern takes no time, since it has been compiled. */
export function isCompiled(pattern: string): boolean {
  return kept.has(pattern)
}

/** @returns what is wrong with the pattern where it cannot be compiled. */
export function compilePattern(pattern: string): CompiledPattern | string {
  const known = kept.get(pattern)
  if (known) {
    kept.delete(pattern)
    kept.set(pattern, known)
    return known
  }
  const compiled = compile(pattern)
  if (typeof compiled !== 'string') keep(pattern, compiled)
  return compiled
}

function keep(pattern: string, compiled: CompiledPattern): void {
  kept.set(pattern, compiled)
  keptSize += compiled.automaton.size
  for (const [oldest, { automaton }] of kept) {
    if (keptSize <= MAX_KEPT) return
    kept.delete(oldest)
    keptSize -= automaton.size
  }
}

const TOO_COSTLY = 'takes too long for each character; expected fewer or shorter repeats and choices (lists of words belong into phrases)'

function compile(pattern: string): CompiledPattern | string {
  if (pattern.length === 0) return 'expected a pattern, found an empty text'
  if (pattern.length > PATTERN_LENGTH) return `expected at most ${PATTERN_LENGTH} characters`
  const unknown = unknownEscape(pattern)
  if (unknown !== undefined) return `expected an RE2 pattern, \\${unknown} is no escape of it`
  try {
    const source = linearRegex().translateRegExp(pattern)
    if (isTooLarge(source)) return TOO_COSTLY
    const automaton = new PatternAutomaton(source)
    if (automaton.tables(-1, -1).empty) return 'expected a pattern that needs at least one character, this one matches every text'
    return { source, automaton }
  } catch (problem) {
    if (problem instanceof PatternTooCostly) return TOO_COSTLY
    const why = problem instanceof Error ? problem.message.replace(/^error parsing regexp: /, '') : 'unreadable'
    return `expected an RE2 pattern (no look-around, no back-references): ${shorten(why)}`
  }
}

/** Translation reads an unknown letter as itself, so that `\\k<name>` or `\\h` would silently match something else. */
function unknownEscape(pattern: string): string | undefined {
  for (const [, char] of pattern.matchAll(ESCAPE))
    if (char !== undefined && /[A-Za-z]/.test(char) && !PLAIN_ESCAPES.includes(char)) return char
  return undefined
}

let turns: Promise<unknown> = Promise.resolve()

/** A turn of the event loop for one pattern: those that wait, of whatever request, get one each. */
export function turnToCompile(): Promise<unknown> {
  turns = turns.then(() => turn())
  return turns
}

export function shorten(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
}

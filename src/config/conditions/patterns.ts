/** Patterns of conditions: RE2, matched in linear time by the automaton that guardrails use. */
import { compilePattern } from '../../machines/linear-regex/pattern.ts'
import { holdsMatch } from '../../machines/linear-regex/pattern-search.ts'

/** Operations of the automaton in the time of one step; and steps of a character whatever the pattern. */
const OPERATIONS_A_STEP = 40
const STEPS_OF_A_CHARACTER = 0.3

/** Steps that matching takes for each character, or the reason why the pattern cannot be taken. */
export function patternSteps(pattern: string): number | string {
  const found = compilePattern(pattern)
  return typeof found === 'string' ? `cannot be taken: ${found}` : STEPS_OF_A_CHARACTER + found.automaton.work / OPERATIONS_A_STEP
}

/** True where the pattern, which `patternSteps` has accepted, is found in the text. */
export function isFound(text: string, pattern: string): boolean {
  const found = compilePattern(pattern)
  if (typeof found === 'string') throw new TypeError('expected a pattern that was checked')
  return holdsMatch(found.automaton, text)
}

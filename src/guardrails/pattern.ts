/** Custom patterns, compiled once per configuration and matched in linear time. */
import { badField } from '../core/faults.ts'
import { compilePattern, isCompiled, shorten, turnToCompile } from '../machines/linear-regex/pattern.ts'
import { patternPrefilter } from '../machines/linear-regex/prefilter.ts'
import { NEXT } from '../machines/linear-regex/shape.ts'
import { compiled as compiledShape } from '../machines/linear-regex/shape-places.ts'
import type { Detector, Match } from './detector.ts'
import { scanPattern } from './pattern-scan.ts'

/** Signs that match the end of the text; a literal one among them does no harm. */
const END = /\$|\\z/
/** Numbers that the automata of one guardrail hold together; a pattern has about three for each character of its own. */
const MAX_TOGETHER = 1_000_000
const TOO_MUCH = 'takes too much together with the patterns before it; expected fewer or shorter repeats and choices in all of them'

const prefixPattern = (pattern: string): string => `(?:${pattern})${NEXT}`

/**
 * Compiles patterns ahead of their use, one per turn of the event loop: one of the dearest takes a tenth of a second.
 * @returns the place of the first one that cannot be compiled, and what is wrong with it.
 */
export async function preparePatterns(patterns: readonly string[]): Promise<{ index: number; problem: string } | undefined> {
  let size = 0
  for (const [index, pattern] of patterns.entries()) {
    if (!isCompiled(pattern)) await turnToCompile()
    const compiled = compilePattern(pattern)
    if (typeof compiled === 'string') return { index, problem: compiled }
    size += compiled.automaton.size
    if (size > MAX_TOGETHER) return { index, problem: TOO_MUCH }
    compiledShape(prefixPattern(pattern))
  }
  return undefined
}

/** False where a pattern would have to be compiled first. */
export function arePrepared(patterns: readonly string[]): boolean {
  return patterns.every(isCompiled)
}

/**
 * @param path where the pattern stands, for the message: `guardrails[0].content_filters[1].pattern`.
 * @throws Fault 400 naming the path, the pattern and what RE2 cannot take in it.
 */
export function patternDetector(pattern: string, path: string): Detector {
  const compiled = compilePattern(pattern)
  if (typeof compiled === 'string') throw badField(path, `'${shorten(pattern)}': ${compiled}`)
  const { source, automaton } = compiled
  const prefilter = patternPrefilter(source)
  const sliced = (text: string, from: number): Generator<void, Match[]> => scanPattern(automaton, text, from)
  return {
    sliced,
    work: automaton.work,
    ...(END.test(source) ? { ends: true } : {}),
    verbatim: true,
    shapes: [prefixPattern(pattern)],
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

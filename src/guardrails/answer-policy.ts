/** The rules for answers, built once for all exchanges that share them. */

import { PartialMatchAutomaton } from '../machines/linear-regex/partial-matches.ts'
import { MAX_WORK } from '../machines/linear-regex/pattern-automaton.ts'
import type { Group } from './findings.ts'
import type { Rule } from './rule.ts'
import { ruleGroups } from './scan.ts'

/** Readings of each character of a stream for matches, on average; the dearer the patterns are, the fewer times. */
const MIN_READS = 3
const MAX_READS = 16

export class AnswerPolicy {
  readonly groups: readonly Group[]
  readonly partialMatches: PartialMatchAutomaton
  /** Some text is replaced: fields that spell the text again, such as log probabilities, are then left out. */
  readonly rewrites: boolean
  /** Readings of a character, on average: custom patterns keep to 50 ms per 100 KB each, or to three readings. */
  readonly reads: number

  /** Rules that read the user's own words alone have nothing to read here. */
  constructor(rules: readonly Rule[]) {
    const own = rules.filter(({ userOnly }) => !userOnly)
    this.groups = ruleGroups(own)
    this.partialMatches = new PartialMatchAutomaton(this.groups.flatMap(({ detector }) => detector.shapes))
    const works = this.groups.flatMap(({ detector }) => detector.work ?? [])
    const work = works.reduce((sum, each) => sum + each, 0)
    this.reads = Math.max(MIN_READS, Math.min(MAX_READS, (works.length * MAX_WORK) / Math.max(1, work)))
    if (works.length === 0) this.reads = MAX_READS
    this.rewrites = own.some(({ action }) => action === 'redact')
  }
}

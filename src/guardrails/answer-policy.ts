/** The rules for answers, built once for all exchanges that share them. */

import { MOST_WORK } from '../machines/linear-regex/pattern-automaton.ts'
import { Viable } from '../machines/linear-regex/viable.ts'
import type { Group } from './findings.ts'
import type { Rule } from './rule.ts'
import { groupsOf } from './scan.ts'

/** Readings of each character of a stream for matches, on average; the dearer the patterns are, the fewer times. */
const FEWEST_READS = 3
const MOST_READS = 16

export class AnswerPolicy {
  readonly groups: readonly Group[]
  readonly viable: Viable
  /** Some text is replaced: what spells the text anew, such as log probabilities, cannot stay. */
  readonly rewrites: boolean
  /** Readings of a character, on average: custom patterns keep to 50 ms per 100 KB each, or to three readings. */
  readonly reads: number

  /** Rules that read the user's own words alone have nothing to read here. */
  constructor(rules: readonly Rule[]) {
    const own = rules.filter(({ userOnly }) => !userOnly)
    this.groups = groupsOf(own)
    this.viable = new Viable(this.groups.flatMap(({ detector }) => detector.shapes))
    const works = this.groups.flatMap(({ detector }) => detector.work ?? [])
    const work = works.reduce((sum, each) => sum + each, 0)
    this.reads = Math.max(FEWEST_READS, Math.min(MOST_READS, (works.length * MOST_WORK) / Math.max(1, work)))
    if (works.length === 0) this.reads = MOST_READS
    this.rewrites = own.some(({ action }) => action === 'redact')
  }
}

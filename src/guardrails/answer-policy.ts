/** What is looked for in answers, made once for all who share it. */
import type { Group } from './findings.ts'
import type { Rule } from './rule.ts'
import { groupsOf } from './scan.ts'
import { Viable } from './viable.ts'

export class AnswerPolicy {
  readonly groups: readonly Group[]
  readonly viable: Viable
  /** Some text is replaced: what spells the text anew, such as log probabilities, cannot stay. */
  readonly rewrites: boolean

  /** Rules that read the user's own words alone have nothing to read here. */
  constructor(rules: readonly Rule[]) {
    const own = rules.filter(({ userOnly }) => !userOnly)
    this.groups = groupsOf(own)
    this.viable = new Viable(this.groups.flatMap(({ detector }) => detector.shapes))
    this.rewrites = own.some(({ action }) => action === 'redact')
  }
}

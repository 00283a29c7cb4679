/** The matches of all rules so far, in all texts of one direction of an exchange. */
import type { Detector } from './detector.ts'
import type { Span } from './redaction.ts'
import type { Rule } from './rule.ts'
import type { Vault } from './vault.ts'

/** Matches of one rule. */
export interface Hit {
  readonly rule: Rule
  /** Distinct texts that matched, in order, each shortened to `MATCH_LENGTH` characters. */
  readonly matched: string[]
}

/** Rules that look for the same: the text is read once for all of them. */
export interface Group {
  readonly detector: Detector
  readonly rules: readonly Rule[]
  readonly userOnly: boolean
}

/** Placeholder for a match. */
export type Hiding = Pick<Span, 'placeholder' | 'keep'>

export const MATCH_COUNT = 20
const MATCH_LENGTH = 500

export class Findings {
  /** By rule, in the order in which they first matched. */
  readonly hits = new Map<Rule, Hit>()
  private readonly vault: Vault | undefined

  /** @param vault keeps the values that rules restore later. */
  constructor(vault?: Vault) {
    this.vault = vault
  }

  get blocked(): boolean {
    for (const { action } of this.hits.keys()) if (action === 'block') return true
    return false
  }

  /** True once a block has as many matches as its error shows. */
  get enough(): boolean {
    for (const { rule, matched } of this.hits.values()) if (rule.action === 'block' && matched.length >= MATCH_COUNT) return true
    return false
  }

  /** @returns the placeholder of the rule that redacts it, if one does. */
  note(group: Group, shown: string, user: boolean): Hiding | undefined {
    let hiding: Rule | undefined
    for (const rule of group.rules) {
      if (rule.userOnly && !user) continue
      let hit = this.hits.get(rule)
      if (!hit) {
        hit = { rule, matched: [] }
        this.hits.set(rule, hit)
      }
      const short = shown.length > MATCH_LENGTH ? `${shown.slice(0, MATCH_LENGTH)}…` : shown
      if (hit.matched.length < MATCH_COUNT && !hit.matched.includes(short)) hit.matched.push(short)
      // A rule that does not restore the value is the stricter one.
      if (rule.action === 'redact' && (!hiding || (hiding.restore && !rule.restore))) hiding = rule
    }
    if (!hiding) return undefined
    const { placeholder, restore } = hiding
    const { vault } = this
    return restore && vault ? { placeholder, keep: (value) => vault.placeholder(placeholder, value) } : { placeholder }
  }
}

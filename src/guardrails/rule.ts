/** A rule: what a guardrail looks for in texts, and its action on a match. */
import { BUILTINS } from './builtins.ts'
import type { Detector } from './detector.ts'
import { injectionDetector } from './injection/detector.ts'
import { patternDetector } from './pattern.ts'
import { phraseDetector } from './phrases.ts'
import { type Action, type BuiltinSlug, INJECTION_SLUG, slugPlaceholder } from './settings/recognisers.ts'

/** Name of the rule's guardrail, as the pipeline's stages show it. */
export interface GuardrailName {
  readonly id: string
  /** Name in messages. */
  readonly name: string
  readonly scope: 'account' | 'api-key'
  /** True: the audit trail keeps the texts that matched, and not their hashes alone. */
  readonly full?: boolean | undefined
}

/** Names that callers of the documented service know the stages by. */
export type StageName = 'content-filter' | 'regex_pi_detection'

export interface Rule {
  readonly guardrail: GuardrailName
  readonly action: Action
  readonly stage: StageName
  /** Name of the filter in the message of a block; undefined where it has none. */
  readonly label: string | undefined
  /** Kind of what it finds, for reports that must not show the matched text. */
  readonly entity: string
  readonly placeholder: string
  /** True if redacted values come back in the answer. */
  readonly restore?: boolean
  /** Only the user's own messages are read. */
  readonly userOnly: boolean
  readonly detector: Detector
}

export interface ContentFilter {
  readonly pattern: string
  readonly action: Action
  readonly label?: string
}

export interface BuiltinFilter {
  readonly slug: BuiltinSlug
  readonly action: Action
  /** Of prompt injection alone. */
  readonly scanScope?: 'user_only' | 'all_messages'
}

export interface TextFilters {
  readonly contentFilters: readonly ContentFilter[]
  readonly builtins: readonly BuiltinFilter[]
  readonly phrases: readonly string[]
  /** Phrases that are no injection. */
  readonly allowedPhrases: readonly string[]
  /** Of the phrases. */
  readonly action: Action
}

const REDACTED = '[REDACTED]'

/**
 * @param path where the guardrail stands, for messages: `guardrails[0]`.
 * @throws Fault 400 naming a pattern that cannot be compiled.
 */
export function compileRules(guardrail: GuardrailName, filters: TextFilters, path: string): Rule[] {
  const { contentFilters, builtins, phrases, allowedPhrases, action } = filters
  const rules = builtins.map((filter) => builtinRule(guardrail, filter, allowedPhrases))
  for (const [i, { pattern, action, label }] of contentFilters.entries()) {
    const detector = patternDetector(pattern, `${path}.content_filters[${i}].pattern`)
    rules.push({ ...customRule(guardrail, action, detector), label, entity: label ?? 'CUSTOM', placeholder: label ?? REDACTED })
  }
  if (phrases.length > 0) rules.push(customRule(guardrail, action, phraseDetector(phrases)))
  return rules
}

function customRule(guardrail: GuardrailName, action: Action, detector: Detector): Rule {
  const base = { guardrail, action, stage: 'content-filter' as const, label: undefined, userOnly: false, detector }
  return { ...base, entity: 'PHRASE', placeholder: REDACTED }
}

function builtinRule(guardrail: GuardrailName, { slug, action, scanScope }: BuiltinFilter, allowedPhrases: readonly string[]): Rule {
  if (slug === INJECTION_SLUG) {
    return {
      guardrail,
      action,
      stage: 'regex_pi_detection',
      label: slug,
      entity: 'PROMPT_INJECTION',
      placeholder: slugPlaceholder(slug),
      userOnly: scanScope === 'user_only',
      detector: allowedPhrases.length > 0 ? injectionDetector(allowedPhrases) : injection,
    }
  }
  const placeholder = slugPlaceholder(slug)
  const entity = placeholder.slice(1, -1)
  return { guardrail, action, stage: 'content-filter', label: slug, entity, placeholder, userOnly: false, detector: BUILTINS[slug] }
}

/** Without allowed phrases all guardrails share one, and a text is read once for all of them. */
const injection = injectionDetector()

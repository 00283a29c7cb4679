/** Precision and recall of the built-in recognisers on the labelled corpus. */
import { readFileSync } from 'node:fs'
import { compileRules } from '../../../src/guardrails/rule.ts'
import { Scan, TextPolicy } from '../../../src/guardrails/scan.ts'
import { BUILTIN_SLUGS, type BuiltinSlug, INJECTION_SLUG } from '../../../src/guardrails/settings/recognisers.ts'

export interface Sample {
  kind: BuiltinSlug
  lang: string
  genre: string
  text: string
  find: string[]
}

export type Half = 'development' | 'held-out'

export const SLUGS: readonly BuiltinSlug[] = BUILTIN_SLUGS

export function samples(half: Half): Sample[] {
  const text = readFileSync(new URL(`${half}.jsonl`, import.meta.url), 'utf8')
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Sample)
}

const policies = new Map<BuiltinSlug, TextPolicy>()

function slugPolicy(slug: BuiltinSlug): TextPolicy {
  const known = policies.get(slug)
  if (known) return known
  const filters = {
    contentFilters: [],
    builtins: [{ slug, action: 'block' as const }],
    phrases: [],
    allowedPhrases: [],
    action: 'block' as const,
  }
  const policy = new TextPolicy(compileRules({ id: 'corpus', name: 'corpus', scope: 'account' }, filters, 'guardrails[0]'))
  policies.set(slug, policy)
  return policy
}

/** Findings of the gateway in a text, as it reads one. */
export function found(slug: BuiltinSlug, text: string): string[] {
  const scan = new Scan(slugPolicy(slug))
  for (const _ of scan.read([{ texts: [text], user: true }]));
  return [...scan.hits.values()].flatMap(({ matched }) => matched)
}

export interface Figures {
  kind: BuiltinSlug
  positives: number
  negatives: number
  /** Positive samples of which something was not found, and negative ones in which something was. */
  missed: Sample[]
  mistaken: Sample[]
  precision: number
  recall: number
}

export function measure(kind: BuiltinSlug, all: readonly Sample[]): Figures {
  const own = all.filter((sample) => sample.kind === kind)
  const positives = own.filter(({ find }) => find.length > 0)
  const negatives = own.filter(({ find }) => find.length === 0)
  const missed = positives.filter((sample) => !isFound(kind, sample))
  const mistaken = own.filter((sample) => hasMore(kind, sample))
  const right = positives.length - missed.length
  return {
    kind,
    positives: positives.length,
    negatives: negatives.length,
    missed,
    mistaken,
    precision: right / Math.max(1, right + mistaken.length),
    recall: right / Math.max(1, positives.length),
  }
}

function isFound(kind: BuiltinSlug, { text, find }: Sample): boolean {
  const matches = found(kind, text)
  if (kind === INJECTION_SLUG) return matches.length > 0
  return find.every((wanted) => matches.some((match) => match.includes(wanted)))
}

/** Something was found that has nothing to do with what is labelled. */
function hasMore(kind: BuiltinSlug, { text, find }: Sample): boolean {
  const matches = found(kind, text)
  if (kind === INJECTION_SLUG && find.length > 0) return false
  return matches.some((match) => !find.some((wanted) => match.includes(wanted) || wanted.includes(match)))
}

/** Names that guardrails are written with: the built-in recognisers, what happens on a match, and which way texts go. */

/** Of personal and secret data; `src/guardrails/builtins.ts` has what finds each. */
const DATA_SLUGS = ['email', 'phone', 'ssn', 'credit-card', 'ip-address', 'person-name', 'address', 'iban', 'api-key'] as const
export type SensitiveSlug = (typeof DATA_SLUGS)[number]

/** The one that looks for orders instead of data; it takes settings of its own. */
export const INJECTION_SLUG = 'regex-prompt-injection'

export const BUILTIN_SLUGS = [...DATA_SLUGS, INJECTION_SLUG] as const
export type BuiltinSlug = (typeof BUILTIN_SLUGS)[number]

/** Placeholder for a match of a built-in recogniser. */
export function slugPlaceholder(slug: string): string {
  return `[${slug
    .replace(/^regex-/, '')
    .replaceAll('-', '_')
    .toUpperCase()}]`
}

/** flag records, redact replaces, block refuses: block beats redact beats flag. */
export const ACTIONS = ['flag', 'redact', 'block'] as const
export type Action = (typeof ACTIONS)[number]

export const DIRECTIONS = ['input', 'output', 'both'] as const

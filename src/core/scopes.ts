/** Scopes of management keys: they narrow what the role of a key opens, and never widen it. Each operation for managers names one. */

export const SCOPES = {
  'keys:read': 'Keys and shared budgets.',
  'keys:write': 'Makes, changes, rotates and deletes keys.',
  'spending:read': 'Credits, activity, charge-back and entries of the ledger.',
  'spending:write': 'Makes entries of the ledger.',
  'requests:read': 'Generations, sessions, refused requests and live figures.',
  'guardrails:read': 'Guardrails and their assignments, and tests of a text.',
  'guardrails:write': 'Makes, changes, assigns and deletes guardrails.',
  'byok:read': 'Keys of providers that teams have brought.',
  'byok:write': 'Adds, changes and removes these.',
  'organization:read': 'Organizations, workspaces and members.',
  'organization:write': 'Makes, changes and removes these.',
  'events:read': 'Events, their deliveries and receivers.',
  'events:write': 'Sends events again, and enables receivers.',
  'audit:read': 'The audit log and its report.',
  'configuration:read': 'The running configuration; checks and rehearses others.',
} as const

export type Scope = keyof typeof SCOPES

export const SCOPE_NAMES = Object.keys(SCOPES) as Scope[]

export function isScope(word: unknown): word is Scope {
  return typeof word === 'string' && Object.hasOwn(SCOPES, word)
}

/** True where the scopes have this one: to write includes to read. Without scopes a key has all that its role has. */
export function includesScope(scopes: readonly Scope[] | undefined, scope: Scope): boolean {
  if (!scopes || scopes.includes(scope)) return true
  return scopes.some((each) => each === scope.replace(/:read$/, ':write'))
}

/** True where all that the second ones open, the first ones open too. @param other undefined: all that there are. */
export function coversScopes(scopes: readonly Scope[] | undefined, other: readonly Scope[] | undefined): boolean {
  return (other ?? SCOPE_NAMES).every((scope) => includesScope(scopes, scope)) && (scopes === undefined || other !== undefined)
}

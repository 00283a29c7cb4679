/**
 * Accounts that several keys spend together. The word of a kind begins its identities in the ledger; no key's identity begins so, since
 * names of keys have no colon.
 */
interface AccountText {
  /** In sentences; the `scope` of a limit has the word of the kind itself. */
  readonly noun: string
  /** `SubAccountType` of rows in the FOCUS format. */
  readonly focus: string
}

export const ACCOUNT_KINDS = {
  /** Of the configuration; its name stands behind the word, the id of the others. */
  budget: { noun: 'budget', focus: 'Budget' },
  organization: { noun: 'organization', focus: 'Organization' },
  workspace: { noun: 'workspace', focus: 'Workspace' },
  member: { noun: 'member', focus: 'Member' },
} as const satisfies Readonly<Record<string, AccountText>>

export type AccountKind = keyof typeof ACCOUNT_KINDS

/** @param id name of a budget, id of a level. */
export const accountIdentity = (kind: AccountKind, id: string): string => `${kind}:${id}`

/** The account of an identity; undefined for that of a key. */
export function readAccount(identity: string): { readonly kind: AccountKind; readonly id: string } | undefined {
  const end = identity.indexOf(':')
  const kind = identity.slice(0, Math.max(0, end))
  return Object.hasOwn(ACCOUNT_KINDS, kind) ? { kind: kind as AccountKind, id: identity.slice(end + 1) } : undefined
}

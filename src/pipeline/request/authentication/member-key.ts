/** The key of a caller whom a rule maps, by its name at an issuer. */
import type { JsonObject } from '../../../core/json.ts'
import { memberIdentity } from '../../../core/member.ts'
import { plainName } from '../../../core/plain-name.ts'
import type { ApiKey } from '../../../plugin-api/key.ts'

/** Terms of the callers of one rule, and the guardrails that it names. */
export interface RuleTerms {
  /** Name of the rule, or host of the issuer: it stands behind the name of a member. */
  readonly name: string
  /** Host of the issuer. */
  readonly label: string
  readonly guardrails: readonly string[]
  readonly terms: Omit<ApiKey, 'identity' | 'hash' | 'label' | 'name' | 'expiresAt'>
}

export interface Member {
  readonly issuer: string
  readonly member: string
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

/** The key of a member: the same identity for every token, sign-in and certificate of it. */
export function memberKey(
  { issuer, member, expiresAt }: Member,
  { name, label, guardrails, terms }: RuleTerms,
  claims: Pick<NonNullable<ApiKey['token']>, 'claims'> = {},
): ApiKey {
  const identity = memberIdentity(issuer, member)
  return {
    identity,
    hash: identity,
    label,
    // Names of keys of the file have no space, so that no member is taken for one.
    name: `${plainName(member)} (${name})`,
    expiresAt,
    ...terms,
    place: { ...terms.place, member, isAnyone: true },
    token: { issuer, guardrails, ...claims },
  }
}

/** The claims that policies read: the others need no memory. */
export function readClaims(claims: JsonObject, names: ReadonlySet<string>): Pick<NonNullable<ApiKey['token']>, 'claims'> {
  if (names.size === 0) return {}
  return { claims: Object.fromEntries(Object.entries(claims).filter(([name]) => names.has(name))) }
}

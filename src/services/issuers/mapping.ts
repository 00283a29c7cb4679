/** From the claims of a member to the rule of the configuration that decides what the member may do. */
import type { Json, JsonObject } from '../../core/json.ts'
import { claimAt, hasClaims, memberIn } from './claims.ts'
import type { Claims, ClaimTests, IssuerSettings, MappedMember } from './types.ts'

type MappingSettings = Pick<IssuerSettings, 'requiredClaims' | 'member' | 'rules'>

/** @returns undefined where the claims lack the name of a member, or a claim that is required. */
export function mapClaims(claims: Claims, { requiredClaims, member: path, rules }: MappingSettings): MappedMember | undefined {
  const member = memberIn(claims, path)
  if (member === undefined || !hasClaims(claims, requiredClaims)) return undefined
  const rule = rules.findIndex(({ when }) => hasClaims(claims, when))
  return { member, rule: rule < 0 ? undefined : rule }
}

const tests = ({ requiredClaims, rules }: MappingSettings): ClaimTests[] => [requiredClaims, ...rules.map(({ when }) => when)]

/** Paths of the claims that the settings look at. */
export function testedPaths(settings: MappingSettings): Set<string> {
  return new Set([settings.member, ...tests(settings).flatMap((each) => Object.keys(each))])
}

/** The claims that the settings look at, by their paths, and of lists the entries that a test accepts alone: it is short whatever an issuer says. */
export function testedClaims(claims: Claims, settings: MappingSettings): JsonObject {
  const found: Record<string, Json> = {}
  for (const path of testedPaths(settings)) {
    const value = claimAt(claims, path)
    if (value === undefined) continue
    const accepted = tests(settings).flatMap((each) => each[path] ?? []) as unknown[]
    found[path] = Array.isArray(value) ? value.filter((entry) => accepted.includes(entry)) : value
  }
  return found
}

/**
 * The part of the gateway that a management key governs: all of it, or what lies at and below the organization or the workspace of its place.
 * See docs/decisions/0101-rights-within-a-place.md.
 */
import { type KeyLevels, type KeyPlace, ORGANIZATION } from './levels.ts'
import { WORKSPACE } from './workspace.ts'

export interface Reach {
  readonly kind: 'organization' | 'workspace'
  /** '' of one that is not there: nothing lies below it. */
  readonly id: string
}

/**
 * Bound of an operation: `own` of what belongs to its caller, or is the same for all callers; `place` of records that lie in an organization,
 * of which a caller with a place has its part; `gateway` of what no part of an organization has, which is closed to callers with a place.
 */
export type OperationReach = 'own' | 'place' | 'gateway'

/** A key as far as its place goes. */
export interface PlacedHolder {
  readonly role: string
  readonly place?: KeyPlace | undefined
  readonly levels?: KeyLevels
  readonly issuer?: PlacedHolder
}

/** True where the place names an organization or a workspace; a member alone names a person, and bounds nothing. */
export const isBounded = (place: KeyPlace | undefined): boolean => place?.workspace !== undefined || place?.organization !== undefined

/** The part that a caller governs; undefined where that is the whole gateway, and of callers that govern nothing. */
export function callerReach({ role, place, levels }: PlacedHolder): Reach | undefined {
  if (role === 'member' || !isBounded(place)) return undefined
  const kind = place?.organization === undefined ? 'workspace' : 'organization'
  // A place that was not looked up opens nothing.
  return { kind, id: levels === undefined || levels.isMissing ? '' : levels[kind] }
}

/** True for a key at or below the place. Management keys of the whole gateway lie nowhere. */
export function isWithin(key: PlacedHolder, reach: Reach): boolean {
  if (reach.id === '') return false
  const { role, place, levels } = key.issuer ?? key
  if (role !== 'member' && !isBounded(place)) return false
  if (levels) return !levels.isMissing && levels[reach.kind] === reach.id
  return !isBounded(place) && reach.id === (reach.kind === 'workspace' ? WORKSPACE : ORGANIZATION)
}

/** As `reach` of keys in replies. */
export function reachWord(key: PlacedHolder): 'own' | 'gateway' | Reach['kind'] {
  return key.role === 'member' ? 'own' : (callerReach(key)?.kind ?? 'gateway')
}

/** Combines the preferences of request, key, account and guardrails into the ones that rule a request. */
import type { SortKey } from '../core/sort-keys.ts'
import type { ProviderPreferences } from '../dialects/canon/request-fields.ts'
import {
  DATA_FIELDS,
  type MergedCriteria,
  ofOperator,
  SHARED_FIELDS,
  type SharedField,
  type SidedSlugs,
  STRICT_VALUES,
  type StatedOrder,
} from './criteria/index.ts'

/** Source of the preferences: shown in errors, so that a caller knows which list left nothing. */
export interface PreferenceSide {
  readonly from: string
  readonly preferences: ProviderPreferences | null | undefined
}

/** `only` holds every side's list, because all of them apply; `ignore` likewise. Of a list `order` of the operator's it is known whose it is. */
export type MergedPreferences = Omit<ProviderPreferences, SharedField> &
  Pick<MergedCriteria, SharedField> &
  Pick<StatedOrder, 'order_from' | 'order_only'>

/** Routing fields of a request: its `provider` object, and the two older or shorter ways to say parts of it. */
export interface RequestDemands {
  readonly provider?: ProviderPreferences | null | undefined
  /** Old name of the partition: `fallback` means model, `sort` means none. */
  readonly route?: 'fallback' | 'sort' | null | undefined
  /** The order that a variant such as `:nitro` requests. */
  readonly variantSort?: SortKey | undefined
}

export const NO_PREFERENCES: MergedPreferences = Object.freeze(emptyLists())
for (const field of SHARED_FIELDS) Object.freeze(NO_PREFERENCES[field])

/** The sides of a request, strongest first: the `provider` object before `route` and the variant. */
export function requestSides({ provider, route, variantSort }: RequestDemands): PreferenceSide[] {
  const sides: PreferenceSide[] = []
  if (provider) sides.push({ from: 'request', preferences: provider })
  if (route) sides.push({ from: 'request', preferences: { sort: { partition: route === 'sort' ? 'none' : 'model' } } })
  if (variantSort) sides.push({ from: 'request', preferences: { sort: variantSort } })
  return sides
}

/**
 * Of the fields of the criteria the lists of all sides hold (`all`), or the strict value wins, whichever
 * side states it (`strict`); of the rest the first side that sets a field decides.
 * The two members of `sort` are fields of their own, and `order` of a side gives way where a stronger side sorts.
 * @param sides strongest first: request, key, account. Null, an empty list and an object of nulls are unset: forms send them for fields left blank.
 */
export function mergePreferences(sides: readonly PreferenceSide[]): MergedPreferences {
  if (!sides.some((side) => side.preferences)) return NO_PREFERENCES
  const merged: Record<string, unknown> = {}
  const lists = emptyLists()
  const sort = new MergedSort()
  for (const { from, preferences } of sides) {
    if (!preferences) continue
    const sorted = sort.by !== undefined
    for (const [field, sent] of Object.entries(preferences)) {
      if (field === 'sort' || (sorted && field === 'order')) continue
      const value = stated(sent)
      if (value === undefined) continue
      if (isShared(field)) lists[field].push({ from, slugs: value as string[] })
      else if (merged[field] === undefined || STRICT_VALUES.get(field) === value) merged[field] = value
    }
    if (merged.order === preferences.order && merged.order !== undefined && ofOperator(from)) {
      merged.order_from = from
      if (preferences.allow_fallbacks === false) merged.order_only = true
    }
    sort.add(preferences.sort)
  }
  if (sort.stated) merged.sort = sort.stated
  return { ...(merged as ProviderPreferences), ...lists }
}

const isShared = (field: string): field is SharedField => (SHARED_FIELDS as readonly string[]).includes(field)

/** A list for each shared field. */
function emptyLists(): Record<SharedField, SidedSlugs[]> {
  const lists: Partial<Record<SharedField, SidedSlugs[]>> = {}
  for (const field of SHARED_FIELDS) lists[field] = []
  return lists as Record<SharedField, SidedSlugs[]>
}

/** Of merged preferences only what no request can loosen: of the rest the request's own decide. */
export function bindingPart(preferences: MergedPreferences): MergedPreferences {
  const part: Record<string, unknown> = {}
  for (const [field, value] of Object.entries(preferences)) if (STRICT_VALUES.has(field) || isShared(field)) part[field] = value
  return part as MergedPreferences
}

/** Strict values that the sides demand of providers about data; undefined where there are none. */
export function dataDemands(preferences: MergedPreferences): ProviderPreferences | undefined {
  let demands: Record<string, unknown> | undefined
  for (const field of DATA_FIELDS) {
    const strict = STRICT_VALUES.get(field)
    if (preferences[field] === strict) demands = { ...demands, [field]: strict }
  }
  return demands
}

class MergedSort {
  by: SortKey | undefined
  private partition: 'model' | 'none' | undefined

  add(sort: ProviderPreferences['sort']): void {
    const { by, partition } = typeof sort === 'string' ? { by: sort, partition: undefined } : (sort ?? {})
    this.by ??= by ?? undefined
    this.partition ??= partition ?? undefined
  }

  get stated(): ProviderPreferences['sort'] {
    const { by, partition } = this
    if (partition === undefined) return by
    return by === undefined ? { partition } : { by, partition }
  }
}

/** The value without members that are null; undefined where nothing is left. */
function stated(value: unknown): unknown {
  if (value === null || value === undefined) return undefined
  if (Array.isArray(value)) return value.length > 0 ? value : undefined
  if (typeof value !== 'object') return value
  const members = Object.entries(value).filter(([, member]) => member !== null && member !== undefined)
  return members.length > 0 ? Object.fromEntries(members) : undefined
}

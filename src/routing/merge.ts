/** Combines the preferences of request, key, account and guardrails into the ones that rule a request. */
import type { ProviderPreferences, SortKey } from '../dialects/canon/gateway-fields.ts'

/** Whose preferences they are: shown in errors, so that a caller knows which list left nothing. */
export interface PreferenceSide {
  readonly from: string
  readonly preferences: ProviderPreferences | null | undefined
}

export interface SidedSlugs {
  readonly from: string
  readonly slugs: readonly string[]
}

/** `only` holds every side's list, because all of them apply; `ignore` likewise. */
export type MergedPreferences = Omit<ProviderPreferences, 'only' | 'ignore'> & {
  readonly only: readonly SidedSlugs[]
  readonly ignore: readonly SidedSlugs[]
}

/** What a request says of its routing: its `provider` object, and the two older or shorter ways to say parts of it. */
export interface RequestWishes {
  readonly provider?: ProviderPreferences | null
  /** Old name of the partition: `fallback` means model, `sort` means none. */
  readonly route?: 'fallback' | 'sort' | null
  /** The order that a variant such as `:nitro` asks for. */
  readonly variantSort?: SortKey
}

export const NO_PREFERENCES: MergedPreferences = Object.freeze({ only: Object.freeze([]), ignore: Object.freeze([]) })

/** The sides of a request, strongest first: the `provider` object before `route` and the variant. */
export function requestSides({ provider, route, variantSort }: RequestWishes): PreferenceSide[] {
  const sides: PreferenceSide[] = []
  if (provider) sides.push({ from: 'request', preferences: provider })
  if (route) sides.push({ from: 'request', preferences: { sort: { partition: route === 'sort' ? 'none' : 'model' } } })
  if (variantSort) sides.push({ from: 'request', preferences: { sort: variantSort } })
  return sides
}

/**
 * Contract section 5.1: `only` lists all apply, `ignore` is the union, `zdr` is true if any side says so,
 * `data_collection: deny` and `enforce_distillable_text` win; of the rest the first side that sets a field decides.
 * The two members of `sort` are fields of their own, and `order` of a side gives way where a stronger side sorts.
 * @param sides strongest first: request, key, account. Null, an empty list and an object of nulls are unset: forms send them for fields left blank.
 */
export function mergePreferences(sides: readonly PreferenceSide[]): MergedPreferences {
  if (!sides.some((side) => side.preferences)) return NO_PREFERENCES
  const merged: Record<string, unknown> = {}
  const only: SidedSlugs[] = []
  const ignore: SidedSlugs[] = []
  const sort = new MergedSort()
  for (const { from, preferences } of sides) {
    if (!preferences) continue
    if (preferences.only?.length) only.push({ from, slugs: preferences.only })
    if (preferences.ignore?.length) ignore.push({ from, slugs: preferences.ignore })
    const sorted = sort.by !== undefined
    for (const [field, sent] of Object.entries(preferences)) {
      if (SEPARATE.has(field) || (sorted && field === 'order')) continue
      const value = stated(sent)
      if (value !== undefined && (merged[field] === undefined || STRICTEST[field] === value)) merged[field] = value
    }
    sort.add(preferences.sort)
  }
  if (sort.stated) merged.sort = sort.stated
  return { ...(merged as ProviderPreferences), only, ignore }
}

/** Fields that are not taken from one side alone. */
const SEPARATE: ReadonlySet<string> = new Set(['only', 'ignore', 'sort'])

/** Fields where the strict value wins, whichever side says it. */
const STRICTEST: Readonly<Record<string, unknown>> = { zdr: true, data_collection: 'deny', enforce_distillable_text: true }

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

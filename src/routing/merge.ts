/** Combines the preferences of request, key, account and guardrails into the ones that rule a request. */
import type { ProviderPreferences } from '../canon/gateway-fields.ts'

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

export const NO_PREFERENCES: MergedPreferences = Object.freeze({ only: Object.freeze([]), ignore: Object.freeze([]) })

/**
 * Contract section 5.1: `only` lists all apply, `ignore` is the union, `zdr` is true if any side says so,
 * `data_collection: deny` and `enforce_distillable_text` win; of the rest the first side that sets a field decides.
 * @param sides strongest first: request, key, account. Null and an empty list are unset: forms send them for fields left blank.
 */
export function mergePreferences(sides: readonly PreferenceSide[]): MergedPreferences {
  if (!sides.some((side) => side.preferences)) return NO_PREFERENCES
  const merged: Record<string, unknown> = {}
  const only: SidedSlugs[] = []
  const ignore: SidedSlugs[] = []
  for (const { from, preferences } of sides) {
    if (!preferences) continue
    if (preferences.only?.length) only.push({ from, slugs: preferences.only })
    if (preferences.ignore?.length) ignore.push({ from, slugs: preferences.ignore })
    for (const [field, value] of Object.entries(preferences)) {
      if (field === 'only' || field === 'ignore' || value === null || value === undefined) continue
      if (merged[field] === undefined || STRICTEST[field] === value) merged[field] = value
    }
  }
  return { ...(merged as ProviderPreferences), only, ignore }
}

/** Fields where the strict value wins, whichever side says it. */
const STRICTEST: Readonly<Record<string, unknown>> = { zdr: true, data_collection: 'deny', enforce_distillable_text: true }

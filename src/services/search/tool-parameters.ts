/** The caller's `parameters` of the tool web_search (contract section 1.4), but for the engine. */

import { badField } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import type { NativeSearch } from '../../dialects/canon/native-search.ts'
import { charactersOf, domainsOf, locationOf, MOST_RESULTS, modeOf, USUAL_RESULTS, wholeNumber } from './scope.ts'
import type { SearchScope, UserLocation } from './types.ts'

/** Most searches of one request: a tool loop makes no more calls. */
const MOST_USES = 30
const USUAL_TOTAL = 50

export interface SearchParameters {
  scope: SearchScope
  maxUses: number
  maxTotal: number
  /** The same for a provider that searches itself. */
  native: NativeSearch
}

/** @param path of the object. @throws Fault 400 naming the path. */
export function searchParameters(parameters: JsonObject, path: string): SearchParameters {
  const allowed = domainsOf(parameters.allowed_domains, `${path}.allowed_domains`)
  const excluded = domainsOf(parameters.excluded_domains, `${path}.excluded_domains`)
  if (allowed.length > 0 && excluded.length > 0)
    throw badField(`${path}.excluded_domains`, 'expected either allowed_domains or excluded_domains')
  const uses = wholeNumber(parameters.max_uses, `${path}.max_uses`, { min: 1 })
  const location = locationOf(parameters.user_location, `${path}.user_location`, false)
  const scope: SearchScope = {
    count: wholeNumber(parameters.max_results, `${path}.max_results`, { min: 1, max: MOST_RESULTS }) ?? USUAL_RESULTS,
    characters: charactersOf(parameters, path),
    allowed,
    excluded,
    location,
    mode: modeOf(parameters.mode, `${path}.mode`),
  }
  const { search_context_size: size } = parameters
  return {
    scope,
    maxUses: Math.min(uses ?? MOST_USES, MOST_USES),
    maxTotal: wholeNumber(parameters.max_total_results, `${path}.max_total_results`, { min: 1 }) ?? USUAL_TOTAL,
    native: nativeSearch(scope, { maxUses: uses === undefined ? undefined : Math.min(uses, MOST_USES), size }),
  }
}

/** A scope as it is sent to a provider, without a number of results: the provider decides that. */
export function nativeSearch(
  { allowed, excluded, location }: Pick<SearchScope, 'allowed' | 'excluded' | 'location'>,
  { maxUses, size }: { maxUses?: number | undefined; size?: unknown | undefined } = {},
): NativeSearch {
  const place = location && placeOf(location)
  return {
    allowed,
    excluded,
    ...(maxUses === undefined ? {} : { maxUses }),
    ...(typeof size === 'string' ? { contextSize: size } : {}),
    ...(place ? { location: place } : {}),
  }
}

function placeOf(location: UserLocation): JsonObject | undefined {
  const place: JsonObject = {}
  for (const [name, word] of Object.entries(location)) if (typeof word === 'string') place[name] = word
  return Object.keys(place).length === 0 ? undefined : place
}

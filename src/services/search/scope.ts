/** Fields of a request that tool and plugin share: how much is wanted, of which pages, for whom. */
import { badField } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { NativeSearch } from '../../dialects/canon/native-search.ts'
import { domainRules } from '../outbound/domains.ts'
import type { SearchScope, UserLocation } from './types.ts'

/** The largest `max_results` that a request may set (docs/web-search.md). */
export const MAX_RESULTS = 25
export const USUAL_RESULTS = 5

const MODES = ['instant', 'fast', 'auto', 'deep-lite', 'deep', 'deep-reasoning', 'turbo', 'basic', 'advanced']

/** Characters per result by `search_context_size`. */
const SIZES: Readonly<Record<string, number>> = { low: 500, medium: 1500, high: 4000 }
export const USUAL_CHARACTERS = 1500
const MAX_CHARACTERS = 100_000

/**
 * A whole number within bounds; undefined where nothing was sent.
 * @param bounds without `max` as far as whole numbers are exact, which the error does not name: it is no rule of the field.
 * @throws Fault 400 naming the path.
 */
export function wholeNumber(value: Json | undefined, path: string, bounds: { min: number; max?: number }): number | undefined {
  if (value === undefined || value === null) return undefined
  const { min, max } = bounds
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || (max !== undefined && value > max))
    throw badField(path, `expected a whole number ${max === undefined ? `of at least ${min}` : `from ${min} to ${max}`}`)
  return value
}

/** `max_characters` beats `search_context_size`. @param path of the object that holds both. */
export function parseCharacters({ max_characters: most, search_context_size: size }: JsonObject, path: string): number {
  const usual = size === undefined || size === null ? USUAL_CHARACTERS : typeof size === 'string' ? SIZES[size] : undefined
  if (usual === undefined) throw badField(`${path}.search_context_size`, "expected 'low', 'medium' or 'high'")
  const exact = wholeNumber(most, `${path}.max_characters`, { min: 1, max: MAX_CHARACTERS })
  return exact ?? usual
}

export function parseMode(mode: Json | undefined, path: string): string | undefined {
  if (mode === undefined || mode === null) return undefined
  if (typeof mode !== 'string' || !MODES.includes(mode)) throw badField(path, `expected one of: ${MODES.join(', ')}`)
  return mode
}

/** Each is held against each result, and again for each tool of the request. */
const MAX_DOMAINS = 1000

/** @throws Fault 400 naming the entry that is no domain, or the list that is too long. */
export function parseDomains(list: Json | undefined, path: string): string[] {
  if (list === undefined || list === null) return []
  if (!Array.isArray(list)) throw badField(path, 'expected a list of domains')
  if (list.length > MAX_DOMAINS) throw badField(path, `expected at most ${MAX_DOMAINS} domains`)
  return list.map((entry, i) => {
    if (typeof entry !== 'string') throw badField(`${path}[${i}]`, 'expected a domain')
    try {
      domainRules({ allowed: [entry] })
    } catch {
      throw badField(`${path}[${i}]`, 'expected a domain such as example.com, *.example.com or example.com/blog')
    }
    return entry.trim()
  })
}

/** @param typed true where the `type` must be there. */
export function parseLocation(value: Json | undefined, path: string, typed: boolean): UserLocation | undefined {
  if (value === undefined || value === null) return undefined
  if (!isObject(value)) throw badField(path, 'expected an object')
  if (value.type !== 'approximate' && (typed || value.type !== undefined)) throw badField(`${path}.type`, "expected 'approximate'")
  const location: UserLocation = {}
  for (const name of ['city', 'country', 'region', 'timezone'] as const) {
    const word = value[name]
    if (word === undefined || word === null) continue
    if (typeof word !== 'string' || word.length > 100 || /[^\x20-\x7e\u00a0-\uffff]/.test(word))
      throw badField(`${path}.${name}`, 'expected a short text')
    location[name] = word
  }
  const { country, timezone } = location
  // Engines know codes of two letters; any other word for a country is none for them.
  if (country !== undefined) location.country = /^[A-Za-z]{2}$/.test(country) ? country.toUpperCase() : undefined
  if (timezone !== undefined && !/^[A-Za-z0-9/_+-]+$/.test(timezone)) throw badField(`${path}.timezone`, 'expected an IANA time zone name')
  return location
}

/** Most searches of one request: a tool loop makes no more calls. */
const MAX_USES = 30
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
  const allowed = parseDomains(parameters.allowed_domains, `${path}.allowed_domains`)
  const excluded = parseDomains(parameters.excluded_domains, `${path}.excluded_domains`)
  if (allowed.length > 0 && excluded.length > 0)
    throw badField(`${path}.excluded_domains`, 'expected either allowed_domains or excluded_domains')
  const uses = wholeNumber(parameters.max_uses, `${path}.max_uses`, { min: 1 })
  const location = parseLocation(parameters.user_location, `${path}.user_location`, false)
  const scope: SearchScope = {
    count: wholeNumber(parameters.max_results, `${path}.max_results`, { min: 1, max: MAX_RESULTS }) ?? USUAL_RESULTS,
    characters: parseCharacters(parameters, path),
    allowed,
    excluded,
    location,
    mode: parseMode(parameters.mode, `${path}.mode`),
  }
  const { search_context_size: size } = parameters
  return {
    scope,
    maxUses: Math.min(uses ?? MAX_USES, MAX_USES),
    maxTotal: wholeNumber(parameters.max_total_results, `${path}.max_total_results`, { min: 1 }) ?? USUAL_TOTAL,
    native: nativeSearch(scope, { maxUses: uses === undefined ? undefined : Math.min(uses, MAX_USES), size }),
  }
}

/** A scope as it is sent to a provider, without a number of results: the provider decides that. */
export function nativeSearch(
  { allowed, excluded, location }: Pick<SearchScope, 'allowed' | 'excluded' | 'location'>,
  { maxUses, size }: { maxUses?: number | undefined; size?: unknown | undefined } = {},
): NativeSearch {
  const place = location && locationPlace(location)
  return {
    allowed,
    excluded,
    ...(maxUses === undefined ? {} : { maxUses }),
    ...(typeof size === 'string' ? { contextSize: size } : {}),
    ...(place ? { location: place } : {}),
  }
}

function locationPlace(location: UserLocation): JsonObject | undefined {
  const place: JsonObject = {}
  for (const [name, word] of Object.entries(location)) if (typeof word === 'string') place[name] = word
  return Object.keys(place).length === 0 ? undefined : place
}

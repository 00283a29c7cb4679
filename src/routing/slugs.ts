/** How the entries of `order`, `only` and `ignore` name endpoints (contract section 5.1, slug match). */
import type { Endpoint } from '../catalog/types.ts'

export type Tier = 'flex' | 'priority'

/**
 * True where a provider entry names the endpoint.
 * `acme` names every endpoint of acme but its tier endpoints; `acme/turbo` names that variant or tier alone.
 * @param admitted tiers that the request asked for by other means: a base slug then names them too.
 */
export function namesEndpoint(entry: string, endpoint: Endpoint, admitted: ReadonlySet<Tier> = NO_TIERS): boolean {
  const slug = endpoint.provider.slug
  if (entry === slug) return endpoint.tier === undefined || admitted.has(endpoint.tier)
  if (entry.length <= slug.length || entry.charCodeAt(slug.length) !== SLASH || !entry.startsWith(slug)) return false
  return suffixNames(entry.slice(slug.length + 1), endpoint)
}

/** True where the entry names the endpoint by its full tag. */
export function namesTag(entry: string, endpoint: Endpoint): boolean {
  return entry !== endpoint.provider.slug && namesEndpoint(entry, endpoint)
}

/** As `namesEndpoint`, for exclusion: who leaves out a provider leaves out its tiers as well. */
export function excludesEndpoint(entry: string, endpoint: Endpoint): boolean {
  return entry === endpoint.provider.slug || namesEndpoint(entry, endpoint)
}

/** `provider`, `provider/variant` or `provider/tier`: the tag of endpoint lists. */
export function endpointTag(endpoint: Endpoint): string {
  const suffix = [endpoint.variant, endpoint.tier].filter((part) => part !== undefined)
  return [endpoint.provider.slug, ...suffix].join('/')
}

const SLASH = 0x2f
const NO_TIERS: ReadonlySet<Tier> = new Set()

function suffixNames(suffix: string, endpoint: Endpoint): boolean {
  const { variant, tier } = endpoint
  if (tier === undefined) return suffix === variant
  return suffix === tier || (variant !== undefined && suffix === `${variant}/${tier}`)
}

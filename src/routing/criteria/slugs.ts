/** Names of endpoints in the entries of `order`, `only` and `ignore` (docs/contract.md#provider-preferences, slug match), and which tiers a request opens. */
import type { ServiceTier } from '../../core/service-tiers.ts'
import type { Endpoint } from '../catalog/types.ts'

export type Tier = ServiceTier

const NO_TIERS: ReadonlySet<Tier> = new Set()

/** Tiers that a request opens otherwise than by a list: by `service_tier`, or by a variant such as `:nitro`. */
export function admittedTiers({
  tiers = NO_TIERS,
  serviceTier,
}: {
  tiers?: ReadonlySet<Tier> | undefined
  serviceTier?: Tier | undefined
}): ReadonlySet<Tier> {
  return serviceTier === undefined ? tiers : new Set([...tiers, serviceTier])
}

/** `provider`, `provider/variant` or `provider/tier`: the tag of endpoint lists. */
export function endpointTag(endpoint: Endpoint): string {
  const suffix = [endpoint.variant, endpoint.tier].filter((part) => part !== undefined)
  return [endpoint.provider.slug, ...suffix].join('/')
}

/** Lists of the configuration are the same arrays for every request; one of a request is dropped with it. */
const compiled = new WeakMap<readonly string[], ReadonlySet<string>>()

function compileSlugs(entries: readonly string[]): ReadonlySet<string> {
  let set = compiled.get(entries)
  if (!set) {
    set = new Set(entries)
    compiled.set(entries, set)
  }
  return set
}

/**
 * True where an entry of the list names the endpoint; the length of the list costs nothing.
 * `acme` names every endpoint of acme but its tier endpoints; `acme/turbo` names that variant or tier alone.
 * @param admitted tiers that the request names by other means: a base slug then names them too.
 */
export function listNames(entries: readonly string[], endpoint: Endpoint, admitted: ReadonlySet<Tier> = NO_TIERS): boolean {
  const set = compileSlugs(entries)
  const { tier, provider } = endpoint
  if (set.has(provider.slug) && (tier === undefined || admitted.has(tier))) return true
  return fullNames(endpoint).some((name) => set.has(name))
}

/** As `listNames`, for exclusion: a provider that is left out is left out with its tiers. */
export function listExcludes(entries: readonly string[], endpoint: Endpoint): boolean {
  return compileSlugs(entries).has(endpoint.provider.slug) || listNames(entries, endpoint)
}

/** True where an entry of the list names the endpoint by a full tag. */
export function listTags(entries: readonly string[], endpoint: Endpoint): boolean {
  const set = compileSlugs(entries)
  return fullNames(endpoint).some((name) => set.has(name))
}

/** Everything but the bare provider that names the endpoint. */
export function fullNames({ provider: { slug }, variant, tier }: Endpoint): readonly string[] {
  if (tier === undefined) return variant === undefined ? NO_NAMES : [`${slug}/${variant}`]
  return variant === undefined ? [`${slug}/${tier}`] : [`${slug}/${tier}`, `${slug}/${variant}/${tier}`]
}

const NO_NAMES: readonly string[] = []

/** Entries that an error names of one list. */
const SHOWN = 8

/** A list for people, shortened. */
export function shownSlugs(slugs: readonly string[]): string {
  return slugs.length > SHOWN ? `${slugs.slice(0, SHOWN).join(', ')}, …` : slugs.join(', ')
}

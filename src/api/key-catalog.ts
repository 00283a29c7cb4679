/** The catalogue as one key sees it: what no request of the key can ever reach is not there. */
import { ALL_TIERS } from '../core/service-tiers.ts'
import type { ProviderPreferences } from '../dialects/canon/request-fields.ts'
import type { Catalog } from '../routing/catalog/catalog.ts'
import type { Endpoint, Model } from '../routing/catalog/types.ts'
import { allowsModel, bindingPart, filterEndpoints, mergePreferences } from '../routing/index.ts'

export type ListedCatalog = Pick<Catalog, 'models' | 'aliases' | 'find'>

export interface KeyRestrictions {
  readonly allowedModels: readonly string[] | undefined
  readonly provider: ProviderPreferences | undefined
}

/**
 * Models that the key's list allows, each with the endpoints that the key's and the account's preferences leave.
 * @param account preferences of every request. @param barred what guardrails keep from the key.
 */
export function catalogFor(
  catalog: ListedCatalog,
  key: KeyRestrictions,
  account: ProviderPreferences | undefined,
  barred?: (endpoint: Endpoint) => boolean,
): ListedCatalog {
  const merged = mergePreferences([
    { from: 'key', preferences: key.provider },
    { from: 'account', preferences: account },
  ])
  const provider = bindingPart(merged)
  const prefers = Object.entries(provider).some(([, demand]) => (Array.isArray(demand) ? demand.length > 0 : demand !== undefined))
  const binds = prefers || barred !== undefined
  if (!binds && key.allowedModels === undefined) return catalog
  const reachable = (endpoints: readonly Endpoint[]): readonly Endpoint[] => {
    const kept = prefers ? filterEndpoints(endpoints, { provider, tiers: ALL_TIERS }).kept : endpoints
    return barred ? kept.filter((endpoint) => !barred(endpoint)) : kept
  }
  const seen = (model: Model): Model | undefined => {
    if (!allowsModel(key.allowedModels, model.slug)) return undefined
    if (!binds) return model
    const endpoints = reachable(model.endpoints)
    if (endpoints.length === model.endpoints.length) return model
    return endpoints.length === 0 ? undefined : { ...model, endpoints }
  }
  return {
    models: catalog.models.flatMap((model) => seen(model) ?? []),
    aliases: catalog.aliases,
    find: (slug) => {
      const found = catalog.find(slug)
      const model = found && seen(found.model)
      return found && model && { ...found, model }
    },
  }
}

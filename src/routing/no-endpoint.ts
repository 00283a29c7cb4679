/** The error of a request for which every endpoint was filtered out: it says which filter removed whom. */
import { Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import type { FilterName, Removed } from './filters.ts'
import { FILTERS } from './filters.ts'
import { endpointTag } from './slugs.ts'

export interface NoEndpointOptions {
  /** Where the reader finds what the codes mean. */
  docsUrl?: string
}

interface FilterFacts {
  code: 'no_endpoints' | 'constraint_filtered' | 'privacy_restricted'
  /** Name in `excluded_by`, where the wire has one (contract section 8). */
  excludedBy?: string
  /** The request field that the constraint came from. */
  field?: string
}

const FACTS: Readonly<Record<FilterName, FilterFacts>> = {
  status: { code: 'no_endpoints' },
  dialect: { code: 'constraint_filtered', field: 'tools' },
  tier: { code: 'constraint_filtered', field: 'service_tier' },
  input_modality: { code: 'constraint_filtered', field: 'input' },
  output_modality: { code: 'constraint_filtered', field: 'modalities' },
  context: { code: 'constraint_filtered', excludedBy: 'context_length', field: 'input' },
  max_output: { code: 'constraint_filtered', field: 'max_output_tokens' },
  only: { code: 'constraint_filtered', excludedBy: 'allowed_providers', field: 'provider.only' },
  ignore: { code: 'constraint_filtered', excludedBy: 'allowed_providers', field: 'provider.ignore' },
  order: { code: 'constraint_filtered', excludedBy: 'allowed_providers', field: 'provider.order' },
  quantization: { code: 'constraint_filtered', excludedBy: 'quantization', field: 'provider.quantizations' },
  require_parameters: { code: 'constraint_filtered', excludedBy: 'require_parameters', field: 'provider.require_parameters' },
  soft_parameters: { code: 'constraint_filtered', field: 'provider.require_parameters' },
  max_price: { code: 'constraint_filtered', excludedBy: 'max_price', field: 'provider.max_price' },
  distillable: { code: 'constraint_filtered', field: 'provider.enforce_distillable_text' },
  data_collection: { code: 'privacy_restricted', excludedBy: 'data_policy:training' },
  zdr: { code: 'privacy_restricted', excludedBy: 'data_policy:zdr' },
  guardrail: { code: 'constraint_filtered' },
}

/** Endpoints that the message names, and that the metadata lists. */
const SHOWN = 8
const MOST_LISTED = 256
const DOCS_URL = 'docs/operations.md#no-endpoint-is-left'

/**
 * The fault for an empty candidate list: 404, 400 `context_length` where nothing but the context was too short, or 403
 * where only a guardrail stands against the last that would serve.
 * The code is that of the filter which came nearest to letting an endpoint through: the last one in `FILTERS`.
 * `metadata.excluded` lists each endpoint with the filter that removed it.
 * @param requested the slugs asked for, the primary model first.
 */
export function noEndpointFault(requested: readonly string[], removed: readonly Removed[], options: NoEndpointOptions = {}): Fault {
  const message = `No endpoint can serve ${requested.join(', ')}${reasons(removed)}`
  const metadata = removed.length > 0 ? { excluded: removed.slice(0, MOST_LISTED).map(exclusion) } : undefined
  if (removed.length > 0 && removed.every((entry) => entry.filter === 'context')) return new Fault('context_length', { message, metadata })
  const nearest = removed.reduce<Removed | undefined>((best, entry) => (best && rank(best) >= rank(entry) ? best : entry), undefined)
  if (nearest?.filter === 'guardrail')
    return new Fault('guardrail_blocked', { message: `${message}. The guardrail ${nearest.from} allows none of them`, metadata })
  const facts: FilterFacts = nearest ? FACTS[nearest.filter] : { code: 'no_endpoints' }
  const availability: JsonObject = {
    code: facts.code,
    retryable: false,
    requested_models: [...requested],
    docs_url: options.docsUrl ?? DOCS_URL,
  }
  const excludedBy = unique(removed.map((entry) => FACTS[entry.filter].excludedBy))
  if (excludedBy.length > 0) availability.excluded_by = excludedBy
  const affected = unique(removed.map((entry) => entry.endpoint.provider.slug))
  if (affected.length > 0) availability.affected_providers = affected
  if (nearest && facts.code === 'constraint_filtered' && facts.field) {
    availability.constraint = { field: facts.field, detail: nearest.detail }
  }
  return new Fault('no_endpoints', { message, metadata, availability })
}

/** One removed endpoint as error metadata has it. */
export function exclusion({ endpoint, filter, detail, from }: Removed): JsonObject {
  const entry: JsonObject = {
    model: endpoint.model.slug,
    provider: endpoint.provider.name,
    endpoint: endpointTag(endpoint),
    filter,
    detail,
  }
  if (from) entry.from = from
  return entry
}

function reasons(removed: readonly Removed[]): string {
  if (removed.length === 0) return ': it has none'
  const shown = removed.slice(0, SHOWN).map(({ endpoint, filter, detail }) => {
    return `${endpoint.model.slug} at ${endpointTag(endpoint)} removed by ${filter} (${detail})`
  })
  const rest = removed.length - shown.length
  return `: ${shown.join('; ')}${rest > 0 ? `; and ${rest} more` : ''}`
}

function rank(entry: Removed): number {
  return FILTERS.indexOf(entry.filter)
}

function unique(names: readonly (string | undefined)[]): string[] {
  return [...new Set(names.filter((name) => name !== undefined))]
}

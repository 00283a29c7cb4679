/** The endpoint lists: GET /v1/models/{author}/{slug}/endpoints and GET /v1/endpoints/zdr. */

import type { JsonObject } from '../core/json.ts'
import { endpointParameters, modelEntry, pricing } from '../routing/catalog/entry.ts'
import type { Endpoint } from '../routing/catalog/types.ts'
import { type EndpointFigures, endpointTag } from '../routing/index.ts'
import { type ModelSource, namedModel } from './models.ts'
import { type ApiReply, ok } from './reply.ts'

export interface EndpointSource {
  readonly catalog: Pick<ModelSource['catalog'], 'models' | 'find'>
  readonly health: { figures(endpoint: Endpoint): EndpointFigures }
}

/**
 * Lists the endpoints of a model with their recent health. Aliases and variants are found as well.
 * @param slug `author/name`.
 * @throws Fault 404 with `availability` where there is no such model.
 */
export function listEndpoints(slug: string, { catalog, health }: EndpointSource): ApiReply {
  const { model } = namedModel(slug, catalog)
  return ok({
    data: {
      id: model.slug,
      name: model.name,
      description: model.description,
      created: model.created,
      architecture: modelEntry(model).architecture,
      endpoints: model.endpoints.map((endpoint) => endpointEntry(endpoint, health.figures(endpoint))),
    },
  })
}

/** The endpoints that a request with `zdr: true` may use. */
export function listZdrEndpoints({ catalog, health }: EndpointSource): ApiReply {
  const endpoints = catalog.models.flatMap((model) => model.endpoints.filter(({ provider }) => provider.zdr))
  return ok({ data: endpoints.map((endpoint) => endpointEntry(endpoint, health.figures(endpoint))) })
}

/** Clients require a number, also where no length is declared. */
const UNKNOWN_LENGTH = 0

/**
 * One endpoint as the endpoint lists show it (docs/contract.md#lists-and-records; every field that strict clients require).
 * Prices are decimal strings in USD per token or unit, uptimes percent, latency milliseconds, throughput tokens per second;
 * what has not been measured is null.
 */
function endpointEntry(endpoint: Endpoint, figures: EndpointFigures): JsonObject {
  const { model, provider, price } = endpoint
  const parameters = endpointParameters(endpoint)
  return {
    name: `${provider.name}: ${model.name}`,
    model_id: model.slug,
    model_name: model.name,
    provider_name: provider.name,
    tag: endpointTag(endpoint),
    context_length: endpoint.context ?? UNKNOWN_LENGTH,
    max_completion_tokens: endpoint.maxOutput ?? null,
    max_prompt_tokens: null,
    pricing: pricing(price),
    quantization: endpoint.quantization,
    status: figures.status,
    supported_parameters: [...parameters].sort(),
    supports_implicit_caching: cachesByItself(price),
    supports_tool_choice: toolChoices(parameters),
    supports_voice_cloning: false,
    uptime_last_5m: figures.uptime5m,
    uptime_last_30m: figures.uptime30m,
    uptime_last_1d: figures.uptime1d,
    latency_last_30m: figures.latency && { ...figures.latency },
    throughput_last_30m: figures.throughput && { ...figures.throughput },
  }
}

/** A provider that sells cached input and charges nothing extra for writing it caches by itself. */
function cachesByItself(price: Endpoint['price']): boolean {
  return typeof price === 'object' && price.cached !== undefined && price.cacheWrite === undefined
}

function toolChoices(parameters: ReadonlySet<string>): JsonObject {
  const tools = parameters.has('tools')
  const choice = tools && parameters.has('tool_choice')
  return { auto: tools, none: choice, required: choice, function: choice }
}

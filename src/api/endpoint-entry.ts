/** One endpoint as the endpoint lists show it (contract section 4; every field that strict clients require). */

import type { JsonObject } from '../core/json.ts'
import { parametersOf, pricing } from '../routing/catalog/entry.ts'
import type { Endpoint } from '../routing/catalog/types.ts'
import type { EndpointFigures } from '../routing/index.ts'
import { endpointTag } from '../routing/index.ts'

/** Clients require a number, also where no length is declared. */
const UNKNOWN_LENGTH = 0

/**
 * Prices are decimal strings in USD per token or unit, uptimes percent, latency milliseconds, throughput tokens per second;
 * what has not been measured is null.
 */
export function endpointEntry(endpoint: Endpoint, figures: EndpointFigures): JsonObject {
  const { model, provider, price } = endpoint
  const parameters = parametersOf(endpoint)
  return {
    name: `${provider.name}: ${model.name}`,
    model_id: model.slug,
    model_name: model.name,
    provider_name: provider.name,
    tag: endpointTag(endpoint),
    context_length: endpoint.context ?? model.context ?? UNKNOWN_LENGTH,
    max_completion_tokens: endpoint.maxOutput ?? model.maxOutput ?? null,
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

/** Token counts as this wire reports them (contract section 3): cache reads and writes stand beside `input_tokens`, not within. */

import { isObject, type JsonObject } from '../../core/json.ts'
import { usd } from '../../core/money.ts'
import { count } from '../canon/usage.ts'
import type { Final } from '../types.ts'

/** `usage` of a message that has only begun. */
export const NO_USAGE: JsonObject = {
  input_tokens: 0,
  output_tokens: 0,
  output_tokens_details: null,
  cache_creation_input_tokens: null,
  cache_read_input_tokens: null,
  cache_creation: null,
  server_tool_use: null,
  service_tier: null,
  inference_geo: null,
  speed: null,
}

/** Members of the provider's own `usage` that no count of ours replaces. */
const KEPT = ['inference_geo', 'speed', 'iterations', 'fallback_credit'] as const

/**
 * `usage` of a finished message, with what it cost in USD.
 * @param own the provider's own object, where it speaks this wire.
 */
export function encodeUsage(final: Final, own: JsonObject = {}): JsonObject {
  const { usage, serverTools } = final
  const long = usage.cacheWriteLong ?? 0
  const tools = isObject(own.server_tool_use) ? own.server_tool_use : {}
  const fetches = count(tools.web_fetch_requests) + (serverTools?.fetches ?? 0)
  const searches = (usage.webSearches ?? 0) + (serverTools?.searches ?? 0)
  const result: JsonObject = {
    ...NO_USAGE,
    input_tokens: usage.input - usage.cached - usage.cacheWrite,
    output_tokens: usage.output,
    output_tokens_details: { thinking_tokens: usage.reasoning },
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cached,
    cache_creation: { ephemeral_5m_input_tokens: usage.cacheWrite - long, ephemeral_1h_input_tokens: long },
    server_tool_use: searches + fetches > 0 ? { web_search_requests: searches, web_fetch_requests: fetches } : null,
    service_tier: tierName(final.end.tier),
  }
  for (const key of KEPT) if ((own[key] ?? null) !== null) result[key] = own[key]
  result.cost = usd(final.cost)
  result.cost_details = {
    upstream_inference_cost: usd(final.inputCost + final.outputCost),
    upstream_inference_input_cost: usd(final.inputCost),
    upstream_inference_output_cost: usd(final.outputCost),
  }
  result.is_byok = false
  if (serverTools) {
    const { requested, executed } = serverTools
    const counted = searches > 0 ? { web_search_requests: searches } : {}
    result.server_tool_use_details = { tool_calls_requested: requested, tool_calls_executed: executed, ...counted }
  }
  return result
}

/** The base tier has a name of its own here. */
function tierName(tier: string | undefined): string {
  return tier === undefined || tier === 'default' ? 'standard' : tier
}

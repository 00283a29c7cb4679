/** Token counts between this wire and the canon. */
import { count, type Usage } from '../../canon/usage.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { usd } from '../../core/money.ts'
import type { Final } from '../types.ts'
import { objectsOf } from './wire.ts'

/** Searches that the provider ran: its usage does not tell them, its output does. Opening a page is none. */
function searchesIn(items: Json | undefined): number {
  return objectsOf(items).filter(({ type, action, status }) => {
    if (type !== 'web_search_call' || status === 'failed') return false
    return !isObject(action) || action.type === 'search'
  }).length
}

/**
 * Reads an upstream's `usage`: cached counts lie within the input, reasoning within the output.
 * @param items `output` of the same Response object.
 * @returns undefined where there is no such object or it holds no count.
 */
export function decodeUsage(usage: Json | undefined, items?: Json): Usage | undefined {
  if (!isObject(usage)) return undefined
  if (typeof usage.input_tokens !== 'number' && typeof usage.output_tokens !== 'number') return undefined
  const inputs = isObject(usage.input_tokens_details) ? usage.input_tokens_details : {}
  const outputs = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {}
  const input = count(usage.input_tokens)
  const output = count(usage.output_tokens)
  const cached = Math.min(count(inputs.cached_tokens), input)
  const webSearches = searchesIn(items)
  return {
    input,
    output,
    cached,
    cacheWrite: Math.min(count(inputs.cache_write_tokens), input - cached),
    reasoning: Math.min(count(outputs.reasoning_tokens), output),
    audioInput: Math.min(count(inputs.audio_tokens), input),
    audioOutput: Math.min(count(outputs.audio_tokens), output),
    imageOutput: Math.min(count(outputs.image_tokens), output),
    ...(webSearches > 0 ? { webSearches } : {}),
  }
}

/** `usage` of a reply (contract 1.5), with what it cost in USD. */
export function encodeUsage(final: Final): JsonObject {
  const { usage, serverTools } = final
  const result: JsonObject = {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cached, cache_write_tokens: usage.cacheWrite },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: usage.input + usage.output,
    cost: usd(final.cost),
    cost_details: {
      upstream_inference_cost: usd(final.inputCost + final.outputCost),
      upstream_inference_input_cost: usd(final.inputCost),
      upstream_inference_output_cost: usd(final.outputCost),
    },
    is_byok: false,
  }
  const ran: JsonObject = {}
  if (serverTools) {
    ran.tool_calls_requested = serverTools.requested
    ran.tool_calls_executed = serverTools.executed
  }
  const searches = (usage.webSearches ?? 0) + (serverTools?.searches ?? 0)
  if (searches > 0) ran.web_search_requests = searches
  if (Object.keys(ran).length > 0) result.server_tool_use_details = ran
  return result
}

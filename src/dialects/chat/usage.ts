/** Token usage, both ways (contract section 2.2). */

import { isObject, type JsonObject } from '../../core/json.ts'
import { usd } from '../../core/money.ts'
import { count, type Usage, withEarlierSides } from '../canon/usage.ts'
import type { Final } from '../types.ts'

/**
 * Counts that a provider left out of `completion_tokens` or `prompt_tokens` although `total_tokens` holds them.
 * Some report reasoning, or the cached part of the prompt, beside the two instead of inside.
 */
function addMissing(usage: Usage, total: number): void {
  // Without the prompt's own count what is missing is the prompt.
  if (usage.inputUnknown) return
  const missing = total - usage.input - usage.output
  const aside = usage.cached + usage.cacheWrite
  if (missing > 0 && aside > 0 && missing === aside) usage.input += aside
  else if (missing > 0) {
    usage.output += missing
    delete usage.outputUnknown
    if (usage.reasoning < missing) usage.reasoning = missing
  } else if (total === 0 && usage.reasoning > usage.output) usage.output += usage.reasoning
}

/**
 * The provider's usage object as normalised counts; undefined where it holds none.
 * @param before an earlier report of the same stream: some report prompt and completion separately.
 */
export function decodeUsage(raw: unknown, before?: Usage): Usage | undefined {
  if (!isObject(raw)) return undefined
  const sent = raw.prompt_tokens ?? raw.input_tokens
  const made = raw.completion_tokens ?? raw.output_tokens
  if (typeof sent !== 'number' && typeof made !== 'number') return undefined
  const into = isObject(raw.prompt_tokens_details) ? raw.prompt_tokens_details : {}
  const out = isObject(raw.completion_tokens_details) ? raw.completion_tokens_details : {}
  const own: Usage = {
    input: count(sent),
    output: count(made),
    // Mistral counts them as `num_cached_tokens`, where it does not send the details.
    cached: count(into.cached_tokens ?? raw.prompt_cache_hit_tokens ?? raw.cached_tokens ?? raw.num_cached_tokens),
    cacheWrite: count(into.cache_write_tokens ?? into.cache_creation_tokens),
    reasoning: count(out.reasoning_tokens ?? raw.reasoning_tokens),
    audioInput: count(into.audio_tokens),
    audioOutput: count(out.audio_tokens),
    imageOutput: count(out.image_tokens),
  }
  const searches = isObject(raw.server_tool_use_details) ? count(raw.server_tool_use_details.web_search_requests) : 0
  if (searches > 0) own.webSearches = searches
  const usage = withEarlierSides(own, before, { input: typeof sent === 'number', output: typeof made === 'number' })
  addMissing(usage, count(raw.total_tokens))
  usage.cached = Math.min(usage.cached, usage.input)
  usage.cacheWrite = Math.min(usage.cacheWrite, usage.input - usage.cached)
  usage.reasoning = Math.min(usage.reasoning, usage.output)
  return usage
}

/**
 * The report of a chunk or a whole reply, of which some have it elsewhere: npm groq-sdk 1.6.0, `ChatCompletionChunk.XGroq.usage`.
 * @param before as for `decodeUsage`.
 */
export function usageIn(reply: JsonObject, before?: Usage): Usage | undefined {
  return decodeUsage(reply.usage ?? (isObject(reply.x_groq) ? reply.x_groq.usage : undefined), before)
}

/** The `usage` of a reply as JSON text: what the ledger charged, never what the upstream said. */
export function usageText(final: Final): string {
  const { usage } = final
  const tools = final.serverTools || usage.webSearches ? `,"server_tool_use_details":${JSON.stringify(toolUse(final))}` : ''
  return (
    `{"prompt_tokens":${usage.input},"completion_tokens":${usage.output},"total_tokens":${usage.input + usage.output},` +
    `"prompt_tokens_details":{"cached_tokens":${usage.cached},"cache_write_tokens":${usage.cacheWrite},"audio_tokens":${usage.audioInput},"video_tokens":0},` +
    `"completion_tokens_details":{"reasoning_tokens":${usage.reasoning},"audio_tokens":${usage.audioOutput},"image_tokens":${usage.imageOutput}},` +
    `"cost":${usd(final.cost)},"cost_details":{"upstream_inference_cost":${usd(final.inputCost + final.outputCost)},` +
    `"upstream_inference_prompt_cost":${usd(final.inputCost)},"upstream_inference_completions_cost":${usd(final.outputCost)}},"is_byok":false${tools}}`
  )
}

function toolUse({ usage, serverTools }: Final): JsonObject {
  const searches = (usage.webSearches ?? 0) + (serverTools?.searches ?? 0)
  return {
    ...(serverTools ? { tool_calls_requested: serverTools.requested, tool_calls_executed: serverTools.executed } : {}),
    ...(searches > 0 ? { web_search_requests: searches } : {}),
  }
}

/** As `usageText`, parsed. */
export function encodeUsage(final: Final): JsonObject {
  return JSON.parse(usageText(final)) as JsonObject
}

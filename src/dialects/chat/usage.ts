/** Token counts of this wire, as providers report them and as callers read them (docs/contract.md#chat-reply). */
import { isObject, type JsonObject } from '../../core/json.ts'
import { usd } from '../../core/money.ts'
import { count, firstCount, statedCount } from '../canon/counts.ts'
import { beyondFees, feesIn, toolUseIn } from '../canon/provider-fees.ts'
import { type Usage, withEarlierSides } from '../canon/usage.ts'
import { unknownMembers } from '../canon/usage-members.ts'
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

/** Tokens read from the provider's cache, wherever providers count them: in the details of the prompt, or beside it. */
const readFromCache = (into: JsonObject, raw: JsonObject): readonly unknown[] => [
  into.cached_tokens,
  // DeepSeek.
  raw.prompt_cache_hit_tokens,
  raw.cached_tokens,
  // Mistral, where it does not send the details.
  raw.num_cached_tokens,
  raw.cache_read_input_tokens,
]

/**
 * The same of what was written to it. OpenAI: `cache_write_tokens` (npm openai 7.59.0, `CompletionUsage.PromptTokensDetails`). DashScope:
 * `cache_creation_input_tokens` (help.aliyun.com, Model Studio: context cache, "explicit cache"), which proxies for Anthropic's models have
 * beside the details.
 */
const writtenToCache = (into: JsonObject, raw: JsonObject): readonly unknown[] => [
  into.cache_write_tokens,
  into.cache_creation_tokens,
  into.cache_creation_input_tokens,
  raw.cache_creation_input_tokens,
]

/**
 * Writes by how long they are kept: `cache_creation` of DashScope and of proxies for Anthropic's models, within the details or beside them;
 * `cache_write_tokens_details` of OpenAI (npm openai 7.59.0, `InputTokensDetails.CacheWriteTokensDetails`).
 */
function lifetimes(into: JsonObject, raw: JsonObject): { short: number; long: number } {
  const { cache_creation: within, cache_write_tokens_details: written } = into
  const kept = isObject(within) ? within : isObject(raw.cache_creation) ? raw.cache_creation : {}
  const details = isObject(written) ? written : {}
  const short = count(kept.ephemeral_5m_input_tokens) + count(details.ttl_30m_tokens)
  const long = count(kept.ephemeral_1h_input_tokens) + count(details.ttl_12h_tokens)
  return { short, long }
}

const NO_LIFETIMES = { short: 0, long: 0 }

/**
 * The names of Anthropic's wire stand for counts that its input leaves out, and some proxies keep that: where they do not fit into the
 * prompt they stand beside it.
 */
function addCacheBeside(usage: Usage): void {
  const aside = usage.cached + usage.cacheWrite
  if (aside > usage.input) usage.input += aside
}

/**
 * The provider's usage object as normalised counts; undefined where it holds none.
 * @param before an earlier report of the same stream: some report prompt and completion separately.
 */
export function decodeUsage(raw: JsonObject, before?: Usage): Usage | undefined {
  const unknown = unknownMembers('openai-chat', raw)
  const into = isObject(raw.prompt_tokens_details) ? raw.prompt_tokens_details : {}
  const out = isObject(raw.completion_tokens_details) ? raw.completion_tokens_details : {}
  const cachePlaces = [readFromCache(into, raw), writtenToCache(into, raw)] as const
  const hasLifetimes = (into.cache_creation ?? into.cache_write_tokens_details ?? raw.cache_creation) !== undefined
  const written = hasLifetimes ? lifetimes(into, raw) : NO_LIFETIMES
  const sent = statedCount(raw.prompt_tokens ?? raw.input_tokens)
  const made = statedCount(raw.completion_tokens ?? raw.output_tokens)
  if (sent === undefined && made === undefined) return undefined
  const own: Usage = {
    input: sent ?? 0,
    output: made ?? 0,
    cached: firstCount(cachePlaces[0]),
    cacheWrite: firstCount(cachePlaces[1]) || written.short + written.long,
    reasoning: count(out.reasoning_tokens ?? raw.reasoning_tokens),
    imageOutput: count(out.image_tokens),
    audioOutput: count(out.audio_tokens),
    audioInput: count(into.audio_tokens),
  }
  const predicted = { accepted: count(out.accepted_prediction_tokens), rejected: count(out.rejected_prediction_tokens) }
  if (predicted.accepted + predicted.rejected > 0) own.predicted = predicted
  const { server_tool_use_details: tools } = raw
  const searches = tools && isObject(tools) ? count(tools.web_search_requests) : 0
  if (searches > 0) own.webSearches = searches
  if (raw.server_side_tool_usage_details !== undefined) Object.assign(own, toolUseIn(raw))
  const total = count(raw.total_tokens)
  if (raw.cache_read_input_tokens !== undefined || raw.cache_creation_input_tokens !== undefined) addCacheBeside(own)
  if (written.long > 0) own.cacheWriteLong = written.long
  const fees = raw.cost === undefined ? undefined : feesIn(raw)
  const left = fees === undefined ? unknown : beyondFees(unknown)
  if (left) own.unknownMembers = left
  if (fees) own.fees = fees
  // Reasoning with a cost of its own stands beside the output, and is in the fees.
  if (fees && raw.reasoning_tokens !== undefined) own.reasoning = count(out.reasoning_tokens)
  const counted = { input: sent !== undefined, output: made !== undefined }
  const usage = counted.input && counted.output ? own : withEarlierSides(own, before, counted)
  addMissing(usage, total)
  usage.cached = Math.min(usage.cached, usage.input)
  usage.cacheWrite = Math.min(usage.cacheWrite, usage.input - usage.cached)
  if (usage.cacheWriteLong) usage.cacheWriteLong = Math.min(usage.cacheWriteLong, usage.cacheWrite)
  usage.reasoning = Math.min(usage.reasoning, usage.output)
  return usage
}

/**
 * The report of a chunk or a whole reply, of which some have it elsewhere: npm groq-sdk 1.6.0, `ChatCompletionChunk.XGroq.usage`; Moonshot
 * in the last choice of a stream (platform.moonshot.ai, "Chat Completion": `choices[0].usage`).
 * @param before as for `decodeUsage`.
 */
export function usageIn(reply: JsonObject, before?: Usage): Usage | undefined {
  const { usage, x_groq: groq, choices } = reply
  if (usage && isObject(usage)) return decodeUsage(usage, before)
  const { usage: within } = groq && isObject(groq) ? groq : (((Array.isArray(choices) && choices[0]) || {}) as JsonObject)
  return within && isObject(within) ? decodeUsage(within, before) : undefined
}

/** The `usage` of a reply as JSON text: the counts that the ledger charged, never those of the upstream. */
export function usageText(final: Final): string {
  const { usage } = final
  const { predicted } = usage
  const predictions = predicted
    ? `,"accepted_prediction_tokens":${predicted.accepted},"rejected_prediction_tokens":${predicted.rejected}`
    : ''
  const tools = final.serverTools || usage.webSearches ? `,"server_tool_use_details":${JSON.stringify(toolUse(final))}` : ''
  return (
    `{"prompt_tokens":${usage.input},"completion_tokens":${usage.output},"total_tokens":${usage.input + usage.output},` +
    `"prompt_tokens_details":{"cached_tokens":${usage.cached},"cache_write_tokens":${usage.cacheWrite},"audio_tokens":${usage.audioInput},"video_tokens":0},` +
    `"completion_tokens_details":{"reasoning_tokens":${usage.reasoning},"audio_tokens":${usage.audioOutput},"image_tokens":${usage.imageOutput}${predictions}},` +
    `"cost":${usd(final.cost)},"cost_details":{"upstream_inference_cost":${usd(final.inputCost + final.outputCost)},` +
    `"upstream_inference_prompt_cost":${usd(final.inputCost)},"upstream_inference_completions_cost":${usd(final.outputCost)}},"is_byok":${final.isByok === true}${tools}}`
  )
}

function toolUse({ usage, serverTools }: Final): JsonObject {
  const searches = (usage.webSearches ?? 0) + (serverTools?.searches ?? 0)
  return {
    ...(serverTools ? { tool_calls_requested: serverTools.requested, tool_calls_executed: serverTools.executed } : {}),
    ...(searches > 0 ? { web_search_requests: searches } : {}),
  }
}

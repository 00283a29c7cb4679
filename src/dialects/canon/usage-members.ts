/**
 * The members of `usage` that providers of each wire send, and what each means for the price of an answer. A member that is not here may be
 * money that nothing charges: an event reports its name.
 */
import { isObject, type JsonObject } from '../../core/json.ts'

interface UsageMembers {
  /** Read: the charge is made of them. */
  readonly counted: readonly string[]
  /** Lie within one that is counted, at the same price. */
  readonly within: readonly string[]
  /** No amount of anything: times, names, the provider's own sum. */
  readonly aside: readonly string[]
  /** Amounts that a provider may take money for, and that no price of an endpoint can express. */
  readonly unpriced: readonly string[]
}

type UsageWire = 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini' | 'bedrock-converse'

const words = (text: string): string[] => text.trim().split(/\s+/)

/** A name with a dot is a member of a member; `name.*` are all of them. */
export const USAGE_MEMBERS: Readonly<Record<UsageWire, UsageMembers>> = {
  'openai-chat': {
    counted: words(`
      prompt_tokens completion_tokens total_tokens input_tokens output_tokens reasoning_tokens
      prompt_tokens_details prompt_tokens_details.cached_tokens prompt_tokens_details.cache_write_tokens prompt_tokens_details.audio_tokens
      prompt_tokens_details.cache_creation_tokens prompt_tokens_details.cache_creation_input_tokens prompt_tokens_details.cache_creation
      prompt_tokens_details.cache_write_tokens_details
      completion_tokens_details completion_tokens_details.reasoning_tokens completion_tokens_details.audio_tokens
      completion_tokens_details.image_tokens
      cached_tokens num_cached_tokens prompt_cache_hit_tokens cache_read_input_tokens cache_creation_input_tokens cache_creation
      server_tool_use_details server_tool_use_details.web_search_requests service_tier
      server_side_tool_usage_details server_side_tool_usage_details.*`),
    within: words(`
      prompt_tokens_details.text_tokens prompt_tokens_details.image_tokens prompt_tokens_details.video_tokens
      prompt_tokens_details.multimodal_tokens completion_tokens_details.text_tokens
      completion_tokens_details.accepted_prediction_tokens completion_tokens_details.rejected_prediction_tokens
      image_tokens prompt_cache_miss_tokens prompt_text_tokens prompt_image_tokens cached_prompt_text_tokens
      num_server_side_tools_used`),
    aside: words(`
      cost_in_usd_ticks context_details context_details.*
      completion_time prompt_time queue_time total_time search_context_size is_byok inference_geo
      cost cost.* cost_details cost_details.* server_tool_use_details.tool_calls_requested server_tool_use_details.tool_calls_executed`),
    unpriced: words('citation_tokens num_search_queries prompt_audio_seconds server_side_tools_used num_sources_used'),
  },
  'openai-responses': {
    counted: words(`
      input_tokens output_tokens total_tokens input_tokens_details input_tokens_details.cached_tokens input_tokens_details.cache_write_tokens
      input_tokens_details.cache_write_tokens_details input_tokens_details.audio_tokens output_tokens_details
      output_tokens_details.reasoning_tokens output_tokens_details.audio_tokens output_tokens_details.image_tokens
      server_side_tool_usage_details server_side_tool_usage_details.*`),
    // The sum of the details.
    within: words(`
      input_tokens_details.text_tokens input_tokens_details.image_tokens output_tokens_details.text_tokens num_server_side_tools_used`),
    aside: words('cost cost_details cost_details.* cost_in_usd_ticks is_byok context_details context_details.*'),
    unpriced: words('server_side_tools_used num_sources_used'),
  },
  anthropic: {
    counted: words(`
      input_tokens output_tokens cache_read_input_tokens cache_creation_input_tokens cache_creation cache_creation.ephemeral_5m_input_tokens
      cache_creation.ephemeral_1h_input_tokens iterations output_tokens_details output_tokens_details.thinking_tokens
      server_tool_use server_tool_use.web_search_requests service_tier speed`),
    within: [],
    // A fetch has no fee (platform.claude.com, Web fetch tool, "Usage and pricing"). A fallback's credit lowers a bill that is not ours to lower.
    aside: words('inference_geo server_tool_use.web_fetch_requests fallback_credit fallback_credit.*'),
    unpriced: [],
  },
  gemini: {
    counted: words(`
      promptTokenCount candidatesTokenCount thoughtsTokenCount cachedContentTokenCount toolUsePromptTokenCount promptTokensDetails
      candidatesTokensDetails toolUsePromptTokensDetails serviceTier trafficType`),
    within: words('totalTokenCount cacheTokensDetails initialPromptTokenCount'),
    aside: [],
    unpriced: [],
  },
  'bedrock-converse': {
    counted: words('inputTokens outputTokens cacheReadInputTokens cacheWriteInputTokens cacheDetails'),
    // The same counts under their former names (recordings test_bedrock).
    within: words('totalTokens cacheReadInputTokenCount cacheWriteInputTokenCount'),
    aside: words('serverToolUsage serverToolUsage.*'),
    unpriced: [],
  },
}

/** Members of one object: those below each, or undefined where all below are known. */
type Known = ReadonlyMap<string, ReadonlySet<string> | undefined>

/** Those without a price are reported like those that are not known. */
function knownMembers({ counted, within, aside }: UsageMembers): Known {
  const known = new Map<string, Set<string> | undefined>()
  for (const path of [...counted, ...within, ...aside]) {
    const [name = '', below] = path.split('.')
    if (!known.has(name)) known.set(name, undefined)
    if (below === undefined || below === '*') continue
    const named = known.get(name) ?? new Set<string>()
    known.set(name, named.add(below))
  }
  return known
}

const KNOWN = Object.fromEntries(Object.entries(USAGE_MEMBERS).map(([wire, members]) => [wire, knownMembers(members)])) as Record<
  UsageWire,
  Known
>

const MAX_NAMES = 4
const NAME = /^[A-Za-z][\w.-]{0,79}$/

/** Null, zero, and what is empty say nothing. */
const says = (value: unknown): boolean => value !== null && value !== 0 && value !== '' && value !== false

/**
 * Members of a provider's report of usage that nothing knows, so that they may be money which is not charged.
 * @returns undefined where there are none, which costs one look-up for each member; at most four names, none with content of its value.
 */
export function unknownMembers(wire: UsageWire, usage: JsonObject): string[] | undefined {
  const known = KNOWN[wire]
  let unknown: string[] | undefined
  const add = (name: string): void => {
    unknown ??= []
    if (unknown.length < MAX_NAMES && NAME.test(name)) unknown.push(name)
  }
  for (const name in usage) {
    const value = usage[name]
    if (!known.has(name)) {
      if (says(value)) add(name)
      continue
    }
    const below = known.get(name)
    if (below === undefined || !isObject(value)) continue
    for (const inner in value) if (!below.has(inner) && says(value[inner])) add(`${name}.${inner}`)
  }
  return unknown
}

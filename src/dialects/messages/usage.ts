/** Token counts of an upstream of this wire. */

import { asObjects, asString, isObject, type Json, type JsonObject, present } from '../../core/json.ts'
import { count, statedCount } from '../canon/counts.ts'
import { servedTier, type TierReport } from '../canon/served-tier.ts'
import { NO_REPORT, noUsage, type Usage, withEarlierSides, withSearches } from '../canon/usage.ts'
import { unknownMembers } from '../canon/usage-members.ts'

/**
 * Lays a later `usage` over an earlier one. Counts are cumulative, so a later one wins,
 * but neither null nor a zero behind a count says that nothing was used after all.
 * @returns a new object.
 */
export function mergeUsage(before: JsonObject, usage: Json | undefined): JsonObject {
  if (!isObject(usage)) return before
  const merged = { ...before }
  for (const key in usage) {
    const value = usage[key] ?? null
    if (value === null || (statedCount(value) === 0 && statedCount(merged[key]) !== undefined)) continue
    merged[key] = value
  }
  return merged
}

interface Counts {
  plain: number
  read: number
  written: number
  writtenLong: number
  output: number
}

function readCounts(usage: JsonObject): Counts {
  const kept = isObject(usage.cache_creation) ? usage.cache_creation : {}
  const long = count(kept.ephemeral_1h_input_tokens)
  const written = count(usage.cache_creation_input_tokens) || long + count(kept.ephemeral_5m_input_tokens)
  return {
    plain: count(usage.input_tokens),
    read: count(usage.cache_read_input_tokens),
    written,
    writtenLong: Math.min(long, written),
    output: count(usage.output_tokens),
  }
}

/**
 * Rounds that are billed and stand in no top-level count: "A `compaction` entry's tokens are not included in the top-level `usage`
 * fields" (BetaUsage.iterations, @anthropic-ai/sdk 1.14.0). Those of an advisor name its model. The top level stays the provider's own:
 * agents read the size of their context there.
 */
const APART: ReadonlySet<Json | undefined> = new Set(['compaction', 'advisor_message'])

function roundsApart({ iterations }: JsonObject): NonNullable<Usage['others']> {
  return asObjects(iterations)
    .filter(({ type }) => APART.has(type))
    .map((round) => present({ model: round.type === 'compaction' ? undefined : asString(round.model), usage: ofCounts(readCounts(round)) }))
}

/** The provider's rounds as callers read them: their counts are whole. */
export function shownRounds(iterations: Json | undefined): Json {
  return asObjects(iterations).map((round) => {
    const shown = { ...round }
    for (const key in shown) if (key.endsWith('_tokens')) shown[key] = count(shown[key])
    return shown
  })
}

/**
 * Reads `usage` of a message; `input_tokens` of this wire leaves cache reads and writes out, ours has them in.
 * @returns undefined where there is no such object or it holds no count at all.
 */
export function decodeUsage(usage: Json | undefined): Usage | undefined {
  if (!isObject(usage)) return undefined
  const counted = { input: statedCount(usage.input_tokens) !== undefined, output: statedCount(usage.output_tokens) !== undefined }
  if (!counted.input && !counted.output) return undefined
  const all = readCounts(usage)
  const others = roundsApart(usage)
  const details = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {}
  const tools = isObject(usage.server_tool_use) ? usage.server_tool_use : {}
  const searches = count(tools.web_search_requests)
  const unknown = unknownMembers('anthropic', usage)
  const own: Usage = {
    ...ofCounts(all),
    reasoning: Math.min(count(details.thinking_tokens), all.output),
    ...(searches > 0 ? { webSearches: searches } : {}),
    ...(others.length > 0 ? { others } : {}),
    ...(unknown ? { unknownMembers: unknown } : {}),
  }
  return withEarlierSides(own, undefined, {
    input: counted.input || own.input > 0,
    output: counted.output,
  })
}

function ofCounts({ plain, read, written, writtenLong, output }: Counts): Usage {
  return {
    ...noUsage(),
    input: plain + read + written,
    output,
    cached: read,
    cacheWrite: written,
    ...(writtenLong > 0 ? { cacheWriteLong: writtenLong } : {}),
  }
}

/** The reports of one stream of this wire, and the searches that its blocks show before a report counts them. */
export class UsageReports {
  /** `usage` as it stands: later counts over earlier ones. */
  merged: JsonObject = {}
  private searches = 0

  /**
   * Reads the `usage` of `message_start`: it counts the input, while its `output_tokens` stands for nothing yet
   * (`RawMessageStartEvent` and `MessageDeltaUsage`, @anthropic-ai/sdk 1.12.0). An input of zero is a placeholder as well,
   * of providers that count only at the end.
   * @returns what is known now; undefined where nothing is.
   */
  start(usage: Json | undefined): Usage | undefined {
    if (!isObject(usage)) return undefined
    const { output_tokens: _, ...counts } = usage
    this.merged = mergeUsage(this.merged, counts)
    const known = decodeUsage(this.merged)
    if (known?.input !== 0) return known
    delete this.merged.input_tokens
    return undefined
  }

  /** Reads the cumulative `usage` of a `message_delta`. @param last true where the turn ends with it. */
  delta(usage: Json | undefined, last: boolean): Usage | undefined {
    if (!isObject(usage)) return undefined
    this.merged = mergeUsage(this.merged, usage)
    const stated = isObject(usage.server_tool_use) && statedCount(usage.server_tool_use.web_search_requests) !== undefined
    return this.known(last && stated ? 0 : this.searches)
  }

  /**
   * Counts a search by the block that begins with it; one that fails is not billed (platform docs: web search tool, "pricing").
   * @returns what is known now; undefined where the block says nothing of a search.
   */
  block({ type, name, content }: JsonObject): Usage | undefined {
    if (type === 'server_tool_use' && name === 'web_search') this.searches++
    else if (type === 'web_search_tool_result' && isObject(content) && this.searches > 0) this.searches--
    else return undefined
    return this.known(this.searches) ?? NO_REPORT
  }

  private known(searches: number): Usage | undefined {
    const read = decodeUsage(this.merged)
    return read || searches > 0 ? withSearches(read ?? NO_REPORT, searches) : undefined
  }
}

/**
 * The tier that the provider says it served. `speed: fast` is dearer than any tier: such a reply may have the tier `standard` beside it
 * (`BetaUsage.speed`, npm @anthropic-ai/sdk 1.14.0).
 */
export function tierIn(usage: Json | undefined): TierReport | undefined {
  if (!isObject(usage)) return undefined
  return usage.speed === 'fast' ? { tier: 'priority' } : servedTier(usage.service_tier)
}

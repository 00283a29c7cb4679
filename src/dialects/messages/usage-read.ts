/** Token counts of an upstream of this wire. */
import { count, type Usage } from '../../canon/usage.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

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
    if (value === null || (value === 0 && typeof merged[key] === 'number')) continue
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

function countsOf(usage: JsonObject): Counts {
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

/** Rounds that are billed and stand in no other count: the provider lists them apart. */
const APART: ReadonlySet<Json | undefined> = new Set(['compaction', 'advisor_message'])

/**
 * Reads `usage` of a message; `input_tokens` of this wire leaves cache reads and writes out, ours has them in.
 * @returns undefined where there is no such object or it holds no count at all.
 */
export function decodeUsage(usage: Json | undefined): Usage | undefined {
  if (!isObject(usage)) return undefined
  if (typeof usage.input_tokens !== 'number' && typeof usage.output_tokens !== 'number') return undefined
  const all = countsOf(usage)
  for (const round of Array.isArray(usage.iterations) ? usage.iterations : []) {
    if (!isObject(round) || !APART.has(round.type)) continue
    const more = countsOf(round)
    for (const key of Object.keys(all) as (keyof Counts)[]) all[key] += more[key]
  }
  const details = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {}
  const tools = isObject(usage.server_tool_use) ? usage.server_tool_use : {}
  const searches = count(tools.web_search_requests)
  return {
    input: all.plain + all.read + all.written,
    output: all.output,
    cached: all.read,
    cacheWrite: all.written,
    reasoning: Math.min(count(details.thinking_tokens), all.output),
    audioInput: 0,
    audioOutput: 0,
    imageOutput: 0,
    ...(all.writtenLong > 0 ? { cacheWriteLong: all.writtenLong } : {}),
    ...(searches > 0 ? { webSearches: searches } : {}),
  }
}

const TIERS: Readonly<Record<string, string>> = { standard: 'default', priority: 'priority' }

/** The tier that the provider says it served; undefined where it says none that callers know. */
export function tierOf(usage: Json | undefined): string | undefined {
  return isObject(usage) && typeof usage.service_tier === 'string' ? TIERS[usage.service_tier] : undefined
}

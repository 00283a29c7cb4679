/** The service tier that a reply names, by the words of all wires in one table. */
import { isObject, type JsonObject } from '../../core/json.ts'
import type { ServiceTier } from '../../core/service-tiers.ts'
import type { End } from './events.ts'

export type ServedTier = ServiceTier | 'default'

/**
 * `none`: the word names no tier, or capacity that is paid otherwise than by the token, so that the endpoint's own price holds.
 * OpenAI: `ServiceTier`, npm openai 7.59.0 (`priority` is shown for `fast` as well). Gemini: `ServiceTier` and `TrafficType`, npm
 * @google/genai 3.3.0. Mistral: `UsageInfo.serviceTier`, npm @mistralai/mistralai 2.7.0, "standard or priority". Anthropic:
 * `Usage.service_tier` and `speed`, npm @anthropic-ai/sdk 1.14.0. Bedrock: `ServiceTierType`, npm @aws-sdk/client-bedrock-runtime
 * 3.1164.0. Groq: `service_tier`, npm groq-sdk 1.6.0.
 */
const WORDS: Readonly<Record<string, ServedTier | 'none'>> = {
  default: 'default',
  standard: 'default',
  on_demand: 'default',
  flex: 'flex',
  on_demand_flex: 'flex',
  priority: 'priority',
  on_demand_priority: 'priority',
  performance: 'priority',
  fast: 'priority',
  ultrafast: 'ultrafast',
  '': 'none',
  auto: 'none',
  unspecified: 'none',
  service_tier_unspecified: 'none',
  traffic_type_unspecified: 'none',
  // Never dearer than the usual price.
  on_demand_offpeak: 'none',
  batch: 'none',
  scale: 'none',
  reserved: 'none',
  provisioned_throughput: 'none',
}

/** Tier of a reply. `unknown`: its word where the table does not have it, so that its price is not known either. */
export type TierReport = { readonly tier: ServedTier; readonly unknown?: never } | { readonly unknown: string; readonly tier?: never }

const MAX_WORD_LENGTH = 64

/** @returns undefined where the reply names no tier. */
export function servedTier(word: unknown): TierReport | undefined {
  if (word === undefined || word === null) return undefined
  if (typeof word !== 'string') return { unknown: typeof word }
  const known = Object.hasOwn(WORDS, word.toLowerCase()) ? WORDS[word.toLowerCase()] : undefined
  if (known === undefined) return { unknown: word.slice(0, MAX_WORD_LENGTH) }
  return known === 'none' ? undefined : { tier: known }
}

/** The tier of a reply that has its word beside its usage, or within it (Mistral: `usage.service_tier`). */
export function tierBesideUsage({ service_tier: word, usage }: JsonObject): TierReport | undefined {
  return servedTier(word) ?? (isObject(usage) ? servedTier(usage.service_tier) : undefined)
}

/** Adds the tier that the reply states to its end. */
export function noteTier(end: End, report: TierReport | undefined): void {
  if (report?.tier !== undefined) end.tier = report.tier
  else if (report) end.unknownTier = report.unknown
}

/** The tier by a word that clients of every format know (docs/contract.md#responses-reply): the list has none above priority. */
export function shownTier(tier: string | undefined): string | undefined {
  return tier === 'ultrafast' ? 'priority' : tier
}

/** A recorded generation as `GET /v1/generation` shows it (docs/contract.md#lists-and-records). */
import { asObjects, type Json, type JsonObject } from '../core/json.ts'
import { usd } from '../core/money.ts'
import { chargeReason, parseFacts } from './facts.ts'
import type { GenerationRecord } from './types.ts'

/** Facts that go out under their own name, null where the exchange recorded none: the wire requires the fields. */
const PLAIN = [
  'router',
  'finish_reason',
  'native_finish_reason',
  'latency',
  'generation_time',
  'moderation_latency',
  'service_tier',
  'native_service_tier',
  'session_id',
  'upstream_id',
  'request_id',
  'api_type',
  'user_agent',
  'preset_id',
  'workspace_id',
  'app_id',
  'app_title',
  'cache_discount',
  'response_cache_source_id',
  'native_tokens_completion_images',
  'num_media_prompt',
  'num_media_completion',
  'num_input_audio_prompt',
  'credit_output_cap',
  'num_search_results',
  'num_fetches',
  'web_search_engine',
] as const

/**
 * The `data` object of the reply. Costs are USD, `latency` and `generation_time` milliseconds.
 * `usage` and `total_cost` are the charge; `upstream_inference_cost` is it without the tools.
 * A generation that is still open has status `open`, has cost nothing yet, and knows no token counts.
 * @param causes true: with the causes of failed connections, for the operator.
 */
export function generationView(record: GenerationRecord, { causes = false }: { causes?: boolean } = {}): JsonObject {
  const { hold, settled } = record
  const facts = parseFacts(settled)
  const isByok = facts.is_byok === true
  const cost = usd(chargedNano(settled?.cost ?? 0, facts))
  const view: JsonObject = {
    id: record.id,
    created_at: new Date(record.at).toISOString(),
    model: facts.model ?? hold.model,
    provider_name: facts.provider || null,
    endpoint: facts.endpoint || hold.endpoint,
    status: settled?.status ?? 'open',
    estimated: settled?.estimated ?? false,
    error: facts.fault ?? null,
    trace_id: facts.trace_id ?? null,
    charge_reason: chargeReason(settled, facts),
    usage: cost,
    total_cost: cost,
    price_unknown: facts.price_unknown ?? false,
    price_assumed: facts.price_assumed ?? [],
    unrecovered_nano: numberOr(facts.unrecovered_nano, 0),
    disputed_nano: numberOr(facts.disputed_nano, 0),
    upstream_inference_cost: usd(isByok ? numberOr(facts.byok_nano, 0) : (settled?.cost ?? 0) - numberOr(facts.tools_cost, 0)),
    tokens_prompt: settled?.input ?? null,
    tokens_completion: settled?.output ?? null,
    native_tokens_prompt: facts.native_tokens_prompt ?? settled?.input ?? null,
    native_tokens_completion: facts.native_tokens_completion ?? settled?.output ?? null,
    native_tokens_reasoning: facts.native_tokens_reasoning ?? settled?.reasoning ?? null,
    native_tokens_cached: facts.native_tokens_cached ?? settled?.cached ?? null,
    streamed: facts.streamed ?? (settled ? false : null),
    cancelled: facts.cancelled ?? (settled ? settled.status === 'aborted' : null),
    is_byok: isByok,
    byok_id: facts.byok_id ?? null,
    external_user: facts.user ?? null,
    origin: facts.http_referer ?? '',
    http_referer: facts.http_referer ?? null,
    data_region: facts.data_region ?? 'global',
    provider_responses: (causes ? facts.provider_responses : withoutCauses(facts.provider_responses)) ?? onlyResponse(facts),
  }
  for (const name of PLAIN) view[name] = facts[name] ?? null
  view.native_finish_reason = facts.native_finish_reason ?? facts.finish_reason ?? null
  return view
}

/** The causes of failed connections are the operator's, who has them in the details of a generation. */
function withoutCauses(calls: Json | undefined): Json | undefined {
  if (!Array.isArray(calls)) return calls
  return asObjects(calls).map(({ cause: _, ...call }) => call)
}

/** One call that answered at once is not listed in the facts. */
function onlyResponse(facts: JsonObject): Json {
  if (typeof facts.provider !== 'string' || facts.provider === '') return null
  return [{ provider_name: facts.provider, status: 200, latency: numberOr(facts.latency, 0) }]
}

/** Nano-dollars that the gateway charges: without the bill of a provider to a team that counts towards its limit. */
export function chargedNano(cost: number, facts: JsonObject): number {
  return Math.max(0, cost - numberOr(facts.byok_counted_nano, 0))
}

function numberOr(value: Json | undefined, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise
}

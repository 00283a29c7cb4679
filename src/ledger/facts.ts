/** The JSON text of a settlement: what `GET /v1/generation` and the export show beside the columns. */
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import type { SettleRow } from './types.ts'

/** One upstream call of an exchange, in order. */
export interface ProviderResponse extends JsonObject {
  provider_name: string
  /** The provider's own HTTP status; null where none came. */
  status: number | null
  /** Of a connection that failed: one word for why; for the operator alone. */
  cause?: string | undefined
  /** Milliseconds: to the first content, or to the failure. */
  latency: number
  /** Milliseconds from the admission to the call. */
  at?: number
  /** Milliseconds to the end of the answer; absent where there was none. */
  took?: number | undefined
  /** Of a tool loop, from 2 on. */
  turn?: number | undefined
  /** With a key that a team has brought. */
  is_byok?: boolean | undefined
}

/** Inputs of the plan of a request. A field is absent where the request had none. */
export interface PlanInputs extends JsonObject {
  /** The slug as the caller sent it; absent where it is that of the hold. */
  requested?: string | undefined
  models?: string[] | undefined
  /** The routing preferences of the request, as JSON text. */
  provider?: string | undefined
  route?: string | undefined
  /** Names of parameters. */
  parameters?: string[] | undefined
  /** Of the body. */
  bytes?: number
  /** The caller's own cap on output tokens. */
  cap?: number | undefined
  /** Kinds of input beside text. */
  media?: string[] | undefined
  tools?: boolean | undefined
}

/** Written by the account layer. Absent means what the columns say, else null on the wire. Times are milliseconds. */
export interface Facts extends JsonObject {
  /** Public slug that served; the hold's model where absent. */
  model?: string | undefined
  /** Provider's display name. */
  provider?: string | undefined
  endpoint?: string | undefined
  /** Slug of the alias or router model that the caller named, if any. */
  router?: string | undefined
  user?: string | undefined
  session_id?: string | undefined
  finish_reason?: string | undefined
  native_finish_reason?: string | undefined
  /** To the first content, and from there to the end. */
  latency?: number
  generation_time?: number
  moderation_latency?: number | undefined
  streamed?: boolean | undefined
  /** `<ended by>/<progress>/<basis>` of the charge, see `ledger/settlement.ts`; absent for a complete reply that reported its usage. */
  charge_reason?: string | undefined
  cancelled?: boolean
  /** Code of the fault that ended it; absent where it ended well. */
  fault?: string | undefined
  /** Of a request that was traced. */
  trace_id?: string | undefined
  /** `unknown` where the provider's word is not known; `native_service_tier` then has it. */
  service_tier?: string | undefined
  native_service_tier?: string | undefined
  /** Parts of the charge that had no price of their own, so that the endpoint's dearest was taken: `service_tier`, `cache_write`. */
  price_assumed?: string[] | undefined
  /** Token counts as the provider named them, where they differ from the normalised ones. */
  native_tokens_prompt?: number
  native_tokens_completion?: number
  native_tokens_reasoning?: number
  native_tokens_cached?: number
  native_tokens_completion_images?: number
  /** `chat`, `responses`, `passage`: the operation of the request; the last one is the pass-through. */
  operation?: string
  /** Output cap in tokens that ended the answer, where the credit that was left had lowered it. */
  credit_output_cap?: number | undefined
  /** True where the endpoint that served has no known price: the charge then is that of tools alone, and not what it has cost. */
  price_unknown?: boolean | undefined
  /** True where a key that a team has brought paid a provider. */
  is_byok?: boolean | undefined
  /** Nano-dollars of the provider's bill to the team, by the prices of the configuration. */
  byok_nano?: number | undefined
  /** The part of it that counts towards the limit of the key, and is part of the cost of the row for that reason. */
  byok_counted_nano?: number | undefined
  /** Id of the entry. */
  byok_id?: string | undefined
  /** USD that the provider's cache has saved, less what writing to it cost beside. */
  cache_discount?: number | undefined
  /** Nano-dollars of the tools that ran; the rest of the charge is the providers'. */
  tools_cost?: number | undefined
  /** Nano-dollars of usage that passed the hold and that no allowance could pay; not part of the charge. */
  unrecovered_nano?: number
  /** Nano-dollars of reported usage that is not possible; not part of the charge. */
  disputed_nano?: number | undefined
  provider_responses?: ProviderResponse[] | undefined
  /** Milliseconds from the admission to the first call of a provider; absent below one. */
  sent_at?: number | undefined
  /** Why the first endpoint came first, as `why.by` of a plan; absent where there was no choice. */
  why?: string | undefined
  /** USD per million tokens of what the columns count, see `ledger/bill-lines.ts`; absent where `detail` has the lines. */
  rates?: string | undefined
  /** `Detail` as JSON text; absent of a plain request. */
  detail?: string | undefined
  /** Inputs by which the same request can be planned again: `PlanInputs` as JSON text. */
  inputs?: string
  /** Application attribution of the caller. */
  app_title?: string | undefined
  http_referer?: string | undefined
  user_agent?: string
  /** The provider's own id of the generation. */
  upstream_id?: string | undefined
  api_type?: 'completions' | 'embeddings' | 'rerank' | 'image' | undefined
  num_search_results?: number | undefined
  num_fetches?: number | undefined
  web_search_engine?: string | undefined
}

/** Facts that only some requests have. Names are those of tools, models, guardrails and plugins; no text of a request or an answer. */
export interface Detail extends JsonObject {
  /** Charges for calls of models, each turn rounded by itself: `parts` are `WrittenPart`s of `ledger/bill-lines.ts`. */
  bill?: JsonObject[]
  /** Nano-dollars of what was held, part by part; absent where it was held at once. */
  holds?: number[]
  /** Nano-dollars of tools and plugins. */
  charges?: JsonObject[]
  /** Tools, models that they called, engines of guardrails, plugins: milliseconds since the admission; `within` is a place in this list. */
  steps?: JsonObject[]
  guardrails?: JsonObject[]
  plugins?: JsonObject[]
}

/** The detail in the facts of a settlement; empty where there is none. */
export function parseDetail({ detail }: JsonObject): JsonObject {
  if (typeof detail !== 'string') return {}
  const parsed = JSON.parse(detail) as Json
  return isObject(parsed) ? parsed : {}
}

/** The facts of a settlement; empty where there is none, or where a crash wrote none. */
export function parseFacts(settled: SettleRow | undefined): JsonObject {
  if (!settled || settled.facts === '') return {}
  const parsed = JSON.parse(settled.facts) as Json
  return isObject(parsed) ? parsed : {}
}

/** Reason of a charge whose facts name none: the reply was complete and reported its usage. */
export const USUAL_REASON = 'model/usage_known/reported'

/** `<ended by>/<progress>/<basis>`; null while it is open, and where none was recorded. @param facts of the same settlement. */
export function chargeReason(settled: SettleRow | undefined, { charge_reason, operation }: JsonObject): string | null {
  if (!settled) return null
  if (typeof charge_reason === 'string') return charge_reason
  if (settled.status === 'unknown') return 'crash/sent/estimated'
  const usual = (settled.status === 'completed' || settled.status === 'incomplete') && !settled.estimated && operation !== 'passage'
  return usual ? USUAL_REASON : null
}

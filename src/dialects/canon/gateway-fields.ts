/**
 * The fields that only the gateway reads: the same in every client dialect,
 * taken out by one shared function and never sent to a provider.
 */
import type { JsonObject } from '../../core/json.ts'
import type { CriterionPreferences } from '../../routing/criteria/index.ts'

export type Percentiles = { p50?: number | undefined; p75?: number; p90?: number; p99?: number }
export type SortKey = 'price' | 'throughput' | 'latency' | 'exacto'

/** Contract section 5.1: the fields of the routing criteria, and those of the order. The schema has checked the shapes before anything reads them. */
export interface ProviderPreferences extends CriterionPreferences {
  sort?: SortKey | { by?: SortKey | null; partition?: 'model' | 'none' | null } | null | undefined
  preferred_max_latency?: number | Percentiles | null | undefined
  preferred_min_throughput?: number | Percentiles | null | undefined
}

export interface PluginEntry extends JsonObject {
  id: string
  enabled?: boolean
}

export type StopCondition =
  | { type: 'step_count_is'; step_count: number }
  | { type: 'has_tool_call'; tool_name: string }
  | { type: 'max_tokens_used'; max_tokens: number }
  | { type: 'max_cost'; max_cost_in_dollars: number }
  | { type: 'finish_reason_is'; reason: string }

export interface GatewayFields {
  model?: string | undefined
  /** The slug as the caller sent it, where `model` is what a preset made of it. */
  requested?: string | undefined
  /** Routing preferences of the preset that the request names. */
  presetProvider?: ProviderPreferences | undefined
  models: string[]
  provider?: ProviderPreferences | undefined
  route?: 'fallback' | 'sort' | null | undefined
  plugins: PluginEntry[]
  sessionId?: string | undefined
  trace?: JsonObject | undefined
  echoUpstreamBody: boolean
  stopWhen?: StopCondition[] | undefined
  maxToolCalls?: number | undefined
  /** As the caller wrote it: `auto`, `default`, `flex`, `priority`, `fast` and others. */
  serviceTier?: string | undefined
}

/** Body keys that never reach a provider. */
export const GATEWAY_KEYS: ReadonlySet<string> = new Set([
  'models',
  'provider',
  'route',
  'plugins',
  'session_id',
  'trace',
  'debug',
  'stop_server_tools_when',
  'max_tool_calls',
  'preset',
  'transforms',
])

/**
 * Reads the gateway's fields from a body that its dialect's schema has accepted.
 * @param session the header `x-session-id`, or an agent's own name of the conversation; the body's `session_id` wins.
 */
export function gatewayFields(body: JsonObject, session: string | undefined): GatewayFields {
  const debug = body.debug as { echo_upstream_body?: boolean } | undefined
  return {
    model: body.model as string | undefined,
    models: (body.models as string[] | null | undefined) ?? [],
    provider: (body.provider as ProviderPreferences | null | undefined) ?? undefined,
    route: body.route as GatewayFields['route'],
    plugins: (body.plugins as PluginEntry[] | null | undefined) ?? [],
    sessionId: (body.session_id as string | null | undefined) ?? session,
    trace: (body.trace as JsonObject | null | undefined) ?? undefined,
    echoUpstreamBody: debug?.echo_upstream_body === true && body.stream === true,
    stopWhen: (body.stop_server_tools_when as StopCondition[] | null | undefined) ?? undefined,
    maxToolCalls: (body.max_tool_calls as number | null | undefined) ?? undefined,
    serviceTier: typeof body.service_tier === 'string' ? body.service_tier : undefined,
  }
}

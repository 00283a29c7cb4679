/** Replies of the API as its description has them, and of the admin listener as its routes declare them. Made by `npm run generate` (scripts/web-types.ts). */
// biome-ignore-all format: it is generated

/** A word of a set that grows: a gateway of another version may send one that is not listed here, and no page may take it for a listed one. */
export type Word<Listed extends string> = Listed | (string & {})

/** The words of a set that this version lists. */
export type Listed<W> = W extends string ? (string extends W ? never : W) : never

export type StatusReply = {
readonly data: {
readonly version: string
readonly started_at: string
readonly uptime_seconds: number
readonly at: string
readonly workers: number
readonly workers_answering: number
readonly state: Word<'ready' | 'degraded' | 'draining'>
readonly reasons: readonly (string)[]
readonly notes: readonly (string)[]
readonly window_seconds: number
readonly requests: {
readonly count: number
readonly per_second: number
readonly errors: number
readonly errors_per_second: number
readonly error_rate: number
readonly by_status: Readonly<Record<string, number>>
}
readonly latency_ms: {
readonly p50: number | null
readonly p90: number | null
readonly p99: number | null
}
readonly time_to_first_token_ms: {
readonly p50: number | null
readonly p90: number | null
readonly p99: number | null
}
readonly spend: {
readonly last_minute: number
readonly this_hour: number
}
readonly tokens: {
readonly prompt_per_second: number
readonly completion_per_second: number
}
readonly open: {
readonly requests: number
readonly streams: number
}
readonly overload: {
readonly bodies_waiting: number
readonly expected_wait_ms: number
readonly refused: number
readonly saturated: boolean
}
readonly memory_bytes: number
readonly history: readonly ({
readonly at: string
readonly requests: number
readonly errors: number
readonly cost: number
readonly refused: number
})[]
readonly providers: readonly ({
readonly slug: string
readonly name: string
readonly count: number
readonly requests_per_second: number
readonly errors: number
readonly latency_ms: {
readonly p50: number | null
readonly p90: number | null
readonly p99: number | null
}
readonly time_to_first_token_ms: {
readonly p50: number | null
readonly p90: number | null
readonly p99: number | null
}
readonly health: Word<'ok' | 'degraded' | 'resting' | 'ejected'>
readonly used: boolean
readonly endpoint_count: number
readonly ejected: number
readonly resting: number
readonly endpoints: readonly ({
readonly id: string
readonly model: string
readonly tag: string
readonly health: Word<'ok' | 'degraded' | 'poor' | 'outage' | 'resting' | 'ejected'>
readonly used: boolean
readonly problem: string | null
readonly cause: string | null
readonly ejected_for_ms: number
readonly rests_for_ms: number
readonly uptime_last_30m: number | null
readonly latency_ms: {
readonly p50: number
readonly p75: number
readonly p90: number
readonly p99: number
} | null
readonly throughput: {
readonly p50: number
readonly p75: number
readonly p90: number
readonly p99: number
} | null
})[]
})[]
}
}

export type KeysReply = {
readonly data: readonly (Key)[]
readonly total_count: number
readonly next: string | null
readonly totals?: {
readonly keys: number
readonly in_use: number
readonly limit_reached: number
readonly limit_near: number
readonly usage_daily: number
readonly usage_weekly: number
readonly usage_monthly: number
}
}

export type OneKeyReply = {
readonly data: Key
}

export type MadeKeyReply = {
readonly data: Key
readonly key: string
}

export type KeyBudgetReply = {
readonly data: {
readonly hash: string
readonly name: string
readonly limit: number | null
readonly limit_reset: Word<'daily' | 'weekly' | 'monthly'> | null
readonly window: {
readonly start: string | null
readonly end: string | null
}
readonly used: number
readonly held: number
readonly remaining: number | null
readonly days: readonly ({
readonly date: string
readonly usage: number
readonly requests: number
})[]
readonly forecast: {
readonly per_day: number
readonly basis_days: number
readonly used_at_end: number | null
readonly runs_out_at: string | null
}
}
}

export type BudgetsReply = {
readonly data: readonly ({
readonly name: string
readonly kind: Word<'budget' | 'organization' | 'workspace' | 'member'>
readonly level_id: string | null
readonly is_defined: boolean
readonly parent: string | null
readonly children: readonly (string)[]
readonly remaining: number
readonly windows: readonly ({
readonly window: Word<'daily' | 'weekly' | 'monthly' | 'lifetime'>
readonly limit_usd: number
readonly used: number
readonly remaining: number
readonly resets_at: string | null
})[]
readonly held: number
readonly key_count: number
readonly keys: readonly ({
readonly hash: string
readonly name: string
})[]
})[]
}

export type OrganizationsReply = {
readonly data: readonly ({
readonly id: string
readonly name: string
readonly slug: string
readonly description: string | null
readonly disabled: boolean
readonly rate_limits: {
readonly requests: number | null
readonly tokens: number | null
readonly streams: number | null
}
readonly include_byok_in_budgets: boolean
readonly created_at: string
readonly updated_at: string | null
readonly created_by: string | null
readonly member_count?: number
readonly workspace_count?: number
readonly key_count?: number
})[]
readonly total_count: number
}

export type OneOrganizationReply = {
readonly data: {
readonly id: string
readonly name: string
readonly slug: string
readonly description: string | null
readonly disabled: boolean
readonly rate_limits: {
readonly requests: number | null
readonly tokens: number | null
readonly streams: number | null
}
readonly include_byok_in_budgets: boolean
readonly created_at: string
readonly updated_at: string | null
readonly created_by: string | null
readonly member_count?: number
readonly workspace_count?: number
readonly key_count?: number
}
}

export type WorkspacesReply = {
readonly data: readonly ({
readonly id: string
readonly name: string
readonly slug: string
readonly description: string | null
readonly disabled: boolean
readonly rate_limits: {
readonly requests: number | null
readonly tokens: number | null
readonly streams: number | null
}
readonly include_byok_in_budgets: boolean
readonly created_at: string
readonly updated_at: string | null
readonly created_by: string | null
readonly member_count?: number
readonly workspace_count?: number
readonly key_count?: number
readonly organization_id: string
readonly default_guardrail_id: string
readonly default_text_model: string | null
readonly default_provider_sort: Word<'price' | 'throughput' | 'latency' | 'exacto' | 'least_busy'> | null
readonly default_image_model: null
readonly is_observability_io_logging_enabled: false
readonly is_observability_broadcast_enabled: false
readonly is_data_discount_logging_enabled: false
readonly io_logging_sampling_rate: 1
readonly io_logging_api_key_ids: null
})[]
readonly total_count: number
}

export type OneWorkspaceReply = {
readonly data: {
readonly id: string
readonly name: string
readonly slug: string
readonly description: string | null
readonly disabled: boolean
readonly rate_limits: {
readonly requests: number | null
readonly tokens: number | null
readonly streams: number | null
}
readonly include_byok_in_budgets: boolean
readonly created_at: string
readonly updated_at: string | null
readonly created_by: string | null
readonly member_count?: number
readonly workspace_count?: number
readonly key_count?: number
readonly organization_id: string
readonly default_guardrail_id: string
readonly default_text_model: string | null
readonly default_provider_sort: Word<'price' | 'throughput' | 'latency' | 'exacto' | 'least_busy'> | null
readonly default_image_model: null
readonly is_observability_io_logging_enabled: false
readonly is_observability_broadcast_enabled: false
readonly is_data_discount_logging_enabled: false
readonly io_logging_sampling_rate: 1
readonly io_logging_api_key_ids: null
}
}

export type MembersReply = {
readonly data: readonly ({
readonly id: string
readonly user_id: string
readonly name: string
readonly role: Word<'admin' | 'member' | 'viewer' | 'billing' | 'owner'>
readonly is_service_account: boolean
readonly workspace_id: string | null
readonly organization_id: string | null
readonly description: string | null
readonly disabled: boolean
readonly rate_limits: {
readonly requests: number | null
readonly tokens: number | null
readonly streams: number | null
}
readonly include_byok_in_budgets: boolean
readonly created_at: string
readonly updated_at: string | null
readonly created_by: string | null
})[]
readonly total_count: number
}

export type OneMemberReply = {
readonly data: {
readonly id: string
readonly user_id: string
readonly name: string
readonly role: Word<'admin' | 'member' | 'viewer' | 'billing' | 'owner'>
readonly is_service_account: boolean
readonly workspace_id: string | null
readonly organization_id: string | null
readonly description: string | null
readonly disabled: boolean
readonly rate_limits: {
readonly requests: number | null
readonly tokens: number | null
readonly streams: number | null
}
readonly include_byok_in_budgets: boolean
readonly created_at: string
readonly updated_at: string | null
readonly created_by: string | null
}
}

export type ActivityReply = {
readonly data: readonly ({
readonly date: string
readonly model: string
readonly endpoint_id: string
readonly provider_name: string
readonly usage: number
readonly requests: number
readonly prompt_tokens: number
readonly completion_tokens: number
readonly reasoning_tokens: number
readonly cache_discount: number
})[]
}

export type GenerationsReply = {
readonly data: readonly ({
readonly id: string
readonly created_at: string
readonly model: string
readonly provider_name: string | null
readonly endpoint: string
readonly api_key_hash: string
readonly api_key_name: string | null
readonly status: Word<'completed' | 'incomplete' | 'failed' | 'aborted' | 'unknown' | 'open'>
readonly error: string | null
readonly usage: number
readonly tokens_prompt: number | null
readonly tokens_completion: number | null
readonly latency: number | null
readonly generation_time: number | null
readonly streamed: boolean | null
readonly session_id: string | null
readonly attempts: number
})[]
readonly next: string | null
readonly scanned_until: string
}

export type GenerationReply = {
readonly data: {
readonly id: string
readonly created_at: string
readonly model: string
readonly provider_name: string | null
readonly endpoint: string
readonly api_key_hash: string
readonly api_key_name: string | null
readonly status: Word<'completed' | 'incomplete' | 'failed' | 'aborted' | 'unknown' | 'open'>
readonly error: string | null
readonly usage: number
readonly tokens_prompt: number | null
readonly tokens_completion: number | null
readonly latency: number | null
readonly generation_time: number | null
readonly streamed: boolean | null
readonly session_id: string | null
readonly trace_id: string | null
readonly charge_reason: string | null
readonly router: string | null
readonly finish_reason: string | null
readonly native_finish_reason: string | null
readonly service_tier: string | null
readonly native_service_tier: string | null
readonly api_type: string | null
readonly user_agent: string | null
readonly app_title: string | null
readonly origin: string | null
readonly external_user: string | null
readonly preset_id: string | null
readonly data_region: string | null
readonly upstream_id: string | null
readonly response_cache_source_id: string | null
readonly web_search_engine: string | null
readonly cache_discount: number | null
readonly num_search_results: number | null
readonly num_fetches: number | null
readonly credit_output_cap: number | null
readonly estimated: boolean
readonly price_unknown: boolean
readonly unrecovered_nano: number
readonly disputed_nano: number
readonly attempts: readonly ({
readonly position: number
readonly provider_name: string | null
readonly endpoint: string | null
readonly status: number | null
readonly error: string | null
readonly cause: string | null
readonly latency: number | null
readonly at_ms: number | null
readonly time_to_first_token: number | null
readonly duration_ms: number | null
readonly turn: number
readonly dropped: readonly (string)[]
readonly reason: Word<'first' | 'previous_failed' | 'next_turn' | 'without_reasoning'>
readonly choice: Word<'only_one' | 'order' | 'session' | 'tier' | 'weight' | 'draw' | 'quality' | 'price' | 'throughput' | 'latency' | 'exacto' | 'least_busy'> | null
})[]
readonly steps: readonly ({
readonly position: number
readonly kind: Word<'tool' | 'model' | 'guardrail' | 'plugin'>
readonly name: string
readonly at_ms: number | null
readonly duration_ms: number | null
readonly error: string | null
readonly within: number | null
readonly tokens: {
readonly prompt: number
readonly completion: number
} | null
readonly usd: number | null
readonly attempts: readonly ({
readonly provider_name?: string
readonly status?: number | null
readonly latency?: number
readonly error: string | null
readonly cause: string | null
})[]
})[]
readonly guardrails: readonly ({
readonly guardrail: string
readonly rule: string
readonly action: Word<'flagged' | 'redacted' | 'blocked' | 'unchecked'>
readonly direction: Word<'input' | 'output'>
readonly count: number
readonly kinds: readonly (string)[]
})[]
readonly plugins: readonly ({
readonly name: string
readonly figures: Readonly<Record<string, number | boolean>>
readonly failure?: string
readonly usd: number
})[]
readonly timeline: readonly ({
readonly kind: Word<'admitted' | 'layers' | 'moderation' | 'attempt' | 'first_content' | 'settled' | 'tool' | 'model' | 'guardrail' | 'plugin'>
readonly at_ms: number | null
readonly duration_ms?: number | null
readonly position?: number | null
readonly name?: string | null
readonly error?: string | null
})[]
readonly tokens: {
readonly prompt: number
readonly completion: number
readonly reasoning: number
readonly cached: number
readonly cache_write: number
} | null
readonly money: readonly ({
readonly item: string
readonly name: string | null
readonly model: string | null
readonly endpoint: string | null
readonly units: number | null
readonly unit_price: string | null
readonly nano: number
readonly usd: number
})[]
readonly reservation: {
readonly held: readonly ({
readonly nano: number
readonly usd: number
})[]
readonly in_force: {
readonly nano: number
readonly usd: number
}
readonly charged: {
readonly nano: number
readonly usd: number
}
readonly released: {
readonly nano: number
readonly usd: number
}
readonly beyond_hold: {
readonly nano: number
readonly usd: number
}
}
readonly held: number
}
}

export type ReplayReply = {
readonly data: {
readonly id: string
readonly approximate: readonly (string)[]
readonly happened: {
readonly model: string
readonly provider_name: string | null
readonly endpoint: string
readonly status: Word<'completed' | 'incomplete' | 'failed' | 'aborted' | 'unknown' | 'open'>
readonly usage: number
}
readonly plan: {
readonly object: 'plan'
readonly format: string
readonly requested: string
readonly strategy: string
readonly models: readonly (string)[]
readonly inputs?: number
readonly key: string
readonly candidates: readonly ({
readonly position: number
readonly provider: string
readonly model: string
readonly endpoint: string
readonly price: Readonly<Record<string, string>> | null
readonly why: {
readonly by: Word<'only_one' | 'order' | 'session' | 'tier' | 'weight' | 'draw' | 'quality' | 'price' | 'throughput' | 'latency' | 'exacto' | 'least_busy'>
readonly share?: number
readonly value?: number | null
readonly health: Word<'ok' | 'recent_outage' | 'resting' | 'ejected'>
}
readonly dropped?: readonly (string)[]
readonly refused?: {
readonly code: number
readonly message: string
}
readonly calls?: {
readonly count: number
readonly at_once: number
readonly inputs: number
}
})[]
readonly excluded: readonly ({
readonly provider: string
readonly model: string
readonly endpoint: string
readonly filter: string
readonly detail?: string
})[]
readonly hold: {
readonly usd: string
readonly input_tokens_bound: number
readonly output_cap: number
readonly left_usd: string | null
}
readonly plugins: readonly (string)[]
readonly guardrails: readonly (string)[]
readonly policies: readonly ({
readonly name: string
readonly effect: string
readonly outcome: string
})[]
} | null
readonly refused: {
readonly status: number
readonly message: string
} | null
readonly differences: readonly ({
readonly what: Word<'model' | 'endpoint' | 'outcome'>
readonly was: string | null
readonly would_be: string | null
})[]
}
}

export type ModelsReply = {
readonly object: 'list'
readonly data: readonly (Model)[]
readonly total_count: number
readonly links: {
readonly next: string | null
}
}

export type EndpointsReply = {
readonly data: {
readonly id: string
readonly name: string
readonly description: string
readonly created: number
readonly architecture: {
readonly modality: string | null
readonly input_modalities: readonly (string)[]
readonly output_modalities: readonly (string)[]
readonly tokenizer: string
readonly instruct_type: string | null
}
readonly endpoints: readonly (Endpoint)[]
}
}

export type ProvidersReply = {
readonly data: readonly ({
readonly name: string
readonly slug: string
readonly privacy_policy_url: string | null
readonly terms_of_service_url: string | null
readonly status_page_url: string | null
readonly headquarters: string | null
readonly datacenters: readonly (string)[] | null
})[]
}

export type GuardrailsReply = {
readonly data: readonly (Guardrail)[]
readonly total_count: number
}

export type AssignmentsReply = {
readonly data: readonly ({
readonly id: string
readonly guardrail_id: string
readonly key_hash: string
readonly key_name: string
readonly key_label: string
readonly assigned_by: string | null
readonly created_at: string
})[]
readonly total_count: number
}

export type WorkspaceAssignmentsReply = {
readonly data: readonly ({
readonly id: string
readonly guardrail_id: string
readonly workspace_id: string
readonly assigned_by: string | null
readonly created_at: string
})[]
readonly total_count: number
}

export type OrganizationAssignmentsReply = {
readonly data: readonly ({
readonly id: string
readonly guardrail_id: string
readonly organization_id: string
readonly assigned_by: string | null
readonly created_at: string
})[]
readonly total_count: number
}

export type GuardrailTestReply = {
readonly data: {
readonly verdict: Word<'pass' | 'flag' | 'redact' | 'block'>
readonly text: string | null
readonly findings: readonly ({
readonly guardrail_id: string
readonly guardrail: string
readonly scope: Word<'account' | 'api-key'>
readonly action: Word<'flag' | 'redact' | 'block'>
readonly entity: string
readonly label: string | null
readonly matches: readonly (string)[]
})[]
readonly guardrails: readonly ({
readonly id: string
readonly name: string
readonly scope: Word<'account' | 'api-key'>
})[]
readonly not_called: readonly ({
readonly id: string
readonly name: string
})[]
}
}

export type ConfigurationReply = {
readonly data: {
readonly file: string
readonly files: readonly (string)[]
readonly entries: readonly ({
readonly line: number
readonly column: number
readonly path: string
readonly value: unknown
readonly secret: boolean
readonly file: string
})[]
readonly left_out: number
}
}

export type ConfigurationCheckReply = {
readonly data: {
readonly ok: boolean
readonly problems: readonly ({
readonly line: number
readonly column: number
readonly path: string
readonly message: string
})[]
readonly not_checked: readonly ({
readonly line: number
readonly column: number
readonly path: string
readonly what: string
})[]
readonly counts: {
readonly providers: number
readonly models: number
readonly keys: number
} | null
readonly needs_restart: readonly (string)[]
readonly difference: {
readonly added: number
readonly removed: number
readonly lines: readonly ({
readonly kind: Word<'same' | 'removed' | 'added' | 'folded'>
readonly was: number | null
readonly now: number | null
readonly text: string
readonly count: number
})[]
readonly left_out: number
} | null
readonly tests: readonly ({
readonly name: string
readonly passed: boolean
readonly differences: readonly (string)[]
})[]
readonly test_problems: readonly ({
readonly line: number
readonly column: number
readonly path: string
readonly message: string
})[]
readonly passed: number
readonly failed: number
}
}

export type RehearsalReply = {
readonly data: {
readonly ok: boolean
readonly problems: readonly ({
readonly line: number
readonly column: number
readonly path: string
readonly message: string
})[]
readonly not_checked: readonly ({
readonly line: number
readonly column: number
readonly path: string
readonly what: string
})[]
readonly approximate: readonly (string)[]
readonly requests: readonly ({
readonly id: string
readonly created_at: string
readonly api_key_name: string
readonly happened: {
readonly model: string | null
readonly provider_name: string | null
readonly endpoint: string | null
readonly status: string | null
readonly usage: number | null
}
readonly today: {
readonly model: string | null
readonly provider_name: string | null
readonly endpoint: string | null
readonly price: Readonly<Record<string, string>> | null
readonly cost: number | null
readonly refused: {
readonly status: number
readonly type: string | null
readonly message: string
} | null
} | null
readonly planned: {
readonly model: string | null
readonly provider_name: string | null
readonly endpoint: string | null
readonly price: Readonly<Record<string, string>> | null
readonly cost: number | null
readonly refused: {
readonly status: number
readonly type: string | null
readonly message: string
} | null
}
readonly differences: readonly ({
readonly what: Word<'model' | 'endpoint' | 'price' | 'refused' | 'served'>
readonly was: string | null
readonly would_be: string | null
})[]
})[]
readonly summary: {
readonly requests: number
readonly differ: number
readonly by: {
readonly model: number
readonly endpoint: number
readonly price: number
readonly refused: number
readonly served: number
}
readonly changes: readonly ({
readonly what: Word<'model' | 'endpoint' | 'price' | 'refused' | 'served'>
readonly was: string | null
readonly would_be: string | null
readonly count: number
})[]
readonly cost: {
readonly happened: number
readonly today: number
readonly planned: number
readonly requests: number
}
} | null
readonly left_out: {
readonly no_inputs: number
readonly key_gone: number
readonly no_time: number
}
readonly scanned_until: string
}
}

export type RefusalsReply = {
readonly data: readonly ({
readonly api_key_hash: string | null
readonly api_key_name: string | null
readonly minute: string
readonly reason: Word<'bad_request' | 'context_length' | 'missing_key' | 'invalid_key' | 'no_credit' | 'forbidden' | 'management_only' | 'guardrail_blocked' | 'not_found' | 'model_not_found' | 'no_endpoints' | 'method_not_allowed' | 'client_timeout' | 'deadline' | 'conflict' | 'too_large' | 'uri_too_long' | 'media_type' | 'unprocessable' | 'upgrade_required' | 'rate_limited' | 'headers_too_large' | 'internal' | 'unavailable' | 'exhausted' | 'upstream_rejected' | 'upstream_context' | 'upstream_policy' | 'upstream_conflict' | 'upstream_unprocessable' | 'upstream_too_large' | 'upstream_unfit' | 'upstream_item_missing' | 'upstream_auth' | 'upstream_rights' | 'upstream_credit' | 'upstream_account' | 'upstream_quota' | 'upstream_region' | 'upstream_missing' | 'upstream_limited' | 'upstream_error' | 'upstream_connect' | 'upstream_dns' | 'upstream_tls' | 'upstream_proxy' | 'upstream_cut' | 'upstream_garbled' | 'upstream_empty' | 'upstream_silent' | 'credential_unavailable' | 'credential_refused' | 'upstream_overlong' | 'upstream_oversized' | 'upstream_overloaded' | 'key_disabled' | 'key_expired' | 'key_rotated' | 'token_malformed' | 'token_too_long' | 'token_type' | 'token_algorithm' | 'token_issuer' | 'token_unknown_key' | 'token_signature' | 'token_audience' | 'token_expired' | 'token_early' | 'token_old' | 'token_claim' | 'token_inactive'>
readonly status: number
readonly error_type: string
readonly count: number
readonly last_at: string
readonly limits: readonly ({
readonly scope: string | null
readonly kind: string | null
readonly per: string | null
readonly count: number
})[]
readonly latest: readonly ({
readonly generation_id: string | null
readonly at: string
readonly operation: string
readonly model: string | null
readonly field: string | null
readonly message: string
readonly limit: {
readonly scope: string | null
readonly kind: string | null
readonly per: string | null
} | null
})[]
})[]
readonly next: string | null
}

export type AuditEntriesReply = {
readonly data: readonly ({
readonly sequence: number
readonly at: string
readonly actor: {
readonly kind: Word<'management_key' | 'key' | 'member' | 'identity_provider' | 'admin_token' | 'command_line' | 'configuration' | 'gateway' | 'visitor'>
readonly id: string | null
readonly name: string | null
}
readonly address: string | null
readonly action: Word<'key.created' | 'key.changed' | 'key.rotated' | 'key.deleted' | 'sign_in_code.created' | 'session.opened' | 'session.refused' | 'session.ended' | 'guardrail.created' | 'guardrail.changed' | 'guardrail.deleted' | 'guardrail.assigned' | 'guardrail.unassigned' | 'ledger.entry_added' | 'compaction_key.created' | 'compaction_key.rewritten' | 'compaction_key.deleted' | 'byok_key.created' | 'byok_key.changed' | 'byok_key.rotated' | 'byok_key.rewrapped' | 'byok_key.deleted' | 'organization.created' | 'organization.changed' | 'organization.deleted' | 'workspace.created' | 'workspace.changed' | 'workspace.deleted' | 'member.created' | 'member.changed' | 'member.deleted' | 'event.redelivered' | 'event_receiver.disabled' | 'event_receiver.enabled' | 'configuration.loaded' | 'configuration.reloaded' | 'configuration.refused' | 'audit_log.pruned'>
readonly subject: string
readonly before: Readonly<Record<string, unknown>> | null
readonly after: Readonly<Record<string, unknown>> | null
readonly reason: string | null
readonly previous: string
readonly hash: string
})[]
readonly next_cursor: string | null
}

export type EventsReply = {
readonly data: readonly (Event)[]
readonly next_cursor: string | null
}

export type EventReceiversReply = {
readonly data: readonly ({
readonly name: string
readonly disabled_at: string | null
readonly pending: number
readonly dead: number
})[]
}

export type LedgerEntriesReply = {
readonly data: readonly (LedgerEntry)[]
readonly next_cursor: string | null
}

export type LedgerEntryReply = {
readonly data: LedgerEntry
}

export type SlicesReply = {
readonly data: readonly ({
readonly api_key_hash?: string
readonly api_key_name?: string | null
readonly model?: string | null
readonly provider_name?: string | null
readonly status?: string | null
readonly error?: string | null
readonly external_user?: string | null
readonly app_title?: string | null
readonly parent?: string | null
readonly creator_user_id?: string | null
readonly usage: number
readonly requests: number
readonly failed_requests: number
readonly prompt_tokens: number
readonly completion_tokens: number
readonly cached_tokens: number
readonly latency_ms: {
readonly p50: number
readonly p95: number
readonly p99: number
} | null
readonly time_to_first_token_ms: {
readonly p50: number
readonly p95: number
readonly p99: number
} | null
readonly first_at: string | null
readonly last_at: string | null
})[]
readonly total: {
readonly usage: number
readonly requests: number
readonly failed_requests: number
readonly prompt_tokens: number
readonly completion_tokens: number
readonly cached_tokens: number
readonly latency_ms: {
readonly p50: number
readonly p95: number
readonly p99: number
} | null
readonly time_to_first_token_ms: {
readonly p50: number
readonly p95: number
readonly p99: number
} | null
readonly first_at: string | null
readonly last_at: string | null
}
readonly groups: number
readonly points: readonly ({
readonly at: string
readonly usage: number
readonly requests: number
readonly failed_requests: number
readonly prompt_tokens: number
readonly completion_tokens: number
readonly cached_tokens: number
readonly latency_ms: {
readonly p50: number
readonly p95: number
readonly p99: number
} | null
readonly time_to_first_token_ms: {
readonly p50: number
readonly p95: number
readonly p99: number
} | null
readonly first_at: string | null
readonly last_at: string | null
})[]
readonly since: string
readonly until: string
readonly read_since: string
readonly is_complete: boolean
readonly is_full: boolean
}

export type ExtremesReply = {
readonly data: readonly ({
readonly id: string
readonly created_at: string
readonly model: string
readonly provider_name: string | null
readonly endpoint: string
readonly api_key_hash: string
readonly api_key_name: string | null
readonly status: Word<'completed' | 'incomplete' | 'failed' | 'aborted' | 'unknown' | 'open'>
readonly error: string | null
readonly usage: number
readonly tokens_prompt: number | null
readonly tokens_completion: number | null
readonly latency: number | null
readonly generation_time: number | null
readonly streamed: boolean | null
readonly session_id: string | null
readonly attempts: number
})[]
readonly since: string
readonly until: string
readonly read_since: string
readonly is_complete: boolean
readonly is_full: boolean
}

export type KeyAccessReply = {
readonly data: {
readonly hash: string
readonly name: string
readonly refused_because: readonly (Word<'disabled' | 'expired' | 'manages' | 'limit_spent'>)[]
readonly role: Word<'member' | 'viewer' | 'billing' | 'admin' | 'owner'> | null
readonly role_text: string
readonly is_management_key: boolean
readonly expires_at: string | null
readonly models: readonly ({
readonly id: string
readonly providers: readonly (string)[]
})[]
readonly model_count: number
readonly allowed_models: readonly (string)[] | null
readonly provider: Readonly<Record<string, unknown>> | null
readonly limits: readonly ({
readonly level: Word<'key' | 'issuer' | 'budget' | 'guardrail'>
readonly name: string
readonly limit: number
readonly window: Word<'daily' | 'weekly' | 'monthly' | 'lifetime'>
readonly used: number
readonly held: number
readonly remaining: number
readonly resets_at: string | null
})[]
readonly rates: readonly ({
readonly from: Word<'key' | 'issuer'>
readonly requests: number | null
readonly tokens: number | null
readonly streams: number | null
readonly bytes: number | null
})[]
readonly guardrails: readonly ({
readonly id: string
readonly name: string
readonly scope: string
})[]
readonly pass_through: boolean
readonly provider_ids: readonly (string)[]
readonly default_max_output: number | null
}
}

export type SessionReply = {
readonly brand: string
readonly sign_in: {
readonly issuers: readonly ({
readonly name: string
readonly label: string
})[]
readonly refusals: Readonly<Record<string, string>>
}
readonly data: {
readonly name: string
readonly role: Word<'operator' | 'manager' | 'person'>
readonly key_role: Word<'member' | 'viewer' | 'billing' | 'admin' | 'owner'>
readonly actions: readonly (string)[]
readonly expires_at: string
readonly version: string
readonly api_url: string | null
} | null
}

export type FindingsReply = {
readonly data: readonly ({
readonly at: string
readonly generation: string
readonly key: string
readonly key_name: string | null
readonly guardrail_id: string
readonly guardrail: string
readonly direction: Word<'input' | 'output'>
readonly stage: string
readonly action: Word<'flagged' | 'redacted' | 'blocked' | 'unchecked'>
readonly entities: readonly (string)[]
readonly engines: readonly (string)[]
readonly count: number
readonly hashes: readonly (string)[]
readonly texts?: readonly (string)[]
})[]
readonly next: {
readonly at: number
readonly id: string
} | null
}

export type ExportRunsReply = {
readonly exports: readonly (string)[]
readonly run: {
readonly export: string
readonly since: string
readonly until: string
readonly rows: number
readonly batches: number
readonly state: Word<'running' | 'done' | 'failed'>
readonly problem: string | null
} | null
}

export type VerdictReply = {
readonly ok: boolean
readonly generations: number
readonly open: number
readonly charged: number | string
readonly providers: number | string
readonly fees: number | string
readonly carried: number | string
readonly entries?: {
readonly unrecovered: number | string
readonly disputed: number | string
readonly correction: number | string
readonly refund: number | string
readonly write_off: number | string
readonly open: number | string
}
readonly problems: readonly (string)[]
readonly before?: {
readonly generations: number
readonly charged: number | string
readonly providers: number | string
readonly fees: number | string
readonly checked_at: string
readonly until: string
}
readonly checked_at: string
}

export type ProgressReply = {
readonly running: {
readonly full: boolean
readonly checked_at: string
readonly generations: number
readonly of: number | null
} | null
}

export type RecoveryReply = {
readonly count: number
readonly charged: number
readonly oldest: string | null
readonly newest: string | null
readonly keys: readonly ({
readonly key: string
readonly count: number
readonly charged: number
})[]
readonly generations: readonly (string)[]
}

export type RebuiltReply = {
readonly from: string
}

export type Key = {
readonly hash: string
readonly name: string
readonly label: string
readonly disabled: boolean
readonly limit: number | null
readonly limit_remaining: number | null
readonly limit_reset: Word<'daily' | 'weekly' | 'monthly'> | null
readonly usage: number
readonly usage_daily: number
readonly usage_weekly: number
readonly usage_monthly: number
readonly unrecovered: number
readonly unrecovered_open: number
readonly disputed: number
readonly disputed_open: number
readonly created_at: string
readonly updated_at: string | null
readonly expires_at: string | null
readonly creator_user_id: string | null
readonly workspace_id: string | null
readonly member_id: string | null
readonly role: Word<'member' | 'viewer' | 'billing' | 'admin' | 'owner'> | null
readonly organization_id: string | null
readonly reach: Word<'own' | 'workspace' | 'organization' | 'gateway'>
readonly scopes: readonly (Word<'keys:read' | 'keys:write' | 'spending:read' | 'spending:write' | 'requests:read' | 'guardrails:read' | 'guardrails:write' | 'byok:read' | 'byok:write' | 'organization:read' | 'organization:write' | 'events:read' | 'events:write' | 'audit:read' | 'configuration:read'>)[] | null
readonly is_management_key: boolean
readonly source: Word<'configuration' | 'store'>
readonly forecast?: {
readonly per_day: number
readonly basis_days: number
readonly used_at_end: number | null
readonly runs_out_at: string | null
} | null
readonly provider_ids: readonly (string)[]
readonly allowed_models: readonly (string)[] | null
readonly provider: Readonly<Record<string, unknown>> | null
readonly limits: {
readonly requests: number | null
readonly tokens: number | null
readonly streams: number | null
readonly bytes: number | null
}
readonly default_max_output: number | null
readonly pass_through: boolean
readonly error_code: string | null
readonly capture_content: boolean
readonly tags: Readonly<Record<string, string>>
readonly parent: string | null
readonly last_used_at: string | null
readonly rotated_at: string | null
readonly previous_secret_expires_at: string | null
readonly parent_hash: string | null
}

export type Model = {
readonly id: string
readonly object: 'model'
readonly owned_by: string
readonly canonical_slug: string
readonly name: string
readonly created: number
readonly description: string
readonly context_length: number | null
readonly architecture: {
readonly modality: string | null
readonly input_modalities: readonly (string)[]
readonly output_modalities: readonly (string)[]
readonly tokenizer: string
readonly instruct_type: string | null
}
readonly pricing: {
readonly prompt: string
readonly completion: string
readonly request?: string
readonly image?: string
readonly input_cache_read?: string
readonly input_cache_write?: string
readonly overrides?: readonly (Readonly<Record<string, unknown>>)[]
}
readonly top_provider: {
readonly context_length: number | null
readonly max_completion_tokens: number | null
readonly is_moderated: boolean
}
readonly per_request_limits: Readonly<Record<string, unknown>> | null
readonly supported_parameters: readonly (string)[]
readonly default_parameters: Readonly<Record<string, unknown>> | null
readonly supported_voices: readonly (string)[] | null
readonly links: {
readonly details: string
}
readonly alias_target?: {
readonly slug: string
readonly name: string
}
}

export type Endpoint = {
readonly name: string
readonly model_id: string
readonly model_name: string
readonly provider_name: string
readonly tag: string
readonly context_length: number
readonly max_completion_tokens: number | null
readonly max_prompt_tokens: number | null
readonly pricing: {
readonly prompt: string
readonly completion: string
readonly request?: string
readonly image?: string
readonly input_cache_read?: string
readonly input_cache_write?: string
readonly overrides?: readonly (Readonly<Record<string, unknown>>)[]
}
readonly quantization: string
readonly status: number
readonly supported_parameters: readonly (string)[]
readonly supports_implicit_caching: boolean
readonly uptime_last_5m: number | null
readonly uptime_last_30m: number | null
readonly uptime_last_1d: number | null
readonly latency_last_30m: {
readonly p50: number
readonly p75: number
readonly p90: number
readonly p99: number
} | null
readonly throughput_last_30m: {
readonly p50: number
readonly p75: number
readonly p90: number
readonly p99: number
} | null
}

export type Guardrail = {
readonly id: string
readonly name: string
readonly description: string | null
readonly limit_usd: number | null
readonly reset_interval: Word<'daily' | 'weekly' | 'monthly'> | null
readonly include_byok_in_budgets: boolean
readonly allowed_models: readonly (string)[] | null
readonly ignored_models: readonly (string)[] | null
readonly allowed_providers: readonly (string)[] | null
readonly ignored_providers: readonly (string)[] | null
readonly enforce_zdr: boolean | null
readonly enforce_zdr_anthropic: boolean | null
readonly enforce_zdr_openai: boolean | null
readonly enforce_zdr_google: boolean | null
readonly enforce_zdr_xai: boolean | null
readonly enforce_zdr_other: boolean | null
readonly enable_free_model_publication: boolean | null
readonly enable_free_model_training: boolean | null
readonly enable_paid_model_training: boolean | null
readonly content_filters: readonly ({
readonly pattern: string
readonly action: Word<'flag' | 'redact' | 'block'>
readonly label?: string | null
})[] | null
readonly content_filter_builtins: readonly ({
readonly slug: Word<'email' | 'phone' | 'ssn' | 'credit-card' | 'ip-address' | 'person-name' | 'address' | 'iban' | 'api-key' | 'regex-prompt-injection'>
readonly action: Word<'flag' | 'redact' | 'block'>
readonly label: string
readonly scan_scope?: Word<'user_only' | 'all_messages'>
})[] | null
readonly phrases?: readonly (string)[]
readonly allowed_phrases?: readonly (string)[]
readonly action?: Word<'flag' | 'redact' | 'block'>
readonly direction?: Word<'input' | 'output' | 'both'>
readonly restore?: boolean
readonly max_price?: Readonly<Record<string, unknown>>
readonly require_parameters?: boolean
readonly audit?: Word<'hashes' | 'full'>
readonly engine?: {
readonly type: string
readonly on_error: Word<'closed' | 'open'>
}
readonly workspace_id: string
readonly created_at: string
readonly updated_at: string | null
readonly scope: Word<'account' | 'api-key'>
readonly source: Word<'configuration' | 'store'>
}

export type Event = {
readonly specversion: '1.0'
readonly id: string
readonly source: string
readonly type: string
readonly time: string
readonly subject: string
readonly datacontenttype: 'application/json'
readonly data: Readonly<Record<string, unknown>>
readonly deliveries?: readonly ({
readonly event: string
readonly type: string
readonly receiver: string
readonly state: Word<'pending' | 'delivered' | 'dead'>
readonly attempts: number
readonly status: number | null
readonly problem: string | null
readonly next_attempt_at: string | null
readonly updated_at: string
})[]
}

export type LedgerEntry = {
readonly id: string
readonly created_at: string
readonly kind: Word<'unrecovered' | 'disputed' | 'correction' | 'refund' | 'write_off'>
readonly amount: number
readonly amount_nano: number
readonly api_key_hash: string
readonly api_key_name: string | null
readonly generation_id: string | null
readonly settles: string | null
readonly counted_at: string | null
readonly actor: string
readonly reason: string
readonly idempotency_key: string | null
}

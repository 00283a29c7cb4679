/** Replies of the API as its description has them. Made by `npm run generate` (scripts/web-types.ts). */
// biome-ignore-all format: it is generated

export type StatusReply = {
readonly data: {
readonly version: string
readonly started_at: string
readonly uptime_seconds: number
readonly at: string
readonly workers: number
readonly workers_answering: number
readonly state: 'ready' | 'degraded' | 'draining'
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
readonly health: 'ok' | 'degraded' | 'resting' | 'ejected'
readonly used: boolean
readonly endpoint_count: number
readonly ejected: number
readonly resting: number
readonly endpoints: readonly ({
readonly id: string
readonly model: string
readonly tag: string
readonly health: 'ok' | 'degraded' | 'poor' | 'outage' | 'resting' | 'ejected'
readonly used: boolean
readonly problem: string | null
readonly ejected_for_ms: number
readonly rests_for_ms: number
readonly uptime_last_30m: number | null
})[]
})[]
}
}

export type KeysReply = {
readonly data: readonly (Key)[]
}

export type KeyBudgetReply = {
readonly data: {
readonly hash: string
readonly name: string
readonly limit: number | null
readonly limit_reset: 'daily' | 'weekly' | 'monthly' | null
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

export type KeyActivityReply = {
readonly data: readonly ({
readonly date?: string
readonly model?: string
readonly provider_name?: string
readonly api_key_hash: string
readonly api_key_name: string | null
readonly usage: number
readonly requests: number
readonly failed_requests: number
readonly prompt_tokens: number
readonly completion_tokens: number
readonly reasoning_tokens: number
readonly cache_discount: number
})[]
readonly has_more: boolean
readonly next: string | null
readonly since: string
readonly until: string
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
readonly status: string
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

export type Key = {
readonly hash: string
readonly name: string
readonly label: string
readonly disabled: boolean
readonly limit: number | null
readonly limit_remaining: number | null
readonly limit_reset: string | null
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
readonly workspace_id: string
readonly provider_ids: readonly (string)[]
readonly parent_hash: string | null
}

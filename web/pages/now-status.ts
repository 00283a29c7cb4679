/** The reply of GET /v1/status. */

/** Milliseconds. */
export interface Percentiles {
  readonly p50: number | null
  readonly p90: number | null
  readonly p99: number | null
}

export interface EndpointStatus {
  readonly id: string
  readonly model: string
  readonly health: 'ok' | 'resting' | 'ejected'
  readonly ejected_for_ms: number
  readonly rests_for_ms: number
  readonly uptime_last_30m: number | null
}

export interface ProviderStatus {
  readonly slug: string
  readonly name: string
  readonly requests_per_second: number
  readonly count: number
  readonly errors: number
  readonly latency_ms: Percentiles
  readonly time_to_first_token_ms: Percentiles
  readonly health: 'ok' | 'degraded' | 'ejected' | 'unknown'
  readonly endpoints: readonly EndpointStatus[]
}

export interface Status {
  readonly at: string
  readonly uptime_seconds: number
  readonly workers: number
  readonly workers_answering: number
  readonly state: 'ready' | 'draining' | 'degraded'
  readonly reasons: readonly string[]
  readonly window_seconds: number
  readonly requests: {
    readonly per_second: number
    readonly count: number
    readonly errors: number
    readonly error_rate: number | null
  }
  readonly latency_ms: Percentiles
  readonly time_to_first_token_ms: Percentiles
  readonly spend: { readonly last_minute: number; readonly this_hour: number }
  readonly tokens: { readonly prompt_per_second: number; readonly completion_per_second: number }
  readonly open: { readonly requests: number; readonly streams: number }
  readonly overload: { readonly saturated: boolean }
  readonly memory_bytes: number
  readonly history: readonly { readonly at: string; readonly requests: number; readonly errors: number; readonly cost: number }[]
  readonly providers: readonly ProviderStatus[]
}

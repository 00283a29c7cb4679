/** Replies of GET /v1/generations and GET /v1/generations/{id}, as far as the page reads them. */

export type RequestStatus = 'completed' | 'incomplete' | 'failed' | 'aborted' | 'unknown' | 'open'

export interface RequestEntry {
  readonly id: string
  readonly created_at: string
  readonly model: string
  readonly provider_name: string | null
  readonly endpoint: string | null
  readonly api_key_hash: string
  readonly api_key_name: string | null
  readonly status: RequestStatus
  /** Code of the fault. */
  readonly error: string | null
  /** USD. */
  readonly usage: number
  readonly tokens_prompt: number | null
  readonly tokens_completion: number | null
  /** Milliseconds until the first content. */
  readonly latency: number | null
  /** Milliseconds of the whole. */
  readonly generation_time: number | null
  readonly streamed: boolean | null
  readonly session_id: string | null
  /** How many calls of providers. */
  readonly attempts: number
}

export interface SearchReply {
  readonly data: readonly RequestEntry[]
  readonly next: string | null
  /** What is newer has been looked at. */
  readonly scanned_until: string
}

export interface Attempt {
  readonly position: number
  readonly provider_name: string | null
  readonly endpoint: string | null
  readonly status: number | null
  readonly error: string | null
  /** Why its connection failed, in one word. */
  readonly cause?: string | null
  readonly latency: number | null
  readonly dropped: readonly string[]
  readonly reason: 'first' | 'previous_failed' | 'next_turn' | 'without_reasoning'
  /** Those below are missing in what earlier versions reply; times are milliseconds since the admission. */
  readonly choice?: string | null
  readonly at_ms?: number | null
  readonly time_to_first_token?: number | null
  readonly duration_ms?: number | null
  readonly turn?: number
}

/** A tool, a call that a tool made of a model, an engine of a guardrail, a plugin. */
export interface StepEntry {
  readonly position: number
  readonly kind: 'tool' | 'model' | 'guardrail' | 'plugin'
  readonly name: string
  readonly at_ms: number | null
  readonly duration_ms: number | null
  readonly error: string | null
  readonly within: number | null
  readonly tokens: { readonly prompt: number; readonly completion: number } | null
  readonly usd: number | null
  readonly attempts: readonly {
    readonly provider_name?: string
    readonly status?: number | null
    readonly latency?: number
    readonly error: string | null
    readonly cause?: string | null
  }[]
}

export interface GuardrailHit {
  readonly guardrail: string
  readonly rule: string
  readonly action: string
  readonly direction: 'input' | 'output'
  readonly count: number
  readonly kinds: readonly string[]
}

export interface PluginRun {
  readonly name: string
  readonly figures: Readonly<Record<string, number | boolean>>
  readonly failure?: string
  readonly usd: number
}

/** `units` and `unit_price` are null where the row keeps no quantities. */
export interface MoneyLine {
  readonly item: string
  readonly name?: string | null
  readonly model?: string | null
  readonly endpoint?: string | null
  readonly units?: number | null
  /** USD as a decimal text. */
  readonly unit_price?: string | null
  readonly nano?: number
  readonly usd: number
}

interface Sum {
  readonly nano: number
  readonly usd: number
}

export interface Reservation {
  readonly held: readonly Sum[]
  readonly in_force: Sum
  readonly released: Sum
  readonly beyond_hold: Sum
}

export interface TimelineEvent {
  readonly kind: 'admitted' | 'layers' | 'moderation' | 'attempt' | 'first_content' | 'settled' | StepEntry['kind']
  /** Milliseconds since the admission; null where unknown. */
  readonly at_ms: number | null
  readonly duration_ms?: number | null
  readonly position?: number | null
  readonly name?: string | null
  readonly error?: string | null
}

type Fact = string | number | boolean | null

export interface RequestDetail extends Omit<RequestEntry, 'attempts'> {
  readonly trace_id: string | null
  readonly router: string | null
  readonly charge_reason: string | null
  readonly estimated: boolean
  readonly price_unknown: boolean
  readonly cache_discount: number | null
  readonly num_search_results: number | null
  readonly num_fetches: number | null
  readonly web_search_engine: string | null
  readonly credit_output_cap: number | null
  readonly attempts: readonly Attempt[]
  readonly timeline: readonly TimelineEvent[]
  readonly tokens: Readonly<Record<'prompt' | 'completion' | 'reasoning' | 'cached' | 'cache_write', number>> | null
  readonly steps?: readonly StepEntry[]
  readonly guardrails?: readonly GuardrailHit[]
  readonly plugins?: readonly PluginRun[]
  readonly money: readonly MoneyLine[]
  readonly reservation?: Reservation
  /** USD. */
  readonly held: number
  readonly [more: string]: Fact | object | undefined
}

/** The reply of POST /v1/generations/{id}/plan. */
export interface Replayed {
  /** What the row does not keep. */
  readonly approximate: readonly string[]
  readonly plan: Plan | null
  readonly refused: { readonly status: number; readonly message: string } | null
  readonly differences: readonly { readonly what: string; readonly was: string | null; readonly would_be: string | null }[]
}

/** A plan as POST /v1/plan replies it, as far as the page reads it. */
export interface Plan {
  readonly requested: string
  readonly strategy: string
  readonly models: readonly string[]
  readonly key: string
  readonly candidates: readonly {
    readonly position: number
    readonly provider: string
    readonly model: string
    readonly endpoint: string
    readonly price: Readonly<Record<string, string>> | null
    readonly why: {
      readonly by: string
      readonly share?: number
      readonly value?: number | null
      readonly health: string
    }
    readonly dropped?: readonly string[]
    readonly refused?: unknown
  }[]
  readonly excluded: readonly {
    readonly provider: string
    readonly model: string
    readonly endpoint: string
    readonly filter: string
    readonly detail?: string
  }[]
  readonly hold: {
    readonly usd: string
    readonly output_cap: number
    readonly input_tokens_bound: number
    readonly left_usd: string | null
  }
  readonly plugins: readonly string[]
  readonly guardrails: readonly string[]
}

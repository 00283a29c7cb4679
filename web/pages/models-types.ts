/** Replies of GET /v1/models and GET /v1/models/{slug}/endpoints, as far as the page reads them. */

/** USD per token or unit, as decimal text; `-1`: unknown. */
export type Pricing = Readonly<Record<string, string | undefined>> & { readonly prompt: string; readonly completion: string }

export interface Model {
  readonly id: string
  readonly name: string
  readonly created: number
  readonly description: string
  readonly context_length: number | null
  readonly architecture: { readonly input_modalities: readonly string[]; readonly output_modalities: readonly string[] }
  readonly pricing: Pricing
  readonly top_provider: { readonly max_completion_tokens: number | null }
  readonly supported_parameters: readonly string[]
}

export interface Measured {
  readonly p50: number | null
  readonly p90: number | null
  readonly p99: number | null
}

export interface Endpoint {
  readonly provider_name: string
  readonly tag: string
  readonly context_length: number
  readonly max_completion_tokens: number | null
  readonly pricing: Pricing
  readonly quantization: string
  readonly status: number
  readonly supported_parameters: readonly string[]
  /** Percent. */
  readonly uptime_last_5m: number | null
  readonly uptime_last_30m: number | null
  readonly uptime_last_1d: number | null
  /** Milliseconds to the first token, and tokens per second. */
  readonly latency_last_30m: Measured | null
  readonly throughput_last_30m: Measured | null
}

export interface ModelEndpoints {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly endpoints: readonly Endpoint[]
}

/** USD per million tokens; undefined where the price is unknown. */
export function perMillion(price: string | undefined): number | undefined {
  const value = Number(price)
  return price === undefined || Number.isNaN(value) || value < 0 ? undefined : value * 1e6
}

export function priceText(price: string | undefined): string {
  const value = perMillion(price)
  if (value === undefined) return 'unknown'
  return value === 0 ? 'free' : `$${Number(value.toPrecision(6))}`
}

/** Rounded down: 99.99 is not 100. */
export const percentText = (percent: number | null | undefined): string => (percent == null ? '–' : `${Math.floor(percent * 100) / 100} %`)

export const partsOf = (slug: string): string[] => slug.split('/')

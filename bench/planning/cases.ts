/** Requests that planning is measured with, from one that asks nothing to one that asks everything. */
import type { ProviderPreferences } from '../../src/dialects/canon/request-fields.ts'

export interface PlanningCase {
  readonly name: string
  readonly provider: ProviderPreferences | undefined
  /** Names of the parameters that the request uses. */
  readonly used: ReadonlySet<string>
  readonly tools: boolean
}

const PLAIN: ReadonlySet<string> = new Set(['max_tokens', 'temperature'])
const WITH_TOOLS: ReadonlySet<string> = new Set([...PLAIN, 'tools', 'tool_choice', 'response_format'])

const plain = (name: string, provider?: ProviderPreferences): PlanningCase => ({ name, provider, used: PLAIN, tools: false })

export const CASES: readonly PlanningCase[] = [
  plain('no preferences'),
  { name: 'tools', provider: undefined, used: WITH_TOOLS, tools: true },
  plain('sort by throughput', { sort: 'throughput' }),
  plain('sort by latency over all models', { sort: { by: 'latency', partition: 'none' } }),
  plain('exacto', { sort: 'exacto' }),
  plain('a list of three providers', { order: ['provider-7', 'provider-2', 'provider-5'], ignore: ['provider-9'] }),
  plain('speed goals', { preferred_max_latency: { p50: 0.5, p90: 1.2 }, preferred_min_throughput: { p50: 60 } }),
  {
    name: 'everything',
    provider: {
      only: ['provider-1', 'provider-2', 'provider-3', 'provider-4', 'provider-5', 'provider-6', 'provider-7', 'provider-8'],
      ignore: ['provider-8'],
      sort: { by: 'throughput', partition: 'none' },
      quantizations: ['fp8', 'bf16', 'unknown'],
      preferred_max_latency: { p50: 0.5, p99: 2 },
      preferred_min_throughput: { p50: 60, p90: 40 },
      max_price: { prompt: '1.25', completion: 4 },
      require_parameters: true,
      data_collection: 'deny',
    },
    used: WITH_TOOLS,
    tools: true,
  },
]

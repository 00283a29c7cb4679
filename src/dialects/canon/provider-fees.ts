/** Reports of providers about their own tools, beside tokens: fees in USD, and calls that have a price each. */
import { isObject, type JsonObject } from '../../core/json.ts'
import { PAID_TOOLS, type PaidTool } from '../../core/price.ts'
import { count } from './counts.ts'
import type { Usage } from './usage.ts'

const NANO_PER_USD = 1e9
/** No report of more is believed: $1,000,000. */
const MOST = 1e15

const usdIn = (value: unknown): number => (typeof value === 'number' && value > 0 ? value : 0)

/** All that an answer costs beside its input and output (npm @perplexity-ai/perplexity_ai 0.38.5, generated/api.d.ts, `Cost`). */
const FEES = ['request_cost', 'search_queries_cost', 'citation_tokens_cost', 'reasoning_tokens_cost'] as const

/**
 * Perplexity states in USD what each part of an answer has cost: searches, citations and hidden reasoning have no other price.
 * @returns nano-dollars; undefined where nothing is stated.
 */
export function feesIn({ cost }: JsonObject): number | undefined {
  if (!isObject(cost) || typeof cost.total_cost !== 'number') return undefined
  const named = FEES.reduce((sum, name) => sum + usdIn(cost[name]), 0)
  const beside = usdIn(cost.total_cost) - usdIn(cost.input_tokens_cost) - usdIn(cost.output_tokens_cost)
  return Math.min(MOST, Math.round(Math.max(named, beside) * NANO_PER_USD))
}

/** Members that say nothing beside the fees: they count what the fees are for. */
const OF_FEES: ReadonlySet<string> = new Set(['num_search_queries', 'citation_tokens'])

/** Names that are left where fees are stated. */
export function beyondFees(unknown: readonly string[] | undefined): string[] | undefined {
  const left = unknown?.filter((name) => !OF_FEES.has(name))
  return left && left.length > 0 ? left : undefined
}

/** Other names of the counts, as xAI's page of prices and its other API have them. */
const ALSO: Readonly<Partial<Record<PaidTool, string>>> = {
  code_interpreter: 'code_execution_calls',
  file_search: 'collections_search_calls',
  document_search: 'attachment_search_calls',
}

/** xAI counts the calls of its tools by their kind in `usage` (docs.x.ai, "Tools overview": `server_side_tool_usage_details`). */
export function toolUseIn({ server_side_tool_usage_details: calls }: JsonObject): Pick<Usage, 'webSearches' | 'toolCalls'> | undefined {
  if (!isObject(calls)) return undefined
  const searches = count(calls.web_search_calls)
  const made = (tool: PaidTool): number => Math.max(count(calls[`${tool}_calls`]), count(calls[ALSO[tool] ?? '']))
  const toolCalls = Object.fromEntries(PAID_TOOLS.map((tool) => [tool, made(tool)]).filter(([, times]) => times !== 0))
  return { ...(searches > 0 ? { webSearches: searches } : {}), ...(Object.keys(toolCalls).length > 0 ? { toolCalls } : {}) }
}

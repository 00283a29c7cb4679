/**
 * Upper bound of the calls of its model that a provider may have made for one answer. Where it runs tools, each call of a tool is followed
 * by one more call of the model, with the whole context again, and it reports the sum.
 */
import { asObjects } from '../../core/json.ts'
import type { PaidTool } from '../../core/price.ts'
import { boundedCalls, MAX_RESPONSES_CALLS, RUN_BY_CALLERS } from '../../dialects/canon/outside-input.ts'
import type { Usage } from '../../dialects/canon/usage.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { Accepted, MaybeAimed, MaybePlanned } from '../exchange.ts'
import { inputModalities } from '../request/client-request.ts'

/**
 * Calls of tools in one answer where nothing bounds them: "The default limit is 10 iterations per request" (platform.claude.com, Stop reasons,
 * `pause_turn`). For the other wires but Responses no provider states a bound; the same is taken for them.
 */
const MAX_CALLS = 10
/** The Responses API has no bound of its own but `max_tool_calls`, which no other wire knows (types of openai 7.57.0). */
const MAX_CALLS_OF: Readonly<Record<string, number>> = { 'openai-responses': MAX_RESPONSES_CALLS }

/** Calls of the model for one answer of a wire whose provider runs tools, where nothing bounds them. */
export const maxRounds = (wire: string): number => 1 + (MAX_CALLS_OF[wire] ?? MAX_CALLS)

/** Several may be made in one round. A choice of ours: no provider states how many. */
export const MAX_PAID_CALLS = 1_000

/** Tools that are sent with at most so many calls of each where a limit applies (`outside-input.ts` of the dialects). */
const CAPPED = /^(?:web_search|web_fetch|file_search$|code_interpreter$|x_search$|image_generation$)/
const CAP = 10
/** Tools with `max_uses`, "Maximum number of times the tool can be used in the API request" (types of @anthropic-ai/sdk 1.12.0). */
const BOUNDED = /^(?:web_search|web_fetch|advisor)_/
/** Calls beyond its bound that a tool refuses (`max_uses_exceeded` of the same types): each is a round as well. How many is a choice of ours. */
const REFUSED_CALLS = 2

/** Calls of the model that one answer may have taken at most. */
export function maxProviderRounds(exchange: Accepted & MaybeAimed & MaybePlanned, endpoint: Endpoint, usage: Usage): number {
  const most = MAX_CALLS_OF[endpoint.provider.dialect] ?? MAX_CALLS
  const offered = offeredCalls(exchange, endpoint)
  // Without a tool a report of calls is all there is: one more round for each.
  return 1 + Math.min(most, offered > 0 ? offered + REFUSED_CALLS : searchesByItself(endpoint) ? most : claimedCalls(usage))
}

/** A tool that a provider takes a fee for, call by call. */
export type CalledTool = PaidTool | 'web_search'

/**
 * Calls of one tool that a report of one answer may have: more cannot be true. Under a limit each is held, or credit is kept free for it
 * (`tool-fees.ts`).
 */
export function maxPaidCalls(
  exchange: Accepted & MaybeAimed & MaybePlanned,
  endpoint: Endpoint,
  tool: CalledTool,
  isLimited: boolean,
): number {
  const most = MAX_CALLS_OF[endpoint.provider.dialect] ?? MAX_CALLS
  // Searches of the files of a request are run unasked: no tool offers them, and nothing that is sent bounds them.
  if (tool === 'document_search') return inputModalities(exchange)?.has('file') ? MAX_PAID_CALLS : most
  if (!isLimited) {
    const offered = offeredCalls(exchange, endpoint)
    return offered > 0 ? Math.min(offered, MAX_PAID_CALLS) : searchesByItself(endpoint) ? MAX_PAID_CALLS : most
  }
  const own =
    tool === 'web_search'
      ? exchange.request.need.searches
      : CAP * exchange.request.need.otherTools.filter(({ type }) => type === tool).length
  if (own === 0) return searchesByItself(endpoint) ? MAX_PAID_CALLS : most
  const together = callsTogether(exchange, endpoint) ?? own
  return Math.min(MAX_PAID_CALLS, (exchange.request.gateway.maxToolCalls ?? 0) > 0 ? together : Math.max(own, together))
}

/** Calls of all tools together that the provider is sent as a bound where a limit applies; undefined where it is sent none. */
export function callsTogether({ request }: Accepted, { provider }: Endpoint): number | undefined {
  if (MAX_CALLS_OF[provider.dialect] === undefined) return undefined
  const { maxToolCalls: most = 0 } = request.gateway
  return most > 0 ? most : boundedCalls(request.need.otherTools)
}

/** Calls of provider-run tools that the request allows; 0 where it offers none. */
function offeredCalls(exchange: Accepted & MaybeAimed & MaybePlanned, { provider }: Endpoint): number {
  const { body, gateway } = exchange.request
  const isLimited = exchange.plan?.outputCaps !== undefined
  let calls = 0
  if (exchange.demand) for (const { uses } of exchange.demand.advisors) calls += uses
  for (const { type, max_uses: most } of exchange.request.need.otherTools) {
    const name = String(type)
    if (RUN_BY_CALLERS.test(name)) continue
    const bounded = typeof most === 'number' && most > 0 && BOUNDED.test(name)
    calls += bounded ? most : isLimited && CAPPED.test(name) ? CAP : Number.POSITIVE_INFINITY
  }
  if (
    (body.mcp_servers !== undefined && asObjects(body.mcp_servers).length > 0) ||
    body.search_parameters !== undefined ||
    body.enable_search === true
  )
    calls = Number.POSITIVE_INFINITY
  if (calls === 0) calls = exchange.request.need.searches
  const { maxToolCalls: most = 0 } = gateway
  return most > 0 && MAX_CALLS_OF[provider.dialect] !== undefined ? Math.min(calls, most) : calls
}

/** A model that searches or runs tools for every request has a fee for each, or a number of them. */
const searchesByItself = ({ price }: Endpoint): boolean =>
  typeof price === 'object' && (price.request !== undefined || price.ownSearches !== undefined)

function claimedCalls({ webSearches = 0, toolCalls, others }: Usage): number {
  return Object.values(toolCalls ?? {}).reduce((sum, calls) => sum + calls, webSearches + (others?.length ?? 0))
}

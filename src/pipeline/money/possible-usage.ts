/**
 * Which usage a turn can have had at all. A report beyond that is nonsense: the turn is charged what was held for it, and the rest is
 * disputed with the provider instead of emptying the key (docs/decisions/0031).
 */
import { PAID_TOOLS } from '../../core/price.ts'
import { inputPartsWithin, noUsage, outputPartsWithin, type Usage } from '../../dialects/canon/usage.ts'
import { charge, type Extras, type Tariff } from '../../ledger/pricing.ts'
import { usageWithin } from '../../ledger/settlement.ts'
import type { Turn } from '../attempt/turn.ts'
import type { Accepted, MaybeAimed, MaybePlanned } from '../exchange.ts'
import { weighedBound } from '../request/client-request.ts'
import { type CalledTool, maxPaidCalls, maxProviderRounds } from './provider-rounds.ts'

/** Tokens of an endpoint whose context is not known: ten times the largest that is offered. */
const UNKNOWN_CONTEXT = 100_000_000
/** Templates, and tokenizers that differ from the one by which the context was declared. */
const CONTEXT_SHARE = 9 / 8
const CONTEXT_MARGIN = 4_096
/** Bytes become at most as many tokens; media are counted by an estimate, so four times of all is allowed. */
const BODY_SHARE = 4
/** Providers count the end of an answer by themselves, and predicted text that was rejected. */
const CAP_SHARE = 5 / 4
const CAP_MARGIN = 1_024
/**
 * Tokens of reasoning that some providers allow beside the cap that they were sent. The longest that is recommended are 81,920 (cards of Qwen3
 * at huggingface.co, "Best Practices": "we suggest setting the max output length to 81,920 tokens"); half as much again is a choice of ours.
 */
export const REASONING_ROOM = 131_072
const IMAGE_ROOM = 16_384
/** Nano-dollars of fees of one answer. A choice of ours: an answer of `sonar-deep-research` costs about a dollar (docs.perplexity.ai, Pricing). */
const MAX_FEES = 10_000_000_000
type Known = Accepted & MaybeAimed & MaybePlanned

interface Bounds {
  readonly input: number
  readonly output: number
  /** Calls of a tool that the provider takes a fee for. */
  readonly calls: (tool: CalledTool) => number
}

/** Bounds of the usage that the turn may have of the endpoint's own model, where the provider calls that once. */
function usageBounds(exchange: Known, turn: Turn): Bounds {
  const { endpoint, cap, images = 0 } = turn
  const context = Math.min(endpoint.context ?? UNKNOWN_CONTEXT, UNKNOWN_CONTEXT)
  const sent = exchange.request.need.textBound ?? weighedBound(exchange)
  if (exchange.request.client.embedding) return { input: Math.max(BODY_SHARE * sent, context), output: CAP_MARGIN, calls: () => 0 }
  const once = Math.max(context * CONTEXT_SHARE + CONTEXT_MARGIN, BODY_SHARE * sent)
  const mostOutput = Math.min(cap ?? Number.POSITIVE_INFINITY, endpoint.maxOutput ?? Number.POSITIVE_INFINITY, context)
  const written = mostOutput * CAP_SHARE + CAP_MARGIN + exchange.request.bytes + images * IMAGE_ROOM
  const thinks = endpoint.supported === undefined || endpoint.supported.has('reasoning')
  const thought = thinks ? Math.max(REASONING_ROOM, endpoint.maxOutput ?? 0) : 0
  const isLimited = exchange.plan?.outputCaps !== undefined
  const calls = (tool: CalledTool): number => maxPaidCalls(exchange, endpoint, tool, isLimited)
  return { input: once, output: written + thought, calls }
}

function isPossible(usage: Usage, bounds: Bounds): boolean {
  const { input, output, webSearches = 0, toolCalls, others, fees = 0 } = usage
  if (fees > MAX_FEES) return false
  if (input > bounds.input || output > bounds.output) return false
  if (webSearches > 0 && webSearches > bounds.calls('web_search')) return false
  if (toolCalls && PAID_TOOLS.some((tool) => (toolCalls[tool] ?? 0) > bounds.calls(tool))) return false
  return others === undefined || isPossible(othersSum(others), bounds)
}

function callsWithin(toolCalls: NonNullable<Usage['toolCalls']>, bounds: Bounds): Usage['toolCalls'] {
  return Object.fromEntries(PAID_TOOLS.map((tool) => [tool, Math.min(toolCalls[tool] ?? 0, bounds.calls(tool))]))
}

function othersSum(others: NonNullable<Usage['others']>): Usage {
  let [input, output] = [0, 0]
  for (const { usage } of others) {
    input += usage.input
    output += usage.output
  }
  return { ...noUsage(), input, output }
}

/** The same with no more than is possible. */
function possiblePart(usage: Usage, bounds: Bounds): Usage {
  // The hold bounds all of it: no estimate is added for a side that is not counted.
  const { webSearches, toolCalls, others: _, fees = 0, inputUnknown: __, outputUnknown: ___, ...rest } = usage
  const input = Math.min(usage.input, Math.floor(bounds.input))
  const output = Math.min(usage.output, Math.floor(bounds.output))
  return {
    ...rest,
    input,
    ...inputPartsWithin(usage, input),
    output,
    ...outputPartsWithin(usage, output),
    ...(webSearches ? { webSearches: Math.min(webSearches, bounds.calls('web_search')) } : {}),
    ...(toolCalls ? { toolCalls: callsWithin(toolCalls, bounds) } : {}),
    ...(fees > 0 && fees <= MAX_FEES ? { fees } : {}),
  }
}

/** The sides of which no more was reported than is possible: they are charged and shown as they are, where the hold pays for them. */
function possibleSides({ input, output, reasoning }: Usage, bounds: Bounds): Usage {
  const least = noUsage()
  if (input <= bounds.input) least.input = input
  if (output > bounds.output) return least
  return { ...least, output, reasoning: Math.min(reasoning, output) }
}

export interface Pricing {
  readonly tariff: Tariff
  readonly extras: Extras | undefined
  /** Nano-dollars that were held for the turn. */
  readonly held: number
}

/**
 * Replaces a report that is not possible, once: by what of it the hold pays for.
 * @param price reads it only where it is needed.
 */
export function believe(exchange: Known, turn: Turn, price: (exchange: Known, turn: Turn) => Pricing): void {
  const { usage } = turn
  if (!usage || turn.sent === false || usage.estimated) return
  const once = usageBounds(exchange, turn)
  if (isPossible(usage, once)) return
  // Vectors are made in several calls, which are one turn.
  const rounds = exchange.request.client.embedding ? 1 : maxProviderRounds(exchange, turn.endpoint, usage)
  const bounds = { input: rounds * once.input, output: rounds * once.output, calls: once.calls }
  if (rounds > 1 && isPossible(usage, bounds)) return
  const { tariff, extras, held } = price(exchange, turn)
  const cost = (of: Usage): number => charge(of, tariff, extras).total
  const within = (least: Usage): Usage => usageWithin(possiblePart(usage, bounds), { room: held, cost, least })
  const whole = within(possibleSides(usage, bounds))
  const part = cost(whole) > held ? within(noUsage()) : whole
  // Fees of tools alone may be more than was held.
  const believed: Usage = {
    ...part,
    webSearches: cost(part) > held ? undefined : part.webSearches,
    toolCalls: cost(part) > held ? undefined : part.toolCalls,
    fees: cost(part) > held ? undefined : part.fees,
    estimated: true,
  }
  turn.usage = believed
  turn.disputed = (turn.disputed ?? 0) + Math.max(0, cost(usage) - cost(believed))
}

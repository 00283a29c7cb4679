/** 9. The server-tool loop: the model calls, the gateway runs, the model goes on; one outgoing stream however many turns. */
import { badField, Fault } from '../../core/faults.ts'
import { isObject } from '../../core/json.ts'
import { estimatedUsage } from '../../ledger/settlement.ts'
import { estimateFromBytes } from '../../ledger/usage-estimate.ts'
import type { Resolved } from '../../plugin-api/index.ts'
import type { Exchange } from '../exchange.ts'
import { inputEstimate } from '../needs.ts'
import type { ChainParts, PluginSetting } from '../parts.ts'
import { holdFor } from '../plugins/hold.ts'
import type { At, Layer, Reply, Service } from '../reply.ts'
import { type Offer, offerTools } from '../server-tools.ts'
import { shouldStop } from '../stop-conditions.ts'
import { appendTurn, runCalls } from '../tool-turn.ts'

/** Contract section 6: default and maximum of `max_tool_calls`. */
const MOST_STEPS = 30

/** @param readAgain the guardrails' look at what plugins and tools have added, before every turn. */
export function converse(plugins: readonly PluginSetting[], parts: ChainParts, readAgain: Layer<At<Resolved>>): Layer<At<Resolved>> {
  return layerOf(plugins, parts, { readAgain, hold: (exchange, bound) => holdFor('tools', exchange, bound, parts) })
}

/** In a plan: what the tools may cost is told instead of held. */
export function converseForPlan(plugins: readonly PluginSetting[], parts: LoopParts, readAgain: Layer<At<Resolved>>): Layer<At<Resolved>> {
  const hold = async ({ books }: Exchange, bound: number): Promise<void> => {
    books.unheld += bound
  }
  return layerOf(plugins, parts, { readAgain, hold })
}

type LoopParts = Pick<ChainParts, 'tools' | 'host' | 'pluginTrouble'>

interface Ways {
  readAgain: Layer<At<Resolved>>
  hold: (exchange: Exchange, bound: number) => Promise<void>
}

function layerOf(plugins: readonly PluginSetting[], parts: LoopParts, { readAgain, hold }: Ways): Layer<At<Resolved>> {
  const settings = new Map(plugins.map(({ plugin, defaults }) => [plugin.id, defaults]))
  return (next) => {
    const turn = readAgain(next)
    return function conversed(exchange) {
      if (!asksForServerTools(exchange)) return turn(exchange)
      const offer = offerTools(exchange, parts.tools, (id) => settings.get(id) ?? {})
      if (offer.taps.length > 0) exchange.taps = [...(exchange.taps ?? []), ...offer.taps]
      if (offer.bound === 0) return loop(exchange, turn, offer, parts)
      return hold(exchange, offer.bound).then(() => loop(exchange, turn, offer, parts))
    }
  }
}

async function loop(exchange: Exchange, next: Service<Exchange>, offer: Offer, { host, pluginTrouble }: LoopParts): Promise<Reply> {
  const { stopWhen, maxToolCalls } = exchange.gateway
  if (maxToolCalls !== undefined && maxToolCalls < 0) throw badField('max_tool_calls', 'must not be negative')
  const budget = stopWhen ? Number.POSITIVE_INFINITY : Math.min(maxToolCalls ?? MOST_STEPS, MOST_STEPS)
  const failed = (tool: string, cause: unknown): void => pluginTrouble(exchange, { plugin: tool, trouble: 'error', skipped: true, cause })
  let steps = 0
  if (budget === 0) offer.withdraw()
  for (;;) {
    const reply = await next(exchange)
    const { path } = exchange
    if (reply.turn.aborted || reply.turn.fault || !path || path.calls.length === 0) return reply
    const { calls } = path
    const clientCalls = path.turn?.result.blocks.some((block) => block.kind === 'call' && block.call && !offer.has(block.call.name))
    const outputs = await runCalls(exchange, calls, { offer, host, left: budget - steps, failed })
    steps += calls.length
    // The deadline may have passed while the tools ran; a caller who has left reads nothing.
    if (exchange.cancel.reason instanceof Fault && exchange.cancel.reason.code === 'deadline') throw exchange.cancel.reason
    if (clientCalls || exchange.cancel.aborted) return reply
    // Now or never: the next turn has another input.
    reply.turn.usage ??= estimatedUsage(inputEstimate(exchange), estimateFromBytes(reply.turn.relayed))
    appendTurn(exchange, outputs)
    // The last word is the model's, without tools: what it called for has been run.
    if (steps >= budget || shouldStop(stopWhen, { exchange, steps, calls: outputs, reply })) offer.withdraw()
  }
}

/** A tool type with a word before a colon is the gateway's own; reading the body spares the canonical form where there is none. */
function asksForServerTools(exchange: Exchange): boolean {
  const { tools } = exchange.body
  const named = Array.isArray(tools) && tools.some((tool) => isObject(tool) && String(tool.type).includes(':'))
  return named || (exchange.edited && exchange.request().tools.some((tool) => tool.kind === 'server'))
}

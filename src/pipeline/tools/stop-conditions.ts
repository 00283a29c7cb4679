/** `stop_server_tools_when`: any one that fires ends the loop (contract section 6). */

import type { StopCondition } from '../../dialects/canon/gateway-fields.ts'
import { charge } from '../../ledger/pricing.ts'
import type { Turn } from '../attempt/turn.ts'
import type { Guarded } from '../exchange.ts'
import type { Reply } from '../layer.ts'
import { chargedExtras } from '../money/provider-fees.ts'
import { pricedEndpoint, tariffOf } from '../money/served-tier.ts'
import type { CallOutput } from './tool-turn.ts'

export interface LoopState {
  exchange: Guarded
  /** Server-tool calls so far. */
  steps: number
  calls: readonly CallOutput[]
  reply: Reply
}

export function shouldStop(conditions: readonly StopCondition[] | undefined, state: LoopState): boolean {
  return conditions?.some((condition) => fires(condition, state)) === true
}

function fires(condition: StopCondition, { exchange, steps, calls, reply }: LoopState): boolean {
  const {
    head: { books },
  } = exchange
  switch (condition.type) {
    case 'step_count_is':
      return steps >= condition.step_count
    case 'has_tool_call':
      return calls.some(({ tool }) => tool === condition.tool_name || `${exchange.head.brand}:${tool}` === condition.tool_name)
    case 'max_tokens_used':
      return books.turns.reduce((sum, { usage }) => sum + (usage ? usage.input + usage.output : 0), 0) >= condition.max_tokens
    case 'max_cost': {
      const costOf = (turn: Turn): number =>
        turn.usage
          ? charge(turn.usage, tariffOf(exchange, pricedEndpoint(turn)), turn.extras ?? chargedExtras(exchange, turn.endpoint)).total
          : 0
      const nano = books.turns.reduce((sum, turn) => sum + costOf(turn), books.toolCost)
      return nano >= condition.max_cost_in_dollars * 1e9
    }
    case 'finish_reason_is':
      return reply.turn.end?.reason === condition.reason
  }
}

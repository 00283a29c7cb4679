/** Counts the tokens of a request instead of answering it: at a provider that counts, else by our own estimate. Free of charge. */

import { entryAt } from '../core/entry-at.ts'
import { estimatedNeed } from '../dialects/canon/need.ts'
import { noUsage } from '../dialects/canon/usage.ts'
import { estimateTokens } from '../ledger/settlement.ts'
import type { Endpoint } from '../routing/catalog/types.ts'
import { answeredHere } from './attempt/turn.ts'
import type { ChainDependencies } from './dependencies.ts'
import type { Guarded } from './exchange.ts'
import type { Reply, Service } from './layer.ts'
import { countAt } from './provider-count.ts'

/** The last service of the counting chain: calls the endpoints that count in catalogue order, and estimates where none answers. */
export function countTokens(dependencies: ChainDependencies): Service<Guarded> {
  return async function handle(exchange) {
    for (const endpoint of exchange.route.endpoints) {
      const tokens = await countAt(exchange, endpoint, dependencies)
      if (tokens !== undefined) return countReply(exchange, endpoint, { tokens, estimated: false })
    }
    const { prompt } = estimatedNeed(exchange.request.canonical(), estimateTokens)
    return countReply(exchange, entryAt(exchange.route.endpoints, 0), { tokens: prompt, estimated: true })
  }
}

function countReply(exchange: Guarded, endpoint: Endpoint, count: { tokens: number; estimated: boolean }): Reply {
  exchange.run.final = {
    usage: noUsage(),
    cost: 0,
    inputCost: 0,
    outputCost: 0,
    end: { reason: 'stop' },
    completedAt: Math.floor(exchange.head.clock.now() / 1000),
  }
  const text = JSON.stringify(exchange.request.client.countBody?.(count) ?? {})
  return { turn: answeredHere(endpoint), finish: () => text }
}

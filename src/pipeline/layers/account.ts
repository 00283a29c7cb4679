/** 5. Opens the exchange's books and settles them once, whatever happened below: usage, price, ledger. */
import type { End } from '../../canon/events.ts'
import { addUsage, type Usage } from '../../canon/usage.ts'
import { asFault, type Fault } from '../../core/faults.ts'
import type { Final } from '../../dialects/types.ts'
import { charge, type Extras, tariffAt } from '../../ledger/pricing.ts'
import { type EarlierTurns, type Outcome, type OutcomeKind, type Settlement, settlementOf } from '../../ledger/settlement.ts'
import { estimateFromBytes } from '../../ledger/usage-estimate.ts'
import type { Read } from '../../plugin-api/exchange.ts'
import type { Exchange } from '../exchange.ts'
import { generationFacts } from '../generation-facts.ts'
import { metadataOnFault, routerMetadata } from '../metadata.ts'
import { imageCount, inputEstimate } from '../needs.ts'
import type { ChainParts } from '../parts.ts'
import type { At, Layer, Reply, Turn } from '../reply.ts'
import { settleTokens } from '../token-rate.ts'

export function account(parts: ChainParts): Layer<At<Read>> {
  return (next) =>
    async function accounted(exchange): Promise<Reply> {
      let reply: Reply | undefined
      let fault: Fault | undefined
      parts.retries.enter()
      try {
        reply = await next(exchange)
      } catch (thrown) {
        fault = asFault(thrown)
      } finally {
        parts.retries.leave()
      }
      const settlement = settlementOf(outcomeOf(exchange, reply?.turn, fault))
      settleTokens(exchange, settlement, parts.admission)
      exchange.final = finalOf(exchange, settlement, reply?.turn.fault ?? fault)
      await settle(exchange, settlement, parts)
      if (reply) return reply
      throw fault
    }
}

/** The hold becomes a charge in memory and one row in the journal, committed before the reply ends. */
function settle(exchange: Exchange, settlement: Settlement, parts: ChainParts): Promise<void> | undefined {
  const { books } = exchange
  const at = Math.floor(parts.clock.now())
  const excess = books.account?.settle(books.held, settlement.cost, at) ?? 0
  if (excess > 0) parts.overrun(exchange, excess)
  if (!books.open) return undefined
  const { usage } = settlement
  parts.journal.settle({
    seq: exchange.seq,
    status: settlement.status,
    cost: settlement.cost,
    at,
    input: usage.input,
    output: usage.output,
    cached: usage.cached,
    cacheWrite: usage.cacheWrite,
    reasoning: usage.reasoning,
    estimated: settlement.estimated,
    facts: generationFacts(exchange, settlement),
  })
  return parts.journal.committed()
}

function kindOf(turn: Turn | undefined, fault: Fault | undefined): OutcomeKind {
  if (!turn) return fault?.code === 'client_gone' ? 'aborted' : 'failed-before-content'
  if (turn.aborted) return 'aborted'
  if (turn.fault) return 'failed-after-content'
  return turn.end?.reason === 'length' || turn.end?.reason === 'content_filter' ? 'incomplete' : 'completed'
}

function outcomeOf(exchange: Exchange, last: Turn | undefined, fault: Fault | undefined): Outcome {
  const { books } = exchange
  const extras = exchange.mayHoldMedia ? { images: imageCount(exchange) } : undefined
  return {
    kind: kindOf(last, fault),
    reported: last?.usage,
    relayed: last && !last.usage ? estimateFromBytes(last.relayed) : 0,
    input: last && !last.usage ? inputEstimate(exchange) : 0,
    finish: statedReason(last?.end),
    streamed: exchange.stream,
    tools: books.toolCost,
    price: last ? tariffAt(last.endpoint, exchange.at) : 'free',
    extras: last?.extras ?? extras,
    earlier: earlierTurns(exchange, last, extras),
  }
}

/** What dialects take for an ordinary end counts as one only where the provider gave a reason (contract section 5.2, insurance). */
function statedReason(end: End | undefined): string | undefined {
  return end?.reason === 'error' || end?.raw?.trim() ? end.reason : undefined
}

/** Every turn sends the images again. */
function earlierTurns({ books, at }: Exchange, last: Turn | undefined, extras: Extras | undefined): EarlierTurns | undefined {
  let sum: EarlierTurns | undefined
  for (const turn of books.turns) {
    if (turn === last || !turn.usage) continue
    const part = charge(turn.usage, tariffAt(turn.endpoint, at), turn.extras ?? extras)
    const usage: Usage = sum ? addUsage(sum.usage, turn.usage) : turn.usage
    sum = { usage, input: (sum?.input ?? 0) + part.input, output: (sum?.output ?? 0) + part.output }
  }
  return sum
}

function finalOf(exchange: Exchange, settlement: Settlement, fault: Fault | undefined): Final {
  const { books } = exchange
  const last = exchange.lastTurn
  if (fault?.origin === 'upstream' && exchange.failureMetadata) fault.metadata = { ...fault.metadata, ...exchange.failureMetadata }
  const wantsMetadata = fault ? metadataOnFault(exchange, fault) : exchange.wantsMetadata
  return {
    usage: settlement.usage,
    cost: settlement.cost,
    inputCost: settlement.input,
    outputCost: settlement.output,
    end: fault ? { reason: 'error' } : endOf(last),
    fault,
    completedAt: Math.floor(exchange.clock.now() / 1000),
    metadata: wantsMetadata ? routerMetadata(exchange, fault !== undefined) : undefined,
    serverTools:
      books.toolsRequested > 0
        ? { requested: books.toolsRequested, executed: books.toolsExecuted, searches: books.toolSearches, fetches: books.toolFetches }
        : undefined,
  }
}

/** The tier is that of the endpoint which served, where its provider does not say (contract section 5.5). */
function endOf(last: Turn | undefined): End {
  const end: End = last?.end ?? { reason: 'stop' }
  const tier = last?.endpoint.tier
  return tier === undefined || end.tier !== undefined ? end : { ...end, tier }
}

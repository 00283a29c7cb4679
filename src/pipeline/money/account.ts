/** Settles the cost of the exchange once, whatever happened below: usage, price, ledger. */
import { asFault, type Fault } from '../../core/faults.ts'
import type { End } from '../../dialects/canon/events.ts'
import { addUsage, type Usage } from '../../dialects/canon/usage.ts'
import type { Final } from '../../dialects/types.ts'
import { charge } from '../../ledger/pricing.ts'
import {
  type Count,
  type EarlierTurns,
  enderOf,
  isReported,
  type Outcome,
  type Progress,
  type Settlement,
  settlementOf,
} from '../../ledger/settlement.ts'
import type { SettleStatus } from '../../ledger/types.ts'
import type { Turn } from '../attempt/turn.ts'
import type { ChainDependencies } from '../dependencies.ts'
import { type Accepted, type Exchange, knownOf } from '../exchange.ts'
import type { Layer, Reply } from '../layer.ts'
import { metadataOnFault, routerMetadata } from '../reply/metadata.ts'
import { settleTokens } from '../request/admit.ts'
import { generationFacts, type PricedTurn } from './generation-facts.ts'
import type { SettledHold } from './hold.ts'
import { chargedExtras, countOf, pricedEndpoint, tariffOf, turnEndedBy } from './turn-cost.ts'

type Known = Accepted & Exchange

export function accountLayer(dependencies: ChainDependencies): Layer<Accepted> {
  return (next) =>
    async function handle(exchange): Promise<Reply> {
      let reply: Reply | undefined
      let fault: Fault | undefined
      try {
        reply = await next(exchange)
      } catch (thrown) {
        fault = asFault(thrown)
      }
      const known = knownOf(exchange)
      const last = reply?.turn ?? exchange.run.unfinished
      const outcome = outcomeOf(known, last, fault)
      const settlement = settlementOf(outcome)
      settleTokens(exchange, settlement, dependencies.admission)
      exchange.run.final = finalOf(known, settlement, reply?.turn.fault ?? fault)
      await settle(known, { settlement, outcome, last }, dependencies)
      if (reply) return reply
      throw fault
    }
}

/** The hold becomes a charge in memory and one row in the journal, committed before the reply ends. */
function settle(exchange: Known, priced: PricedTurn, dependencies: ChainDependencies): Promise<void> | undefined {
  const {
    head: { costs },
  } = exchange
  const { settlement } = priced
  const at = Math.floor(dependencies.clock.now())
  const { usage } = settlement
  const written = costs.hold.open ? generationFacts(exchange, priced) : undefined
  const settling = costs.hold.settle(dependencies.journal, {
    seq: exchange.head.seq,
    status: settlement.status,
    cost: settlement.cost,
    at,
    input: usage.input,
    output: usage.output,
    cached: usage.cached,
    cacheWrite: usage.cacheWrite,
    reasoning: usage.reasoning,
    estimated: settlement.estimated,
    facts: written?.facts ?? '',
    owner: costs.hold.owner,
    use: written?.use,
  })
  const done = ({ excess, charged, unrecovered, committed }: SettledHold): Promise<void> | undefined => {
    if (excess > 0) dependencies.overrun(exchange, { excess, unrecovered })
    if (unrecovered > 0 && exchange.run.final) exchange.run.final = { ...exchange.run.final, cost: charged }
    return committed
  }
  return settling instanceof Promise ? settling.then(done) : done(settling)
}

function outcomeOf(exchange: Known, last: Turn | undefined, fault: Fault | undefined): Outcome {
  const {
    head: { costs },
  } = exchange
  // The call of a batch that was refused has brought nothing, whatever the others did.
  const others = last?.callRejected === true
  const begun = last?.begun === true && !others
  const endedBy = fault ? enderOf(fault, begun) : last ? turnEndedBy(exchange, last) : 'gateway'
  const rejected = endedBy === 'caller' && !begun && !others && (fault ?? last?.fault)?.origin === 'upstream'
  const progress = progressOf(last, rejected)
  const count: Count = last && progress !== 'not_sent' ? countOf(exchange, last, endedBy) : NOTHING_SENT
  return {
    endedBy,
    progress: isReported(count) && !count.reported.estimated ? 'usage_known' : progress,
    status: statusOf(last, fault),
    reported: count.reported,
    unreported: count.unreported,
    pictured: count.pictured,
    input: count.input,
    cut: count.cut,
    finish: statedReason(last?.end),
    tools: costs.toolCost,
    price: last ? tariffOf(exchange, pricedEndpoint(last)) : 'free',
    extras: last?.extras ?? chargedExtras(exchange, last?.endpoint),
    earlier: earlierTurns(exchange, last),
    // Where nothing was held there is no bound.
    held: costs.hold.amount > 0 ? costs.hold.amount : undefined,
  }
}

const NOTHING_SENT: Count = { reported: undefined, unreported: 0, input: 0 }

/** @param rejected the provider has refused the request as wrong, and did nothing for it. */
function progressOf(last: Turn | undefined, rejected: boolean): Progress {
  if (!last || last.sent === false || rejected) return 'not_sent'
  return last.begun ? 'content' : 'sent'
}

function statusOf(last: Turn | undefined, fault: Fault | undefined): SettleStatus {
  if (fault) return fault.code === 'client_gone' || fault.code === 'shutdown' ? 'aborted' : 'failed'
  if (!last || last.fault) return 'failed'
  if (last.aborted) return 'aborted'
  return last.end?.reason === 'length' || last.end?.reason === 'content_filter' ? 'incomplete' : 'completed'
}

/** What dialects take for an ordinary end counts as one only where the provider gave a reason (contract section 5.2, insurance). */
function statedReason(end: End | undefined): string | undefined {
  return end?.reason === 'error' || end?.raw?.trim() ? end.reason : undefined
}

/** Every turn sends the images again. */
function earlierTurns(exchange: Known, last: Turn | undefined): EarlierTurns | undefined {
  let sum: EarlierTurns | undefined
  for (const turn of exchange.head.costs.turns) {
    if (turn === last || !turn.usage) continue
    const part = charge(turn.usage, tariffOf(exchange, pricedEndpoint(turn)), turn.extras ?? chargedExtras(exchange, turn.endpoint))
    const usage: Usage = sum ? addUsage(sum.usage, turn.usage) : turn.usage
    sum = { usage, input: (sum?.input ?? 0) + part.input, output: (sum?.output ?? 0) + part.output }
  }
  return sum
}

function finalOf(exchange: Known, settlement: Settlement, fault: Fault | undefined): Final {
  const {
    head: { costs },
  } = exchange
  const last = exchange.run.lastTurn
  if (fault?.origin === 'upstream' && exchange.trail.errorMetadata) fault.metadata = { ...fault.metadata, ...exchange.trail.errorMetadata }
  const wantsMetadata = fault ? metadataOnFault(exchange, fault) : exchange.head.wantsMetadata
  return {
    usage: settlement.usage,
    cost: settlement.cost,
    inputCost: settlement.input,
    outputCost: settlement.output,
    end: fault ? { reason: 'error' } : endOf(last),
    fault,
    completedAt: Math.floor(exchange.head.clock.now() / 1000),
    metadata: wantsMetadata ? routerMetadata(exchange, fault !== undefined) : undefined,
    serverTools:
      costs.toolsRequested > 0
        ? { requested: costs.toolsRequested, executed: costs.toolsExecuted, searches: costs.toolSearches, fetches: costs.toolFetches }
        : undefined,
  }
}

/** The tier is that of the endpoint which served, where its provider does not say (contract section 5.5). */
function endOf(last: Turn | undefined): End {
  const end: End = last?.end ?? { reason: 'stop' }
  const tier = last?.endpoint.tier
  return tier === undefined || end.tier !== undefined ? end : { ...end, tier }
}

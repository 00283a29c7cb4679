/** Cost of a turn: its usage at the tariff of the endpoint that served it, with the fees of tools, images and searches. */
import { addUsage, type Usage } from '../../dialects/canon/usage.ts'
import { charge, type Extras, type Tariff } from '../../ledger/pricing.ts'
import type { EarlierTurns } from '../../ledger/settlement.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { Turn } from '../attempt/turn.ts'
import type { Accepted, Aimed, MaybeAimed } from '../exchange.ts'
import { imageCount } from '../request/client-request.ts'
import { advisorAt } from '../route/advisors.ts'
import { NO_PART } from './hold.ts'
import { exchangeTariff, turnTariff } from './tariffs.ts'
import { heldFees, IMAGES, toolFees } from './tool-fees.ts'

/** Charges beside the usage; undefined where there are none. @param endpoint the one that served. */
export function chargedExtras(exchange: Accepted & MaybeAimed, endpoint: Endpoint | undefined): Extras | undefined {
  if (exchange.request.need.isTokensAlone && !exchange.demand?.advisors.length) return undefined
  const fees = toolFees(exchange)
  const advised = endpoint && (exchange.demand?.advisors.length ?? 0) > 0
  if (!fees && !advised) return exchange.request.mayHoldMedia ? { images: imageCount(exchange) } : undefined
  return {
    images: imageCount(exchange),
    containers: fees?.containers,
    modelTariff: endpoint && ((model) => otherTariff(exchange, endpoint, model)),
  }
}

/** @param model as the usage names it. */
function otherTariff(exchange: Accepted & MaybeAimed, endpoint: Endpoint, model: string): Tariff | undefined {
  if (model === IMAGES) return typeof endpoint.price === 'object' ? endpoint.price.drawing : undefined
  const shared = advisorAt(exchange, endpoint.byok?.shared ?? endpoint, model)
  const advisor = shared && (endpoint.byok?.at(shared) ?? shared)
  return advisor && exchangeTariff(exchange, advisor)
}

/** The same for a hold, with all calls that the provider may run, of a request that may cause more than tokens. */
export function heldExtras(exchange: Aimed): Extras {
  const {
    demand: { advisors },
    request: {
      need: { searches: webSearches },
    },
  } = exchange
  const fees = toolFees(exchange)
  const advice = advisors.flatMap(({ uses, endpoints }) =>
    endpoints.slice(0, 1).map((endpoint) => ({ uses, tariff: exchangeTariff(exchange, endpoint) })),
  )
  const extras: Extras = { images: imageCount(exchange), webSearches, advice }
  if (!fees) return extras
  return { ...extras, ...heldFees(fees, exchange.request.body) }
}

/**
 * A turn is over: what it cost stays held, the rest is free for the next one.
 * @returns a promise only where the turn cost more than was held for it and credit has to be leased.
 */
export function concludeTurn(exchange: Accepted & MaybeAimed): Promise<void> | undefined {
  const {
    run: { lastTurn, turnHold },
    head: { costs },
  } = exchange
  if (turnHold === NO_PART) return undefined
  exchange.run.turnHold = NO_PART
  return costs.hold.conclude(turnHold, lastTurn?.usage ? priceTurn(exchange, lastTurn, lastTurn.usage) : 0)
}

function priceTurn(exchange: Accepted & MaybeAimed, turn: Turn, usage: Usage): number {
  return charge(usage, turnTariff(exchange, turn), turn.extras ?? chargedExtras(exchange, turn.endpoint)).total
}

/** Cost and usage of the turns before the last; undefined for most exchanges, which have none. Every turn sends the images again. */
export function earlierTurns(exchange: Accepted & MaybeAimed, last: Turn | undefined): EarlierTurns | undefined {
  let sum: EarlierTurns | undefined
  for (const turn of exchange.head.costs.turns) {
    if (turn === last || !turn.usage) continue
    const part = charge(turn.usage, turnTariff(exchange, turn), turn.extras ?? chargedExtras(exchange, turn.endpoint))
    const usage: Usage = sum ? addUsage(sum.usage, turn.usage) : turn.usage
    const disputed = (sum?.disputed ?? 0) + (turn.disputed ?? 0)
    sum = { usage, input: (sum?.input ?? 0) + part.input, output: (sum?.output ?? 0) + part.output, disputed }
  }
  return sum
}

/** The provider's bill for turns that keys of a team have paid for, at the prices of the configuration, and what of it counts towards limits. */
import { charge, type Extras } from '../../ledger/pricing.ts'
import type { Settlement } from '../../ledger/settlement.ts'
import type { Turn } from '../attempt/turn.ts'
import type { Accepted, MaybeAimed } from '../exchange.ts'
import type { ServedPrice } from './served-price.ts'
import { turnTariff, upstreamTariff } from './tariffs.ts'
import { chargedExtras } from './turn-cost.ts'

/** Nano-dollars. */
export interface ByokCost {
  readonly upstream: number
  /** The part of `upstream` that is among the cost of the row, since it counts towards the limit of the key. */
  readonly counted: number
  /** The provider's bill less the gateway's charge, by the side: what replies state beside the charge. */
  readonly moreInput: number
  readonly moreOutput: number
  /** Id of the entry of the last of these turns. */
  readonly entry: string
}

/** @returns undefined where no key of a team was used. @param last the last turn, with its price. */
export function byokCost(
  exchange: Accepted & MaybeAimed,
  { counted }: Settlement,
  { last, served }: { last: Turn | undefined; served: ServedPrice | undefined },
): ByokCost | undefined {
  let sum: ByokCost | undefined
  const add = (turn: Turn, usage: Turn['usage'], price?: ServedPrice): void => {
    const { byok } = turn.endpoint
    if (!byok) return
    sum ??= { upstream: 0, counted: 0, moreInput: 0, moreOutput: 0, entry: byok.entry.id }
    const tariff = upstreamTariff(exchange, turn)
    if (!usage || tariff === undefined) return
    const extras = turn.extras ?? chargedExtras(exchange, turn.endpoint)
    const bill = charge(usage, tariff, extras && ofProvider(exchange, turn, extras))
    const own = charge(usage, turnTariff(exchange, turn, price), extras)
    sum = {
      upstream: sum.upstream + bill.total,
      counted: sum.counted + (byok.counts ? Math.min(bill.total, own.total) : 0),
      moreInput: sum.moreInput + bill.input - own.input,
      moreOutput: sum.moreOutput + bill.output - own.output,
      entry: byok.entry.id,
    }
  }
  for (const turn of exchange.head.costs.turns) if (turn !== last) add(turn, turn.usage)
  if (last) add(last, counted, served)
  return sum
}

/** Other models that a tool of the provider has called, at its own prices as well. */
function ofProvider(exchange: Accepted & MaybeAimed, { endpoint }: Turn, extras: Extras): Extras {
  const { modelTariff } = chargedExtras(exchange, endpoint.byok?.shared) ?? {}
  return { ...extras, modelTariff }
}

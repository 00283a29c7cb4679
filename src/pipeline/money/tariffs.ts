/** At which prices a request is held, and a turn charged: those of the endpoint, the region, the tier that served, and the time that counts. */
import { type Tariff, tariffAt, tariffFrom } from '../../ledger/pricing.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { Turn } from '../attempt/turn.ts'
import type { Accepted } from '../exchange.ts'
import { type ServedPrice, servedPrice } from './served-price.ts'

/** Prices that the endpoint may charge for this request, before it is called. */
export function exchangeTariff(exchange: Accepted, endpoint: Endpoint): Tariff {
  return tariffFrom(endpoint, exchange.head.at, exchange.request.need.region)
}

/** Tariff of a turn: by the tier that served and, where its provider counts by that, the time at which it had ended. */
export function turnTariff(exchange: Accepted, turn: Turn, served?: ServedPrice): Tariff {
  return endpointTariff(exchange, turn, (served ?? servedPrice(turn, exchange.head.at)).endpoint)
}

/** The provider's own price of a turn that a key of a team has paid for; undefined for any other turn. */
export function upstreamTariff(exchange: Accepted, turn: Turn): Tariff | undefined {
  const { byok } = servedPrice(turn, exchange.head.at).endpoint
  return byok && endpointTariff(exchange, turn, byok.shared)
}

function endpointTariff(exchange: Accepted, turn: Turn, endpoint: Endpoint): Tariff {
  const { at, clock } = exchange.head
  if (endpoint.provider.priceTime === 'start') return tariffAt(endpoint, at, exchange.request.need.region)
  turn.endedAt ??= clock.now()
  return tariffAt(endpoint, turn.endedAt, exchange.request.need.region)
}

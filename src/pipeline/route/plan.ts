/** In which order the endpoints are tried, and the money for it: the hold, as the maximum over all that may serve. */

import type { Planned, Resolved } from '../../plugin-api/exchange.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { Exchange } from '../exchange.ts'
import { concludeTurn, takeHold, writeHold } from '../money/reservation.ts'
import { takeTokens } from '../money/token-rate.ts'
import type { ChainParts, ChainSettings } from '../parts.ts'
import { type At, advance, type Layer, type Reply } from '../reply.ts'
import { usableKey } from '../request/authenticate.ts'
import { orderedCandidates } from './ordering.ts'

export function plan(
  { keys, defaultMaxOutput }: Pick<ChainSettings, 'keys' | 'defaultMaxOutput'>,
  parts: ChainParts,
): Layer<At<Resolved>, At<Planned>> {
  return (next) =>
    async function planned(exchange): Promise<Reply> {
      exchange.candidates = orderedCandidates(exchange, parts)
      // The body may have taken its time, and earlier turns have: what holds is the key as it is now.
      const found = keys.find(exchange.key.hash)
      const key = keyNow(exchange, found instanceof Promise ? await found.catch(() => exchange.key) : found)
      const counted = takeTokens(exchange, parts.admission)
      if (counted) await counted
      const concluding = concludeTurn(exchange)
      if (concluding) await concluding
      const taking = takeHold(exchange, { key, credit: parts.credit, upstreams: parts.upstreams, defaultMaxOutput })
      const { input } = taking instanceof Promise ? await taking : taking
      exchange.books.inputTokens = input
      await writeHold(exchange, exchange.candidates[0], parts.journal)
      return await next(advance<Planned>(exchange))
    }
}

/** An exchange that has had a turn goes on whatever became of its key, but within the limit of now. @throws Fault 401. */
function keyNow({ key, clock, books }: Exchange, found: ApiKey | undefined): ApiKey {
  return books.turns.length > 0 ? (found ?? key) : usableKey(found, clock)
}

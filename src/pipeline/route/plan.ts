/** In which order the endpoints are tried, and the money for it: the hold, as the maximum over all that may serve. */

import type { ApiKey } from '../../plugin-api/key.ts'
import { advance, type Guarded, type Planned } from '../exchange.ts'
import type { Layer, Reply } from '../layer.ts'
import { concludeTurn, takeHold, writeHold } from '../money/reservation.ts'
import { takeTokens } from '../money/token-rate.ts'
import type { ChainParts, ChainSettings } from '../parts.ts'
import { usableKey } from '../request/authenticate.ts'
import { orderOf } from './ordering.ts'

export function plan(
  { keys, defaultMaxOutput }: Pick<ChainSettings, 'keys' | 'defaultMaxOutput'>,
  parts: ChainParts,
): Layer<Guarded, Planned> {
  return (next) =>
    async function planned(exchange): Promise<Reply> {
      const order = orderOf(exchange, parts)
      // The body may have taken its time, and earlier turns have: what holds is the key as it is now.
      const found = keys.find(exchange.auth.key.hash)
      const key = keyNow(exchange, found instanceof Promise ? await found.catch(() => exchange.auth.key) : found)
      const counted = takeTokens(exchange, parts.admission)
      if (counted) await counted
      const concluding = concludeTurn(exchange)
      if (concluding) await concluding
      const taking = takeHold(exchange, order.candidates, { key, credit: parts.credit, upstreams: parts.upstreams, defaultMaxOutput })
      const { input, candidates, outputCaps } = taking instanceof Promise ? await taking : taking
      exchange.head.books.inputTokens = input
      const ready = advance(exchange, 'plan', { candidates, outputCaps, conversation: order.conversation, watch: order.watch })
      await writeHold(ready, candidates[0], parts.journal)
      return await next(ready)
    }
}

/** An exchange that has had a turn goes on whatever became of its key, but within the limit of now. @throws Fault 401. */
function keyNow({ auth: { key }, head: { clock, books } }: Guarded, found: ApiKey | undefined): ApiKey {
  return books.turns.length > 0 ? (found ?? key) : usableKey(found, clock)
}

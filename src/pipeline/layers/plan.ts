/** 10. In which order the endpoints are tried, and the money for it: the hold, as the maximum over all that may serve. */

import type { Planned, Resolved } from '../../plugin-api/exchange.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { Exchange } from '../exchange.ts'
import { orderedCandidates } from '../ordering.ts'
import type { ChainParts, ChainSettings } from '../parts.ts'
import { type At, advance, type Layer, type Reply } from '../reply.ts'
import { type TakenHold, takeHold } from '../reservation.ts'
import { takeTokens } from '../token-rate.ts'
import { usableKey } from './authenticate.ts'

export function plan({ keys }: Pick<ChainSettings, 'keys'>, parts: ChainParts): Layer<At<Resolved>, At<Planned>> {
  return (next) =>
    async function planned(exchange): Promise<Reply> {
      exchange.candidates = orderedCandidates(exchange, parts)
      // The body may have taken its time, and earlier turns have: what holds is the key as it is now.
      const found = keys.find(exchange.key.hash)
      const key = keyNow(exchange, found instanceof Promise ? await found.catch(() => exchange.key) : found)
      const counted = takeTokens(exchange, parts.admission)
      if (counted) await counted
      const taking = takeHold(exchange, key, parts.credit)
      entered(exchange, taking instanceof Promise ? await taking : taking)
      const { books } = exchange
      const first = exchange.candidates[0]
      if (!books.open) books.heldAt = first
      parts.journal.hold({
        seq: exchange.seq,
        tag: exchange.tag,
        key: exchange.key.identity,
        model: first.model.slug,
        endpoint: first.id,
        hold: books.held,
        floor: books.floor,
      })
      // A later turn writes the same row again with the raised sums.
      // From here on a settlement must follow, even if this commit fails: the row may be there.
      books.open = true
      await parts.journal.committed()
      return await next(advance<Planned>(exchange))
    }
}

/** An exchange that has had a turn goes on whatever became of its key, but within the limit of now. @throws Fault 401. */
function keyNow({ key, clock, books }: Exchange, found: ApiKey | undefined): ApiKey {
  return books.turns.length > 0 ? (found ?? key) : usableKey(found, clock)
}

/** A turn that follows adds to the hold. */
function entered({ books }: Exchange, { account, reservation }: TakenHold): void {
  books.account = account
  books.held += reservation.hold
  books.floor += reservation.floor
  books.inputTokens = reservation.input
}

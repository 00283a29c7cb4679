/** Tokens of a key's minute: taken by estimate before the call, put right when the usage is known. */

import type { Settlement } from '../../ledger/settlement.ts'
import type { Accepted } from '../exchange.ts'
import type { Admission } from '../request/admit.ts'
import { callerCap, inputEstimate } from '../route/needs.ts'

/**
 * Takes the estimate of the input plus the caller's output cap; nothing for the output where the caller set no cap.
 * Call once for each turn: only the first can be refused.
 * @returns a promise only where the key has such a limit and the counters are shared.
 * @throws Fault 429.
 */
export function takeTokens(exchange: Accepted, admission: Admission): Promise<void> | undefined {
  const {
    auth: { key },
    head: { books },
  } = exchange
  if (key.limits.tokens === undefined) return undefined
  const count = Math.ceil(inputEstimate(exchange) + Math.max(0, callerCap(exchange) ?? 0))
  const waiting = admission.tokens(key, count, books.turns.length > 0)
  if (!waiting) books.rateTokens += count
  return waiting?.then(() => {
    books.rateTokens += count
  })
}

/** Call once, when the exchange is settled. What is not charged does not count; nor does what is read from a cache count less. */
export function settleTokens({ auth: { key }, head: { books } }: Accepted, { used }: Settlement, admission: Admission): void {
  if (key.limits.tokens === undefined) return
  admission.correctTokens(key, used - books.rateTokens)
}

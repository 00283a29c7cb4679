/** How much money a request may cost at most, over all endpoints that may serve it. */
import type { Endpoint } from '../catalog/types.ts'
import { Fault } from '../core/faults.ts'
import { usdText } from '../core/money.ts'
import type { CreditAccount, CreditBook } from '../ledger/credit.ts'
import { affordableOutput, holdFor, tariffAt } from '../ledger/pricing.ts'
import { windowEnd } from '../ledger/spend-windows.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { Exchange } from './exchange.ts'
import { isBudget, overBudget, tightest } from './guardrail-budgets.ts'
import { callerCap, contextNeed, contextOf, imageCount, inputBound, searchBound } from './needs.ts'

export interface Reservation {
  /** Nano-dollars: the most that any candidate may charge. */
  hold: number
  /** Nano-dollars charged where the outcome stays unknown. */
  floor: number
  /** Upper bound of the input's tokens. */
  input: number
  /** Output cap that the dearest candidate's share was computed for. */
  outputCap: number
}

/** Computes the hold; takes nothing. */
export function reservationOf(exchange: Exchange, candidates: readonly Endpoint[]): Reservation {
  const input = inputBound(exchange)
  const webSearches = searchBound(exchange)
  const extras = exchange.mayHoldMedia || webSearches > 0 ? { images: imageCount(exchange), webSearches } : undefined
  const cap = callerCap(exchange)
  let hold = 0
  let floor = 0
  let outputCap = 0
  for (const endpoint of candidates) {
    const output = outputCapOf(exchange, endpoint, cap)
    const reserve = holdFor(tariffAt(endpoint, exchange.at), input, output, extras)
    if (reserve.hold >= hold) outputCap = output
    hold = Math.max(hold, reserve.hold)
    floor = Math.max(floor, reserve.floor)
  }
  const { unheld } = exchange.books
  return { hold: hold + unheld, floor: floor + unheld, input, outputCap }
}

export interface TakenHold {
  account: CreditAccount
  reservation: Reservation
}

/**
 * Computes the hold over the candidates and takes it from the key's account.
 * @param key as it is now.
 * @returns a promise only where credit is leased and the lease in hand is too small.
 * @throws Fault 402 where the key has less left than the request may cost, 403 where a guardrail's budget has; 503 where the store of record cannot be asked.
 */
export function takeHold(exchange: Exchange, key: ApiKey, credit: CreditBook): TakenHold | Promise<TakenHold> {
  const { candidates, books } = exchange
  const reservation = reservationOf(exchange, candidates)
  const account = books.account ?? credit.account(key.identity)
  const allowance = tightest(key, exchange.budgets, account)
  const done = (held: boolean): TakenHold => {
    if (!held && isBudget(allowance)) throw overBudget(allowance, reservation.hold, account)
    if (!held) throw noCredit(exchange, key, { reservation, left: account.remaining(key) ?? 0 })
    exchange.outputCap = allowance.limit === null ? undefined : reservation.outputCap
    return { account, reservation }
  }
  const held = account.tryHold(reservation.hold, allowance)
  return held || !account.seek ? done(held) : account.seek(reservation.hold, allowance).then(done)
}

/** The caller's own cap, else the model's default as far as the context has room for it; never more than the endpoint writes. */
function outputCapOf(exchange: Exchange, endpoint: Endpoint, callers: number | undefined): number {
  const most = endpoint.maxOutput ?? endpoint.model.maxOutput ?? Number.POSITIVE_INFINITY
  if (callers !== undefined) return Math.min(callers, most)
  const room = contextOf(endpoint) - contextNeed(exchange, contextOf(endpoint) - endpoint.model.defaultMaxOutput)
  return Math.max(1, Math.min(endpoint.model.defaultMaxOutput, most, room))
}

/** The 402: what was needed, what is left and what would be affordable, and when the limit begins anew where it does. */
function noCredit(
  exchange: Exchange,
  { limitReset }: ApiKey,
  { reservation: { hold, input }, left }: { reservation: Reservation; left: number },
): Fault {
  const tokens = exchange.candidates.reduce(
    (best, endpoint) => Math.max(best, affordableOutput(tariffAt(endpoint, exchange.at), input, left)),
    0,
  )
  const affordable = Math.max(0, Math.floor(tokens))
  const anew = limitReset === null ? undefined : new Date(windowEnd(limitReset, exchange.clock.now())).toISOString()
  return new Fault('no_credit', {
    message:
      `Insufficient credits: this request may cost up to $${usdText(hold)}, $${usdText(left)} is left. ` +
      `With an output cap of ${affordable} tokens it would fit${anew === undefined ? '' : `. The limit begins anew at ${anew}`}`,
    metadata: {
      needed: usdText(hold),
      left: usdText(left),
      affordable_output_tokens: affordable,
      ...(anew === undefined ? {} : { limit_resets_at: anew }),
    },
  })
}

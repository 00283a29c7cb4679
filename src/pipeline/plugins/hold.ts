/** The money that plugins and tools of a request may charge: held before the first of them begins. */

import { Fault } from '../../core/faults.ts'
import { usdText } from '../../core/money.ts'
import { type CreditBook, fixedAsk } from '../../ledger/credit.ts'
import type { Guarded } from '../exchange.ts'
import { accountOf, allowancesOf, isBudget, overBudget } from '../money/guardrail-budgets.ts'
import { writeHold } from '../money/reservation.ts'
import type { ChainParts } from '../parts.ts'

/**
 * Adds to the hold of the exchange, and writes it down: a plugin spends before the endpoints are put in order.
 * @param amount nano-dollars above 0.
 * @param who is named to the caller who has too little.
 * @throws Fault 402 where the key has less left, 403 where a guardrail's budget has; 503 where nothing can be written.
 */
export async function holdFor(
  who: 'plugins' | 'tools',
  exchange: Guarded,
  amount: number,
  { credit, journal }: Pick<ChainParts, 'credit' | 'journal'>,
): Promise<void> {
  await reserveFor(who, exchange, amount, credit)
  await writeHold(exchange, exchange.route.endpoints[0], journal)
}

/** The same with nothing written down: in a plan, which releases it. */
export async function reserveFor(who: 'plugins' | 'tools', exchange: Guarded, amount: number, credit: CreditBook): Promise<void> {
  const {
    auth: { key },
    head: { books },
  } = exchange
  const account = accountOf(key, credit)
  const allowances = allowancesOf(key, exchange.wish.budgets)
  if ((await books.hold.take(account, fixedAsk(amount), allowances)) === undefined) {
    const tightest = account.tightest(allowances)
    const left = tightest?.left ?? 0
    throw isBudget(tightest?.allowance) ? overBudget(tightest.allowance, amount, left) : tooLittle(who, amount, left)
  }
  books.hold.raiseFloor(amount)
}

function tooLittle(who: string, amount: number, left: number): Fault {
  return new Fault('no_credit', {
    message: `Insufficient credits: the ${who} of this request may cost up to $${usdText(amount)}, $${usdText(left)} is left`,
    metadata: { needed: usdText(amount), left: usdText(left) },
  })
}

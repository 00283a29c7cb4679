/** Fixed amounts that are reserved as a whole: what plugins and tools of a request may charge, and the price of a pass-through request. */
import type { Clock } from '../../core/clock.ts'
import { entryAt } from '../../core/entry-at.ts'
import { Fault } from '../../core/faults.ts'
import { usdText } from '../../core/money-text.ts'
import type { CreditBook } from '../../ledger/allowance.ts'
import { fixedAsk } from '../../ledger/credit.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { ChainDependencies } from '../dependencies.ts'
import type { Guarded } from '../exchange.ts'
import type { GuardrailBudget } from '../guard/guardrail-setting.ts'
import { leftUnder, limitMember } from '../refusing-limit.ts'
import { type Hold, type HoldPart, isBudgetTightest, keyAccount, keyAllowances, overBudget, writeHold } from './hold.ts'

interface FixedPayer {
  readonly key: ApiKey
  readonly budgets: readonly GuardrailBudget[]
  readonly credit: CreditBook
  readonly clock: Pick<Clock, 'now'>
}

/**
 * Reserves an amount, under all allowances of the key at once; a crash is charged all of it, or what the part says.
 * @param part nano-dollars above 0.
 * @param what costs it, with its verb, as the 402 names it to the caller.
 * @throws Fault 402 where the key has less left, 403 where a guardrail's budget has; 503 where the store of record does not answer.
 */
export async function takeFixed(
  hold: Hold,
  { key, budgets, credit, clock }: FixedPayer,
  part: number | HoldPart,
  what: string,
): Promise<void> {
  const { amount, floor } = typeof part === 'number' ? { amount: part, floor: part } : part
  const account = keyAccount(key, credit)
  const allowances = keyAllowances(key, budgets)
  if ((await hold.take(account, fixedAsk(amount), allowances)) === undefined) {
    const tightest = account.tightest(allowances)
    const spender = { key, account, now: clock.now() }
    if (isBudgetTightest(tightest)) throw overBudget(tightest, amount, spender)
    const left = tightest?.left ?? 0
    throw new Fault('no_credit', {
      message: `Insufficient credits: ${what} $${usdText(amount)}, $${usdText(left)} is left${leftUnder(tightest?.allowance, key)}`,
      metadata: { needed: usdText(amount), left: usdText(left), ...limitMember(tightest, spender) },
    })
  }
  hold.raiseFloor(floor)
}

/** Parts of the gateway that may charge a request beside its provider. */
type Spender = 'plugins' | 'tools'

/**
 * Adds to the hold of the exchange, and writes it down: a plugin spends before the endpoints are put in order.
 * @param amount nano-dollars above 0.
 * @throws Fault as `takeFixed`; 503 where nothing can be written.
 */
export async function extendHold(
  who: Spender,
  exchange: Guarded,
  amount: number,
  { credit, journal }: Pick<ChainDependencies, 'credit' | 'journal'>,
): Promise<void> {
  await extendUnwritten(who, exchange, amount, credit)
  await writeHold(exchange, entryAt(exchange.route.endpoints, 0), journal)
}

/** The same with nothing written down: in a plan, which releases it. */
export function extendUnwritten(who: Spender, exchange: Guarded, amount: number, credit: CreditBook): Promise<void> {
  const { head, auth, demand } = exchange
  return takeFixed(
    head.costs.hold,
    { key: auth.key, budgets: demand.budgets, credit, clock: head.clock },
    amount,
    `the ${who} of this request may cost up to`,
  )
}

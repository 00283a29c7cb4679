/** The money that plugins and tools of a request may charge: held before the first of them begins. */
import { Fault } from '../../core/faults.ts'
import { usdText } from '../../core/money.ts'
import type { CreditAccount } from '../../ledger/credit.ts'
import type { Exchange } from '../exchange.ts'
import { isBudget, overBudget, tightest } from '../guardrail-budgets.ts'
import type { ChainParts } from '../parts.ts'

/**
 * Adds to the hold of the exchange, and writes it down: a plugin spends before the endpoints are put in order.
 * @param amount nano-dollars above 0.
 * @param who is told to the caller who has too little.
 * @throws Fault 402 where the key has less left, 403 where a guardrail's budget has; 503 where nothing can be written.
 */
export async function holdFor(
  who: 'plugins' | 'tools',
  exchange: Exchange,
  amount: number,
  { credit, journal }: Pick<ChainParts, 'credit' | 'journal'>,
): Promise<void> {
  const { key, books } = exchange
  const account = books.account ?? credit.account(key.identity)
  const allowance = tightest(key, exchange.budgets, account)
  const held = account.tryHold(amount, allowance) || (account.seek ? await account.seek(amount, allowance) : false)
  if (!held) throw isBudget(allowance) ? overBudget(allowance, amount, account) : tooLittle(who, amount, account, exchange)
  const [endpoint] = exchange.endpoints
  books.account = account
  books.held += amount
  books.floor += amount
  if (!books.open) books.heldAt = endpoint
  journal.hold({
    seq: exchange.seq,
    tag: exchange.tag,
    key: key.identity,
    model: endpoint.model.slug,
    endpoint: endpoint.id,
    hold: books.held,
    floor: books.floor,
  })
  books.open = true
  await journal.committed()
}

function tooLittle(who: string, amount: number, account: CreditAccount, { key }: Exchange): Fault {
  const left = account.remaining(key) ?? 0
  return new Fault('no_credit', {
    message: `Insufficient credits: the ${who} of this request may cost up to $${usdText(amount)}, $${usdText(left)} is left`,
    metadata: { needed: usdText(amount), left: usdText(left) },
  })
}

/** Possible cost of input that is not in the body, and the credit that is kept free for it (docs/decisions/0029-outside-input.md). */
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import { usdText } from '../../core/money-text.ts'
import { type OutsideInput, REST_OF_CONTEXT, SEARCH_TOKENS } from '../../dialects/canon/outside-input.ts'
import type { Allowance, CreditAccount, HoldAsk, Tightest } from '../../ledger/allowance.ts'
import { fixedAsk } from '../../ledger/credit.ts'
import { holdFor, type Tariff } from '../../ledger/pricing.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { GuardrailBudget } from '../guard/guardrail-setting.ts'
import { leftUnder, limitMember, type Spender, type SpendingBound } from '../refusing-limit.ts'
import { type Hold, isBudget } from './hold.ts'

/** Tokens of input and output that an endpoint is assumed to take where the configuration does not say. */
export const UNKNOWN_CONTEXT = 1_000_000
/**
 * Tokens that must be affordable where all of a large context is not. Then all that is left is kept free, so that no two such requests
 * run at a time.
 */
const MIN_OF_CONTEXT = 100_000

/** Possible cost of outside input at one endpoint. */
export interface Need {
  readonly inputs: readonly OutsideInput[]
  readonly tokens: number
  /** Nano-dollars of all of it, and of the least that must be affordable. */
  readonly full: number
  readonly least: number
}

export const NO_NEED: Need = { inputs: [], tokens: 0, full: 0, least: 0 }

/** @param body tokens that the hold counts for the body. */
export function endpointNeed(
  endpoint: Pick<Endpoint, 'context'>,
  inputs: readonly OutsideInput[],
  { tariff, body }: { tariff: Tariff; body: number },
): Need {
  const room = Math.max(0, (endpoint.context ?? UNKNOWN_CONTEXT) - body)
  let bounded = 0
  const open = inputs.some(({ tokens }) => tokens === REST_OF_CONTEXT)
  for (const { tokens } of inputs) if (tokens !== REST_OF_CONTEXT) bounded += tokens
  const tokens = open || inputs.some(({ leaks }) => leaks) ? room : Math.min(room, bounded)
  const least = Math.min(room, open ? Math.max(bounded, MIN_OF_CONTEXT) : bounded)
  const outsideCost = costBeyond(tariff, body)
  return { inputs, tokens, full: outsideCost(tokens), least: outsideCost(least) }
}

/**
 * @param body tokens that the hold counts for the body.
 * @returns what so many more tokens of input cost, in nano-dollars.
 */
export function costBeyond(tariff: Tariff, body: number): (more: number) => number {
  const own = holdFor(tariff, body, 0).floor
  return (more) => (more > 0 ? holdFor(tariff, body + more, 0).floor - own : 0)
}

/** Searches that a model runs unasked. */
export const ownSearchPrice = ({ price }: Pick<Endpoint, 'price'>): number => (typeof price === 'object' ? (price.ownSearches ?? 0) : 0)

export function searchesOfModel(count: number): OutsideInput {
  return { field: 'searches of the model', tokens: count * SEARCH_TOKENS, help: 'use a model that does not search unasked' }
}

export interface Purse {
  readonly hold: Hold
  readonly account: CreditAccount
  readonly allowances: readonly (Allowance | GuardrailBudget)[]
  readonly key: ApiKey
  readonly clock: Pick<Clock, 'now'>
}

/** Nano-dollars. */
export function leftFor({ account, allowances }: Pick<Purse, 'account' | 'allowances'>): number {
  return account.tightest(allowances)?.left ?? Number.POSITIVE_INFINITY
}

/**
 * Keeps credit free for the dearest of the needs that can be paid.
 * @returns those that can; a promise only where credit has to be leased.
 * @throws Fault 402 or 403 naming the part of the request that is not in its body.
 */
export function keepNeeds<Some extends Need>(needs: readonly Some[], purse: Purse): readonly Some[] | Promise<readonly Some[]> {
  const most = needs.reduce((sum, { full }) => Math.max(sum, full), 0)
  if (most === 0) return needs
  const { hold, account, allowances } = purse
  const refuse = (): never => {
    throw refusal(needs, account.tightest(allowances), { key: purse.key, account, now: purse.clock.now() })
  }
  const left = leftFor(purse)
  const able = needs.filter(({ least }) => least <= left)
  if (able.length === 0) return refuse()
  const least = able.reduce((sum, each) => Math.max(sum, each.least), 0)
  const full = able.reduce((sum, each) => Math.max(sum, each.full), 0)
  const ask: HoldAsk = full <= left ? fixedAsk(full) : { full, floor: Math.max(least, Math.floor(left)) }
  const kept = hold.keepFree(account, ask, allowances)
  const granted = (isKept: boolean): readonly Some[] => (isKept ? able : refuse())
  return kept instanceof Promise ? kept.then(granted) : granted(kept)
}

/** @param tightest the allowance that leaves the least. */
function refusal(needs: readonly Need[], tightest: Tightest<SpendingBound> | undefined, spender: Spender): Fault {
  const cheapest = needs.reduce((best, need) => (need.least < best.least ? need : best))
  const { inputs, tokens, least } = cheapest
  const left = tightest?.left ?? 0
  const parts = inputs.map(({ field, help }) => `${field} (${help})`).join(', ')
  const message = `what is not part of the request itself may add ${tokens} tokens of input, $${usdText(least)} must be free beside the hold and $${usdText(left)} is${leftUnder(tightest?.allowance, spender.key)}: ${parts}`
  const metadata = {
    needed: usdText(least),
    left: usdText(left),
    outside_input: inputs.map(({ field, tokens: each, help }) => ({ field, tokens: Math.min(each, tokens), help })),
    ...limitMember(tightest, spender),
  }
  const allowance = tightest?.allowance
  if (isBudget(allowance))
    return new Fault('guardrail_blocked', {
      message: `The budget of the guardrail ${allowance.guardrail} is too small: ${message}`,
      metadata: { ...metadata, guardrail: allowance.guardrail },
    })
  return new Fault('no_credit', { message: `Insufficient credits: ${message}`, metadata })
}

/**
 * What a turn may cost at most, over all endpoints that may serve it, and the output caps that follow from what was held; and fixed
 * amounts: what plugins and tools of a request may charge, and the price of a pass-through request.
 */
import { entryAt } from '../../core/entry-at.ts'
import { Fault } from '../../core/faults.ts'
import { usdText } from '../../core/money-text.ts'
import type { Usage } from '../../dialects/canon/usage.ts'
import type { Allowance, CreditAccount, CreditBook } from '../../ledger/allowance.ts'
import { fixedAsk, windowEnd } from '../../ledger/credit.ts'
import {
  affordableOutput,
  cappedNeed,
  charge,
  holdFor,
  holdNeedOf,
  type InputNeed,
  type OutputNeed,
  openNeed,
  outputInFull,
  outputWithin,
  UNKNOWN_MAX_OUTPUT,
} from '../../ledger/pricing.ts'
import type { Journal } from '../../ledger/types.ts'
import type { ApiKey, LimitReset } from '../../plugin-api/key.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import { tokensAt } from '../../routing/index.ts'
import type { Turn } from '../attempt/turn.ts'
import type { ChainDependencies } from '../dependencies.ts'
import { type Accepted, type Authenticated, capOf, type Exchange, type Guarded, type MaybeAimed, type MaybePlanned } from '../exchange.ts'
import type { GuardrailBudget } from '../guard/guardrail-setting.ts'
import type { OutputCap, Plan } from '../records.ts'
import { callerCap, contextNeed, contextOf, inputBound } from '../route/needs.ts'
import { accountOf, allowancesOf, type Hold, type HoldPart, isBudget, NO_PART, overBudget } from './hold.ts'
import { chargedExtras, heldExtras, pricedEndpoint, tariffOf } from './turn-cost.ts'

interface Payer {
  /** As it is now. */
  readonly key: ApiKey
  readonly credit: CreditBook
  readonly upstreams: ChainDependencies['upstreams']
  /** Output cap of the configuration where the request, the key and the model set none; tokens. */
  readonly defaultMaxOutput: number | undefined
}

interface Reservation extends Pick<Plan, 'candidates' | 'outputCaps'> {
  readonly account: CreditAccount
  readonly part: HoldPart
  /** Upper bound of the input's tokens. */
  readonly input: number
  /** The most output tokens that any endpoint may write for it. */
  readonly outputCap: number
}

/**
 * Takes the hold of a turn.
 * @returns the candidates that the credit can pay, with their output caps; a promise only where credit is leased and the lease in
 *   hand is too small.
 * @throws Fault 402 where the key has less left than the cheapest endpoint needs, 403 where a guardrail's budget has; 503
 *   where the store of record cannot be reached.
 */
export function takeHold(exchange: Guarded, candidates: readonly Endpoint[], payer: Payer): Reservation | Promise<Reservation> {
  const { hold } = exchange.head.costs
  const account = accountOf(payer.key, payer.credit)
  const allowances = allowancesOf(payer.key, exchange.wish.budgets)
  const limited = allowances.some(({ limit }) => limit !== null)
  const input = inputNeed(exchange)
  const needs = candidates.map((endpoint) => outputNeed(exchange, endpoint, payer, limited))
  const { ask, inputCost } = holdNeedOf(needs, input)
  const request: HoldRequest = { candidates, needs, input, limited, full: ask.full, needed: ask.floor, account, allowances, inputCost }
  const taken = hold.take(account, ask, allowances)
  return taken instanceof Promise ? taken.then((held) => granted(exchange, payer, request, held)) : granted(exchange, payer, request, taken)
}

/** @param held nano-dollars; undefined where not even the least fits. */
function granted(exchange: Guarded, payer: Payer, request: HoldRequest, held: number | undefined): Reservation | Promise<Reservation> {
  if (held === undefined) return takeCheaper(exchange, payer, request)
  const { candidates: wanted, needs, input, limited, account, inputCost } = request
  const { candidates, outputCaps, outputCap } = limited ? cappedBy(request, held, payer.upstreams) : uncapped(wanted, needs)
  const floor = candidates === wanted ? inputCost : mostInputCost(exchange, candidates, input)
  const part = { amount: held, floor: Math.min(floor, held) }
  exchange.head.costs.hold.raiseFloor(part.floor)
  exchange.run.turnHold = part
  return { account, part, candidates, outputCaps, input: input.tokens, outputCap }
}

/** Writes what the exchange holds to the journal; its row names the endpoint of the first hold. @throws Fault `unavailable`. */
export function writeHold(
  { head: { seq, tag, costs }, auth: { key } }: Authenticated,
  endpoint: Endpoint,
  journal: Journal,
): Promise<void> {
  costs.heldAt ??= endpoint
  const { identity, issuer } = key
  const row = { seq, tag, key: identity, payer: issuer?.identity, model: costs.heldAt.model.slug, endpoint: costs.heldAt.id }
  return costs.hold.write(journal, row)
}

/**
 * A turn is over: what it cost stays held, the rest is free for the next one (issue 15, section 2).
 * @returns a promise only where the turn cost more than was held for it and credit has to be leased.
 */
export function concludeTurn(exchange: Accepted & MaybeAimed): Promise<void> | undefined {
  const {
    run: { lastTurn, turnHold },
    head: { costs },
  } = exchange
  if (turnHold === NO_PART) return undefined
  exchange.run.turnHold = NO_PART
  return costs.hold.conclude(turnHold, lastTurn?.usage ? costOf(exchange, lastTurn, lastTurn.usage) : 0)
}

function costOf(exchange: Accepted & MaybeAimed, turn: Turn, usage: Usage): number {
  return charge(usage, tariffOf(exchange, pricedEndpoint(turn)), turn.extras ?? chargedExtras(exchange, turn.endpoint)).total
}

/** The output cap that the endpoint is sent; undefined where none is needed to keep the charge within the hold. */
export function upstreamCap(exchange: MaybePlanned, endpoint: Endpoint): number | undefined {
  const cap = capOf(exchange, endpoint)
  if (cap === undefined) return undefined
  const declared = endpoint.maxOutput
  return declared !== undefined && cap.tokens >= declared ? undefined : cap.tokens
}

/** What the endpoint writes at most, where the caller's own cap is above that; undefined where it is not. */
export function loweredCap(exchange: Accepted, endpoint: Endpoint): number | undefined {
  const declared = endpoint.maxOutput
  return declared !== undefined && (callerCap(exchange) ?? 0) > declared ? declared : undefined
}

/** The cap that ended the answer, where the credit had lowered it; undefined where the answer ended for another reason. */
export function creditCap(exchange: Exchange): number | undefined {
  const {
    run: { lastTurn },
  } = exchange
  const cap = lastTurn && lastTurn.end?.reason === 'length' ? capOf(exchange, lastTurn.endpoint) : undefined
  return cap?.lowered ? cap.tokens : undefined
}

function inputNeed(exchange: Guarded): InputNeed {
  return { tokens: inputBound(exchange), extras: heldExtras(exchange) }
}

/** True where the endpoint's requests carry an output cap. @param limited a limit applies: the cap is held, and sent with it. */
function takesCap({ provider, quirks = provider.quirks, supported }: Endpoint, upstreams: Payer['upstreams'], limited: boolean): boolean {
  return upstreams.get(provider.dialect)?.cap.sends({ quirks, supported }, limited) === true
}

/**
 * The caller's own cap holds as it is, then one that the operator set by hand; without either the credit decides. A cap that is
 * not sent binds no provider, so it counts for nothing here, and one set by hand is sent only where a limit applies. Under a
 * limit an endpoint that takes no cap has to be paid for all that it may write: a smaller share could not be enforced, so the
 * floor of issue 15 section 2 is as high as its maximum, and where the credit does not reach so far it leaves the plan.
 */
function outputNeed(exchange: Guarded, endpoint: Endpoint, payer: Payer, limited: boolean): OutputNeed {
  const tariff = tariffOf(exchange, endpoint)
  if (exchange.request.client.embedding) return cappedNeed(tariff, 0)
  const declared = endpoint.maxOutput
  const capped = takesCap(endpoint, payer.upstreams, limited)
  const own = capped ? callerCap(exchange) : undefined
  const { min_output_tokens: lowest = 1 } = endpoint.quirks ?? endpoint.provider.quirks
  if (own !== undefined) return cappedNeed(tariff, Math.max(lowest > 1 ? lowest : 0, Math.min(own, declared ?? own)))
  const byHand = capped && limited ? (payer.key.defaultMaxOutput ?? endpoint.model.defaultMaxOutput ?? payer.defaultMaxOutput) : undefined
  const most = byHand === undefined ? (declared ?? UNKNOWN_MAX_OUTPUT) : Math.min(byHand, declared ?? byHand)
  const fitting = Math.max(lowest, Math.min(most, roomAt(exchange, endpoint, most)))
  return byHand === undefined && capped ? openNeed(tariff, fitting) : cappedNeed(tariff, fitting)
}

/** Tokens that the input leaves of the endpoint's context, counted as far as they are fewer than `most`. */
function roomAt(exchange: Guarded, endpoint: Endpoint, most: number): number {
  const context = contextOf(endpoint)
  if (context === Number.POSITIVE_INFINITY) return most
  const need = contextNeed(exchange, context - most)
  return need.input + need.cap <= context - most ? most : context - tokensAt(endpoint, need)
}

type Capped = Pick<Reservation, 'candidates' | 'outputCaps' | 'outputCap'>

function uncapped(candidates: readonly Endpoint[], needs: readonly OutputNeed[]): Capped {
  return { candidates, outputCaps: undefined, outputCap: needs.reduce((largest, { most }) => Math.max(largest, most), 0) }
}

/** @param held nano-dollars. */
function cappedBy({ candidates, needs, input, full }: HoldRequest, held: number, upstreams: Payer['upstreams']): Capped {
  const caps: OutputCap[] = []
  let dropped: Set<Endpoint> | undefined
  let largest = 0
  for (let at = 0; at < candidates.length; at++) {
    const endpoint = entryAt(candidates, at)
    const need = entryAt(needs, at)
    const affordable = held >= full ? outputInFull(need, input) : outputWithin(need, input, held)
    if (affordable === undefined) {
      dropped ??= new Set()
      dropped.add(endpoint)
      continue
    }
    const tokens = Math.min(need.most, affordable)
    largest = Math.max(largest, tokens)
    // Output that costs nothing needs no cap.
    if (affordable !== Number.POSITIVE_INFINITY && takesCap(endpoint, upstreams, true))
      caps.push({ endpoint, tokens, lowered: tokens < need.most })
  }
  const left = dropped ? candidates.filter((endpoint) => !dropped.has(endpoint)) : candidates
  return { candidates: left, outputCaps: caps, outputCap: largest }
}

/** Nano-dollars of the input at the dearest candidate. */
function mostInputCost(exchange: Guarded, candidates: readonly Endpoint[], { tokens, extras }: InputNeed): number {
  return candidates.reduce((most, endpoint) => Math.max(most, holdFor(tariffOf(exchange, endpoint), tokens, 0, extras).floor), 0)
}

interface HoldRequest {
  candidates: readonly Endpoint[]
  needs: readonly OutputNeed[]
  input: InputNeed
  /** A limit applies. */
  limited: boolean
  /** Nano-dollars of the whole hold. */
  full: number
  /** Nano-dollars of the smallest hold that is enough. */
  needed: number
  /** Nano-dollars of the input at the dearest candidate. */
  inputCost: number
  account: CreditAccount
  allowances: readonly Allowance[]
}

/** Endpoints that cost more than what is left are given up, and the hold is tried once more for those that do not. */
function takeCheaper(
  exchange: Guarded,
  payer: Payer,
  { candidates, needs, input, ...refusal }: HoldRequest,
): Reservation | Promise<Reservation> {
  const tightest = refusal.account.tightest(refusal.allowances)
  const left = tightest?.left ?? 0
  const within = candidates.filter((_, at) => outputWithin(entryAt(needs, at), input, left) !== undefined)
  if (within.length > 0 && within.length < candidates.length) return takeHold(exchange, within, payer)
  if (isBudget(tightest?.allowance)) throw overBudget(tightest.allowance, refusal.needed, left)
  const capped = candidates.filter((endpoint) => takesCap(endpoint, payer.upstreams, true))
  throw noCredit(exchange, tightest?.allowance.limitReset ?? null, { needed: refusal.needed, left, input, capped })
}

/**
 * The 402: what was needed, what is left and what would be affordable, and when the limit begins anew where it does.
 * @param capped the candidates that take an output cap.
 */
function noCredit(
  exchange: Guarded,
  limitReset: LimitReset | null,
  { needed, left, input, capped }: { needed: number; left: number; input: InputNeed; capped: readonly Endpoint[] },
): Fault {
  const tokens = capped.reduce(
    (best, endpoint) => Math.max(best, affordableOutput(tariffOf(exchange, endpoint), input.tokens, left, input.extras)),
    0,
  )
  const affordable = Math.max(0, Math.floor(tokens))
  const anew = limitReset === null ? undefined : new Date(windowEnd(limitReset, exchange.head.clock.now())).toISOString()
  return new Fault('no_credit', {
    message: [
      `Insufficient credits: this request may cost up to $${usdText(needed)}, $${usdText(left)} is left`,
      ...(affordable > 0 ? [`With an output cap of ${affordable} tokens it would fit`] : []),
      ...(anew === undefined ? [] : [`The limit begins anew at ${anew}`]),
    ].join('. '),
    metadata: {
      needed: usdText(needed),
      left: usdText(left),
      affordable_output_tokens: affordable,
      ...(anew === undefined ? {} : { limit_resets_at: anew }),
    },
  })
}

interface FixedPayer {
  readonly key: ApiKey
  readonly budgets: readonly GuardrailBudget[]
  readonly credit: CreditBook
}

/**
 * Reserves an amount, under all allowances of the key at once; a crash is charged all of it.
 * @param amount nano-dollars above 0.
 * @param what costs it, with its verb, as the 402 names it to the caller.
 * @throws Fault 402 where the key has less left, 403 where a guardrail's budget has; 503 where the store of record does not answer.
 */
export async function takeFixed(hold: Hold, { key, budgets, credit }: FixedPayer, amount: number, what: string): Promise<void> {
  const account = accountOf(key, credit)
  const allowances = allowancesOf(key, budgets)
  if ((await hold.take(account, fixedAsk(amount), allowances)) === undefined) {
    const tightest = account.tightest(allowances)
    const left = tightest?.left ?? 0
    if (isBudget(tightest?.allowance)) throw overBudget(tightest.allowance, amount, left)
    throw new Fault('no_credit', {
      message: `Insufficient credits: ${what} $${usdText(amount)}, $${usdText(left)} is left`,
      metadata: { needed: usdText(amount), left: usdText(left) },
    })
  }
  hold.raiseFloor(amount)
}

/** Who of a request may charge beside its provider. */
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
  const { head, auth, wish } = exchange
  return takeFixed(head.costs.hold, { key: auth.key, budgets: wish.budgets, credit }, amount, `the ${who} of this request may cost up to`)
}

/**
 * What a turn costs: its tokens, as the settlement wants them, and the tariff at which its provider charges them; and what it may cost at
 * most, over all endpoints that may serve it: the hold that is taken for it, and the output caps that follow from what was held.
 */

import { entryAt } from '../../core/entry-at.ts'
import { MEDIA_BYTES } from '../../dialects/canon/events.ts'
import { countsOutput, type Usage } from '../../dialects/canon/usage.ts'
import type { Allowance, CreditAccount, CreditBook } from '../../ledger/allowance.ts'
import { payerOf } from '../../ledger/payer.ts'
import {
  affordableOutput,
  cappedNeed,
  charge,
  type Extras,
  holdFor,
  holdNeedOf,
  type InputNeed,
  type OutputNeed,
  openNeed,
  outputInFull,
  outputWithin,
  type Tariff,
  UNKNOWN_MAX_OUTPUT,
} from '../../ledger/pricing.ts'
import { type Count, countedUsage, type EndedBy, enderOf, estimateFromBytes } from '../../ledger/settlement.ts'
import type { Journal } from '../../ledger/types.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import { capWithin } from '../../routing/index.ts'
import type { Turn } from '../attempt/turn.ts'
import type { ChainDependencies } from '../dependencies.ts'
import {
  type Accepted,
  type Aimed,
  type Authenticated,
  capOf,
  type Exchange,
  type Guarded,
  type MaybeAimed,
  type MaybePlanned,
  type Received,
} from '../exchange.ts'
import type { OutputCap, Plan } from '../records.ts'
import {
  callerCap,
  contextNeed,
  contextOf,
  imageCount,
  inputBound,
  otherTools,
  searchBound,
  sentEstimate,
} from '../request/client-request.ts'
import { advisorAt } from '../route/advisors.ts'
import { accountOf, allowancesOf, type HoldPart, isBudgetTightest, NO_PART, noCredit, overBudget } from './hold.ts'
import type { InputCounter } from './outside-count.ts'
import { believe, type Pricing } from './possible-usage.ts'
import type { SeenInputs } from './seen-inputs.ts'
import { tariffOf, turnTariff } from './tariffs.ts'
import { type Fees, feesOf, heldFees, IMAGES } from './tool-fees.ts'

/** Who ended a turn that has a reply of its own, or was cut off before that with a fault. */
export function turnEndedBy({ head: { cancel } }: Received, turn: Turn): EndedBy {
  const { refused, aborted, fault, begun } = turn
  if (aborted) return cancel.reason ? enderOf(cancel.reason, begun) : 'caller'
  if (refused) return 'operator'
  if (lostToSlowReader(turn)) return 'caller'
  return fault ? enderOf(fault, begun) : 'model'
}

/** Milliseconds after which a server may give up a connection that takes nothing. */
const PATIENCE = 10_000

/**
 * True where the connection was lost after the reply had been held back for long: a provider that ends one which takes nothing
 * has not failed (slow reading is the caller's).
 */
export function lostToSlowReader({ fault, heldBack = 0 }: { fault?: Turn['fault']; heldBack?: Turn['heldBack'] }): boolean {
  return fault?.code === 'upstream_cut' && heldBack >= PATIENCE
}

/** @param exchange as the turn was sent: what later turns add to the request must not be there yet. */
export function countOf(exchange: Accepted & MaybeAimed & MaybePlanned, turn: Turn, endedBy: EndedBy): Count {
  believe(exchange, turn, () => pricingOf(exchange, turn))
  const { usage, relayed, images = 0, hidden = 0, cut, stopped } = turn
  // Hidden reasoning is added only to a turn that was cut off. Where the model ended by itself, the usage report has it, or it is unknown.
  const isByItself = endedBy === 'model' && !stopped
  const unreported = isByItself && countsOutput(usage) ? 0 : estimateFromBytes(relayed) + (isByItself ? 0 : hidden)
  const room = unreported === 0 ? 0 : Math.max(0, outputCap(exchange, turn) - (usage?.output ?? 0))
  return {
    reported: usage,
    unreported: Math.min(unreported, room),
    pictured: estimateFromBytes(images * MEDIA_BYTES),
    input: (usage && !usage.inputUnknown) || cut ? 0 : sentEstimate(exchange, turn.endpoint),
    cut,
  }
}

function pricingOf(exchange: Accepted & MaybeAimed & MaybePlanned, turn: Turn): Pricing {
  const tariff = turnTariff(exchange, turn)
  return { tariff, extras: turn.extras ?? chargedExtras(exchange, turn.endpoint), held: exchange.run.turnHold.amount }
}

/** Counts a turn that has ended well before the request of the next one is built: whatever comes later, it is paid for. */
export function countTurn(exchange: Accepted & MaybeAimed & MaybePlanned, turn: Turn): void {
  turn.usage = countedUsage(countOf(exchange, turn, 'model'))
  turn.relayed = 0
  turn.images = 0
  turn.hidden = 0
}

const NO_CAP = Number.POSITIVE_INFINITY

/** The most tokens that the turn can have brought. A cap of the caller's that its provider was not sent bounds nothing. */
function outputCap(exchange: MaybePlanned, { endpoint, cap }: Turn): number {
  const held = capOf(exchange, endpoint)?.tokens
  return Math.min(cap ?? NO_CAP, held ?? NO_CAP, endpoint.maxOutput ?? NO_CAP)
}

/** Undefined for nearly all requests. */
function ownFees(exchange: Accepted): Fees | undefined {
  return otherTools(exchange).length > 0 ? feesOf(exchange) : undefined
}

/** What a charge counts beside the usage; undefined where there is nothing. @param endpoint the one that served. */
export function chargedExtras(exchange: Accepted & MaybeAimed, endpoint: Endpoint | undefined): Extras | undefined {
  const fees = ownFees(exchange)
  const advised = endpoint && (exchange.wish?.advisors.length ?? 0) > 0
  if (!fees && !advised) return exchange.request.mayHoldMedia ? { images: imageCount(exchange) } : undefined
  return {
    images: imageCount(exchange),
    containers: fees?.containers,
    tariffOf: endpoint && ((model) => otherTariff(exchange, endpoint, model)),
  }
}

/** @param model as the usage names it. */
function otherTariff(exchange: Accepted & MaybeAimed, endpoint: Endpoint, model: string): Tariff | undefined {
  if (model === IMAGES) return typeof endpoint.price === 'object' ? endpoint.price.drawing : undefined
  const advisor = advisorAt(exchange, endpoint, model)
  return advisor && tariffOf(exchange, advisor)
}

/** The same for a hold, with all calls that the provider may run. */
export function heldExtras(exchange: Aimed): Extras | undefined {
  const webSearches = searchBound(exchange)
  const fees = ownFees(exchange)
  const {
    wish: { advisors },
  } = exchange
  if (!exchange.request.mayHoldMedia && webSearches === 0 && !fees && advisors.length === 0) return undefined
  const advice = advisors.flatMap(({ uses, endpoints }) =>
    endpoints.slice(0, 1).map((endpoint) => ({ uses, tariff: tariffOf(exchange, endpoint) })),
  )
  const extras: Extras = { images: imageCount(exchange), webSearches, advice }
  if (!fees) return extras
  return { ...extras, ...heldFees(fees, exchange.request.body) }
}

export interface Payer {
  /** As it is now. */
  readonly key: ApiKey
  readonly credit: CreditBook
  readonly upstreams: ChainDependencies['upstreams']
  readonly seen: SeenInputs
  /** Absent where nothing may be sent. */
  readonly counter?: InputCounter | undefined
}

export interface Reservation extends Pick<Plan, 'candidates' | 'outputCaps'> {
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
  const row = { seq, tag, key: key.identity, payer: payerOf(key), model: costs.heldAt.model.slug, endpoint: costs.heldAt.id }
  return costs.hold.write(journal, row)
}

/**
 * A turn is over: what it cost stays held, the rest is free for the next one.
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
  return charge(usage, turnTariff(exchange, turn), turn.extras ?? chargedExtras(exchange, turn.endpoint)).total
}

/** The output cap that the endpoint is sent; undefined where none is needed to keep the charge within the hold. */
export function upstreamCap(exchange: MaybePlanned, endpoint: Endpoint): number | undefined {
  const cap = capOf(exchange, endpoint)
  if (cap === undefined) return undefined
  const declared = endpoint.maxOutput
  return declared !== undefined && cap.tokens >= declared ? undefined : cap.tokens
}

/** What the endpoint may write at most, where the caller's own cap is above that; undefined where it is not. */
export function loweredCap(exchange: Accepted, endpoint: Endpoint): number | undefined {
  const own = callerCap(exchange) ?? 0
  const fitting = fittingCap(exchange, endpoint, own)
  return fitting < own ? fitting : undefined
}

/** A cap of the caller's, lowered to what the endpoint writes and to what the input leaves of its context. */
function fittingCap(exchange: Accepted, endpoint: Endpoint, own: number): number {
  const declared = Math.min(own, endpoint.maxOutput ?? own)
  const context = contextOf(endpoint)
  if (context === Number.POSITIVE_INFINITY) return declared
  return Math.min(declared, capWithin(endpoint, contextNeed(exchange, context)))
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
 * floor is as high as its maximum, and where the credit does not reach so far it leaves the plan.
 */
function outputNeed(exchange: Guarded, endpoint: Endpoint, payer: Payer, limited: boolean): OutputNeed {
  const tariff = tariffOf(exchange, endpoint)
  if (exchange.request.client.embedding) return cappedNeed(tariff, 0)
  const declared = endpoint.maxOutput
  const capped = takesCap(endpoint, payer.upstreams, limited)
  const own = capped ? callerCap(exchange) : undefined
  const { min_output_tokens: lowest = 1 } = endpoint.quirks ?? endpoint.provider.quirks
  if (own !== undefined) return cappedNeed(tariff, Math.max(lowest > 1 ? lowest : 0, fittingCap(exchange, endpoint, own)))
  const { defaultMaxOutput } = exchange.head.config
  const byHand = capped && limited ? (payer.key.defaultMaxOutput ?? endpoint.model.defaultMaxOutput ?? defaultMaxOutput) : undefined
  const most = byHand === undefined ? (declared ?? UNKNOWN_MAX_OUTPUT) : Math.min(byHand, declared ?? byHand)
  const fitting = Math.max(lowest, Math.min(most, roomAt(exchange, endpoint, most)))
  return byHand === undefined && capped ? openNeed(tariff, fitting) : cappedNeed(tariff, fitting)
}

/** Tokens that the input leaves of the endpoint's context, counted as far as they are fewer than `most`. */
function roomAt(exchange: Guarded, endpoint: Endpoint, most: number): number {
  const context = contextOf(endpoint)
  if (context === Number.POSITIVE_INFINITY) return most
  const need = contextNeed(exchange, context - most)
  return need.input + need.cap <= context - most ? most : capWithin(endpoint, { ...need, cap: most })
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
  // Copied, since a list that has grown keeps room for sixteen more.
  return { candidates: left, outputCaps: caps.slice(), outputCap: largest }
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
  const spender = { key: payer.key, account: refusal.account, now: exchange.head.clock.now() }
  if (isBudgetTightest(tightest)) throw overBudget(tightest, refusal.needed, spender)
  const capped = candidates.filter((endpoint) => takesCap(endpoint, payer.upstreams, true))
  const affordable = affordableTokens(exchange, capped, input, left)
  throw noCredit({ needed: refusal.needed, tightest, affordable }, spender)
}

/** @param capped the candidates that take an output cap. */
function affordableTokens(exchange: Guarded, capped: readonly Endpoint[], input: InputNeed, left: number): number {
  const tokens = capped.reduce(
    (best, endpoint) => Math.max(best, affordableOutput(tariffOf(exchange, endpoint), input.tokens, left, input.extras)),
    0,
  )
  return Math.max(0, Math.floor(tokens))
}

/** The hold of a request before its first call: the most that it may cost over all endpoints that may serve, cut to what the credit leaves. */
import { entryAt } from '../../core/entry-at.ts'
import type { Allowance, CreditAccount, CreditBook } from '../../ledger/allowance.ts'
import {
  affordableOutput,
  cappedNeed,
  holdFor,
  holdNeed,
  type InputNeed,
  type OutputNeed,
  openNeed,
  outputInFull,
  outputWithin,
  UNKNOWN_MAX_OUTPUT,
} from '../../ledger/pricing.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import { capWithin } from '../../routing/index.ts'
import type { ChainDependencies } from '../dependencies.ts'
import type { Guarded } from '../exchange.ts'
import type { OutputCap, Plan } from '../records.ts'
import { contextNeed, weighedBound } from '../request/client-request.ts'
import { type HoldPart, isBudgetTightest, keySpending, noCredit, overBudget } from './hold.ts'
import { fittingCap, uncappedThought } from './output-caps.ts'
import type { InputCounter } from './outside-count.ts'
import type { SeenInputs } from './seen-inputs.ts'
import { exchangeTariff } from './tariffs.ts'
import { heldExtras } from './turn-cost.ts'

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
  /** A limit applies. */
  readonly limited: boolean
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
  const { account, allowances, limited } = keySpending(payer.key, exchange.demand.budgets, payer.credit)
  const input = inputNeed(exchange)
  const needs = candidates.map((endpoint) => outputNeed(exchange, endpoint, payer, limited))
  const { ask, inputCost } = holdNeed(needs, input)
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
  return { account, part, limited, candidates, outputCaps, input: input.tokens, outputCap }
}

function inputNeed(exchange: Guarded): InputNeed {
  const { need } = exchange.request
  const isTokensAlone = need.isTokensAlone && exchange.demand.advisors.length === 0
  return { tokens: need.textBound ?? weighedBound(exchange), extras: isTokensAlone ? undefined : heldExtras(exchange) }
}

/** True where the endpoint's requests carry an output cap. @param limited a limit applies: the cap is held, and sent with it. */
function takesCap({ provider, quirks = provider.quirks, supported }: Endpoint, upstreams: Payer['upstreams'], limited: boolean): boolean {
  return upstreams.get(provider.dialect)?.cap.sends({ quirks, supported }, limited) === true
}

/** Tokens that the endpoint may have to write: an answer, and a thought beside it where its cap does not bound that. */
function outputNeed(exchange: Guarded, endpoint: Endpoint, payer: Payer, limited: boolean): OutputNeed {
  const { tokens, isOpen } = answerTokens(exchange, endpoint, payer, limited)
  const tariff = exchangeTariff(exchange, endpoint)
  const need = isOpen ? openNeed(tariff, tokens) : cappedNeed(tariff, tokens)
  const { quirks = endpoint.provider.quirks } = endpoint
  if (quirks.thought_beyond_max_tokens === undefined || exchange.request.client.embedding) return need
  const thought = uncappedThought(endpoint)
  return thought === 0 ? need : { ...need, most: need.most + thought, least: need.least + thought }
}

/**
 * The caller's own cap holds as it is, then one that the operator set by hand; without either the credit decides. A cap that is
 * not sent binds no provider, so it counts for nothing here, and one set by hand is sent only where a limit applies. Under a
 * limit an endpoint that takes no cap has to be paid for all that it may write: a smaller share could not be enforced, so the
 * floor is as high as its maximum, and where the credit does not reach so far it leaves the plan.
 * @returns `isOpen` where the cap follows the credit.
 */
function answerTokens(exchange: Guarded, endpoint: Endpoint, payer: Payer, limited: boolean): { tokens: number; isOpen: boolean } {
  if (exchange.request.client.embedding) return { tokens: 0, isOpen: false }
  const declared = endpoint.maxOutput
  const capped = takesCap(endpoint, payer.upstreams, limited)
  const own = capped ? exchange.request.need.cap : undefined
  const { min_output_tokens: lowest = 1 } = endpoint.quirks ?? endpoint.provider.quirks
  if (own !== undefined) return { tokens: Math.max(lowest > 1 ? lowest : 0, fittingCap(exchange, endpoint, own)), isOpen: false }
  const { defaultMaxOutput } = exchange.head.config
  const byHand = capped && limited ? (payer.key.defaultMaxOutput ?? endpoint.model.defaultMaxOutput ?? defaultMaxOutput) : undefined
  const most = byHand === undefined ? (declared ?? UNKNOWN_MAX_OUTPUT) : Math.min(byHand, declared ?? byHand)
  const { context } = endpoint
  const { textBytes, cap = 0 } = exchange.request.need
  const room = context === undefined || textBytes + cap <= context - most ? most : roomAt(exchange, endpoint, context - most, most)
  const tokens = Math.max(lowest, Math.min(most, room))
  return { tokens, isOpen: byHand === undefined && capped }
}

/** Tokens that the input leaves of the endpoint's context, counted as far as they are fewer than `most`. @param before the rest of the context. */
function roomAt(exchange: Guarded, endpoint: Endpoint, before: number, most: number): number {
  const need = contextNeed(exchange, before)
  return need.input + need.cap <= before ? most : capWithin(endpoint, { ...need, cap: most })
}

type Capped = Pick<Reservation, 'candidates' | 'outputCaps' | 'outputCap'>

function uncapped(candidates: readonly Endpoint[], needs: readonly OutputNeed[]): Capped {
  let outputCap = 0
  for (const { most } of needs) outputCap = Math.max(outputCap, most)
  return { candidates, outputCaps: undefined, outputCap }
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
      caps.push({ endpoint, tokens: Math.max(0, tokens - uncappedThought(endpoint)), lowered: tokens < need.most })
  }
  const left = dropped ? candidates.filter((endpoint) => !dropped.has(endpoint)) : candidates
  // Copied, since a list that has grown keeps room for sixteen more.
  return { candidates: left, outputCaps: caps.slice(), outputCap: largest }
}

/** Nano-dollars of the input at the dearest candidate. */
function mostInputCost(exchange: Guarded, candidates: readonly Endpoint[], { tokens, extras }: InputNeed): number {
  return candidates.reduce((most, endpoint) => Math.max(most, holdFor(exchangeTariff(exchange, endpoint), tokens, 0, extras).floor), 0)
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
    (best, endpoint) =>
      Math.max(best, affordableOutput(exchangeTariff(exchange, endpoint), input.tokens, left, input.extras) - uncappedThought(endpoint)),
    0,
  )
  return Math.max(0, Math.floor(tokens))
}

/** Credit for a generating request of the pass-through: what its body, its answer and its outside input may cost at most. */
import { Fault } from '../../core/faults.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { holdFor, type Tariff } from '../../ledger/pricing.ts'
import { TOOL_PROMPT_TOKENS } from '../../ledger/settlement.ts'
import { mayReason } from '../money/hidden-reasoning.ts'
import { endpointNeed, keepNeeds, type Need, ownSearchPrice, type Purse, searchesOfModel } from '../money/outside-need.ts'
import { HELD_MEDIA_TOKENS } from '../request/client-request.ts'
import { feesBetween, type NativeFees, nativeFees, unpricedTool } from './native-fees.ts'
import { mediaIn } from './native-input.ts'
import { findDearest, isEndpoint, type PricedModel, type PriceList, pricedModels, requestModels, SAMPLE } from './native-prices.ts'
import type { NativeReading, Unread } from './native-reading.ts'
import type { NativeRequest } from './native-requests.ts'
import { type AnswerModel, longestAnswer } from './native-terms.ts'
import { tierWords, unpricedTier } from './requested-tier.ts'

/** Highest cost of one request, and the model and counts that it comes from. */
export interface Bound {
  readonly models: readonly PricedModel[]
  readonly body: JsonObject
  /** The dearest that may serve, and its price. */
  readonly model: PricedModel
  readonly tariff: Tariff
  readonly input: number
  readonly output: number
  /** Number of answers that the request wants. */
  readonly answers: number
  readonly need: Need
  readonly fees: NativeFees
  /** Words of the request for the tier that is to serve. */
  readonly tiers: readonly Json[]
  /** Nano-dollars of what is in the body: of all of it, and without the answer. */
  readonly own: number
  readonly floor: number
  /** The same with outside input and all calls of tools: the charge where nothing is reported. */
  readonly full: number
  /** Nano-dollars to keep free beside the hold and the outside input: calls that it has no bound of. */
  readonly beyond: number
}

export interface BoundNative {
  readonly wire: string
  readonly bounds: readonly Bound[]
  /** True where the reply says nothing of what the work has cost. */
  readonly isLater: boolean
  /** Nano-dollars of all that is in the bodies, and of the input alone. */
  readonly own: number
  readonly floor: number
  /** The same with outside input: the charge where nothing is reported. */
  readonly full: number
}

/** @param at milliseconds since the epoch. @returns `Unread` where no price of a model is known. */
export function boundNative(native: NativeRequest, reading: NativeReading, prices: PriceList & { at: number }): BoundNative | Unread {
  const bounds: Bound[] = []
  for (const body of reading.requests) {
    const bound = boundRequest(native, body, { reading, prices })
    if ('unread' in bound) return { ...bound, body: reading.body }
    bounds.push(bound)
  }
  const sum = (amount: (bound: Bound) => number): number => bounds.reduce((total, bound) => total + amount(bound), 0)
  const [own, floor, full] = [sum((bound) => bound.own), sum((bound) => bound.floor), sum((bound) => bound.full)]
  return { wire: native.wire, bounds, isLater: reading.isLater, own, floor, full }
}

interface Setting {
  readonly reading: NativeReading
  readonly prices: PriceList & { at: number }
}

function boundRequest(native: NativeRequest, body: JsonObject, { reading, prices }: Setting): Bound | Unread {
  const names = requestModels(native, body)
  if (!names) return { unread: 'a model that the request does not name', help: 'name the model' }
  const models: PricedModel[] = []
  for (const name of names) {
    const priced = pricedModels(prices, name, native.replies === 'vectors')
    if (priced.length === 0)
      return { unread: `${name}, of which no price is known`, help: 'have the operator add the model with its price' }
    models.push(...priced)
  }
  const advisorPrice = (name: string): Tariff | undefined =>
    findDearest(pricedModels(prices, name, false), body, prices.at, (_, each) => holdFor(each, SAMPLE, SAMPLE).hold)?.tariff
  const fees = nativeFees(body, { wire: native.wire, table: reading.table, price: advisorPrice })
  const tool = unpricedTool(fees, models)
  if (tool !== undefined)
    return {
      unread: `tools: ${tool}, of which no price is known`,
      help: 'leave it out, or have the operator state its price with the model',
    }
  const words = tierWords(body, reading.headers)
  const tier = unpricedTier(words, models)
  if (tier !== undefined)
    return { unread: `${tier}, of which no price is known`, help: 'leave it out, or have the operator add an endpoint of that tier' }
  const bytes = reading.requests.length === 1 ? reading.body.length : Buffer.byteLength(JSON.stringify(body))
  const [texts, media] = [bytes + TOOL_PROMPT_TOKENS, mediaIn(body)]
  const answers = native.terms.answers(body)
  const modelOutput = (model: PricedModel): number =>
    answers * Math.min(longestAnswer(native.terms, body, answerModel(model)), model.context ?? Number.POSITIVE_INFINITY)
  // Each input of a list of vectors has a context to itself, which a medium may fill, whatever its bytes are.
  const modelInput = (model: PricedModel): number => {
    const context = model.context ?? Number.POSITIVE_INFINITY
    if (native.replies !== 'vectors') return Math.min(texts + media * HELD_MEDIA_TOKENS, context)
    return texts + media * (Number.isFinite(context) ? Math.max(context, HELD_MEDIA_TOKENS) : HELD_MEDIA_TOKENS)
  }
  const modelHold = (model: PricedModel, tariff: Tariff): number =>
    holdFor(tariff, modelInput(model), modelOutput(model), fees.searched).hold
  const dearest = findDearest(models, body, prices.at, modelHold)
  if (!dearest) return { unread: 'a model that the request does not name', help: 'name the model' }
  const { model, tariff } = dearest
  const [input, output] = [modelInput(model), modelOutput(model)]
  const searches = ownSearchPrice(model)
  const inputs = searches > 0 ? [...reading.inputs, searchesOfModel(searches)] : reading.inputs
  const need = endpointNeed(model, inputs, { tariff, body: input })
  const { hold: own, floor } = holdFor(tariff, input, output, fees.held)
  const full = own + need.full + feesBetween(tariff, input, { held: fees.held, more: fees.most })
  const beyond = feesBetween(tariff, input, { held: fees.held, more: fees.searched })
  return { models, body, model, tariff, input, output, answers, need, fees, tiers: words.map(({ word }) => word), own, floor, full, beyond }
}

/** A provider whose caps bound different things has models that know one field and models that know both: only an endpoint says which. */
function answerModel(model: PricedModel): AnswerModel {
  const described = isEndpoint(model) ? model : undefined
  const quirks = described?.quirks ?? model.provider.quirks
  const { max_tokens_field: field, thought_beyond_max_tokens: beyond } = quirks
  const thought = beyond === undefined || (described && !mayReason(described)) ? 0 : beyond
  return {
    longest: model.maxOutput,
    capField: described || beyond === undefined ? field : undefined,
    thought,
    ignoresOlder: quirks.ignores_max_tokens === true,
  }
}

/**
 * Takes a hold for what is in the body, and keeps credit free for what is not.
 * @throws Fault 402 or 403.
 */
export async function keepNative({ bounds }: BoundNative, purse: Purse): Promise<void> {
  // The work of a batch is done together.
  const all: Need = {
    inputs: bounds.flatMap(({ need }) => need.inputs),
    tokens: bounds.reduce((sum, { need }) => sum + need.tokens, 0),
    full: bounds.reduce((sum, { need, beyond }) => sum + need.full + beyond, 0),
    least: bounds.reduce((sum, { need }) => sum + need.least, 0),
  }
  await keepNeeds([all], purse)
}

/** A request whose cost nothing bounds, of a key with a limit and a provider without a price for such requests. */
export function unreadFault({ unread, help }: Unread, provider: string): Fault {
  return new Fault('forbidden', {
    message: `${unread}: a key with a limit needs a bound of what the request may cost: ${help}, or have the operator set providers.${provider}.pass_through.unread_price`,
    metadata: { setting: `providers.${provider}.pass_through.unread_price` },
  })
}

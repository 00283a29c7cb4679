/** Credit for a generating request of the pass-through: what its body, its answer and its outside input may cost at most. */
import { Fault } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import { holdFor, type Tariff } from '../../ledger/pricing.ts'
import { TOOL_PROMPT_TOKENS } from '../../ledger/settlement.ts'
import { mayReason } from '../money/hidden-reasoning.ts'
import { endpointNeed, keepNeeds, type Need, ownSearchPrice, type Purse, searchesOfModel } from '../money/outside-need.ts'
import { HELD_MEDIA_TOKENS } from '../request/client-request.ts'
import { mediaIn } from './native-input.ts'
import { findDearest, isEndpoint, type PricedModel, type PriceList, pricedModels, requestModels } from './native-prices.ts'
import type { NativeReading, Unread } from './native-reading.ts'
import type { NativeRequest } from './native-requests.ts'
import { type AnswerModel, longestAnswer } from './native-terms.ts'

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
  /** Nano-dollars without and with its outside input. */
  readonly own: number
  readonly full: number
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
  const floor = sum(({ tariff, input }) => holdFor(tariff, input, 0).floor)
  return { wire: native.wire, bounds, isLater: reading.isLater, own: sum(({ own }) => own), floor, full: sum(({ full }) => full) }
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
  const bytes = reading.requests.length === 1 ? reading.body.length : Buffer.byteLength(JSON.stringify(body))
  const sent = bytes + TOOL_PROMPT_TOKENS + mediaIn(body) * HELD_MEDIA_TOKENS
  const answers = native.terms.answers(body)
  const modelOutput = (model: PricedModel): number => {
    const longest = longestAnswer(native.terms, body, answerModel(model))
    return answers * Math.min(longest, model.context ?? longest)
  }
  // Each input of a list of vectors has a context to itself.
  const modelInput = (model: PricedModel): number => (native.replies === 'vectors' ? sent : Math.min(sent, model.context ?? sent))
  const modelHold = (model: PricedModel, tariff: Tariff): number => holdFor(tariff, modelInput(model), modelOutput(model)).hold
  const dearest = findDearest(models, body, prices.at, modelHold)
  if (!dearest) return { unread: 'a model that the request does not name', help: 'name the model' }
  const { model, tariff } = dearest
  const [input, output] = [modelInput(model), modelOutput(model)]
  const searches = ownSearchPrice(model)
  const inputs = searches > 0 ? [...reading.inputs, searchesOfModel(searches)] : reading.inputs
  const need = endpointNeed(model, inputs, { tariff, body: input })
  const own = holdFor(tariff, input, output).hold
  return { models, body, model, tariff, input, output, answers, need, own, full: own + need.full }
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
  await keepNeeds(
    bounds.map(({ need }) => need),
    purse,
  )
}

/** A request whose cost nothing bounds, of a key with a limit and a provider without a price for such requests. */
export function unreadFault({ unread, help }: Unread, provider: string): Fault {
  return new Fault('forbidden', {
    message: `${unread}: a key with a limit needs a bound of what the request may cost: ${help}, or have the operator set providers.${provider}.pass_through.unread_price`,
    metadata: { setting: `providers.${provider}.pass_through.unread_price` },
  })
}

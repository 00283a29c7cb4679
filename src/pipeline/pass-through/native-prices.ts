/** Prices of the model that a request of the pass-through names: from the endpoints of its provider, else from the price snapshot. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { requestedTier } from '../../core/service-tiers.ts'
import type { End } from '../../dialects/canon/events.ts'
import { holdFor, type Tariff, tariffAt, tariffFrom } from '../../ledger/pricing.ts'
import { declaredPrice } from '../../routing/catalog/endpoints.ts'
import type { Endpoint, Provider } from '../../routing/catalog/types.ts'
import { servedPrice } from '../money/served-price.ts'
import { type NativeRequest, requestModel } from './native-requests.ts'

export type PricedModel = Pick<Endpoint, 'price' | 'provider' | 'context' | 'maxOutput'>

export interface PriceList {
  readonly provider: Provider
  /** Endpoints of the provider. */
  readonly endpoints: readonly Endpoint[]
}

/** Other models by which the same request may be served (Anthropic and OpenRouter: `fallbacks`, `models`). */
function namesIn(value: Json | undefined): (string | undefined)[] {
  if (value === undefined || value === null) return []
  // By `fallbacks: default` the provider goes on to models of its own choice, which have prices of their own.
  if (!Array.isArray(value)) return [undefined]
  return value.map((each) => (typeof each === 'string' ? each : isObject(each) && typeof each.model === 'string' ? each.model : undefined))
}

/** The models that may serve. @returns undefined for one that is not named, or is chosen by what stands elsewhere. */
export function requestModels(native: NativeRequest, body: JsonObject): readonly string[] | undefined {
  // A preset of another router has a model of its own.
  if (body.preset !== undefined) return undefined
  const names = [requestModel(native, body), ...namesIn(body.models), ...namesIn(body.fallbacks)]
  const known = names.filter((name) => name !== undefined)
  return known.length === names.length ? known : undefined
}

/** @returns nothing where no price of the model is known. */
export function pricedModels({ provider, endpoints }: PriceList, model: string, embeds: boolean): readonly PricedModel[] {
  const listed = endpoints.filter(({ upstreamModel, price }) => upstreamModel === model && price !== 'unpriced')
  if (listed.length > 0) return listed
  if (endpoints.some(({ upstreamModel }) => upstreamModel === model) || provider.baseUrl === undefined) return []
  const price = declaredPrice('snapshot', provider, model, embeds ? 'embedding' : 'generate')
  return price === 'unpriced' ? [] : [{ price, provider, context: undefined, maxOutput: undefined }]
}

const requestRegion = ({ inference_geo: region }: JsonObject): string | undefined => (typeof region === 'string' ? region : undefined)

/** The dearest that one of them may charge for a request that begins now. */
export function findDearest(
  models: readonly PricedModel[],
  body: JsonObject,
  at: number,
  priceModel: (model: PricedModel, tariff: Tariff) => number,
): { model: PricedModel; tariff: Tariff } | undefined {
  let most: { model: PricedModel; tariff: Tariff; cost: number } | undefined
  for (const model of models) {
    const tariff = tariffFrom(model, at, requestRegion(body))
    const cost = priceModel(model, tariff)
    if (!most || cost > most.cost) most = { model, tariff, cost }
  }
  return most
}

/** Tokens of each side that prices are compared for. */
export const SAMPLE = 1_000

/**
 * Price at which a reply is charged. Where the reply does not state the tier that served it, the dearest that the request may have had.
 * @param tiers words of the request for the tier.
 */
export function chargedTariff(
  models: readonly PricedModel[],
  body: JsonObject,
  { end, at, tiers }: { end: End | undefined; at: number; tiers: readonly Json[] },
): Tariff {
  const isReported = end?.tier !== undefined || end?.unknownTier !== undefined
  const isUsual = isReported || tiers.every((word) => requestedTier(word) === 'default' || word === 'auto')
  const usual = models.filter((model) => !('tier' in model) || model.tier === undefined)
  const called = findDearest(
    isUsual && usual.length > 0 ? usual : models,
    body,
    at,
    (_, tariff) => holdFor(tariff, SAMPLE, SAMPLE).hold,
  )?.model
  if (!called) return 'unpriced'
  const served = isEndpoint(called) ? servedPrice({ endpoint: called, end }, at).endpoint : called
  return tariffAt(served, at, requestRegion(body))
}

export const isEndpoint = (model: PricedModel): model is Endpoint => 'upstreamModel' in model

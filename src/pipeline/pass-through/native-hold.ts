/** Credit for the outside input of a generating request of the pass-through, and what its reply says that it came to. */
import { Fault } from '../../core/faults.ts'
import type { Usage } from '../../dialects/canon/usage.ts'
import { charge, holdFor, type Tariff, tariffAt, UNKNOWN_MAX_OUTPUT } from '../../ledger/pricing.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import { keepNeeds, type Need, needOf, type Purse, UNKNOWN_CONTEXT } from '../money/outside-need.ts'
import type { NativeReading } from './native-reading.ts'

export interface HeldNative {
  readonly tariff: Tariff
  /** Nano-dollars that one request of the model can cost at most: what is reported beyond it is not believed. */
  readonly most: number
}

/**
 * Keeps credit free for outside input, at the price of the dearest endpoint that may be the one.
 * @param endpoints of the provider. @param at milliseconds since the epoch.
 * @returns undefined where there is no outside input.
 * @throws Fault 402 or 403 naming the input; 403 where no price of it is known.
 */
export async function keepNative(
  { model, inputs }: NativeReading,
  endpoints: readonly Endpoint[],
  { at, ...purse }: Purse & { at: number },
): Promise<HeldNative | undefined> {
  if (inputs.length === 0) return undefined
  const named = endpoints.filter(({ upstreamModel }) => upstreamModel === model)
  let dearest: { endpoint: Endpoint; tariff: Tariff; need: Need } | undefined
  for (const endpoint of named.length > 0 ? named : endpoints) {
    const tariff = tariffAt(endpoint, at)
    if (tariff === 'unpriced') continue
    const need = needOf(endpoint, inputs, { tariff, body: 0 })
    if (!dearest || need.full > dearest.need.full) dearest = { endpoint, tariff, need }
  }
  if (!dearest) {
    const [{ field, help } = { field: 'input', help: 'leave it out' }] = inputs
    throw new Fault('forbidden', {
      message: `${field}: it adds input that is not in the request, and no price of ${model ?? 'the model'} is known, which a key with a limit needs: ${help}, or have the operator add the model`,
      metadata: { field },
    })
  }
  await keepNeeds([dearest.need], purse)
  const { endpoint, tariff } = dearest
  return { tariff, most: holdFor(tariff, endpoint.context ?? UNKNOWN_CONTEXT, endpoint.maxOutput ?? UNKNOWN_MAX_OUTPUT).hold }
}

/** Nano-dollars. @param price of the request, which is its least. */
export function nativeCost(price: number, { tariff, most }: HeldNative, usage: Usage | undefined): number {
  return usage ? Math.max(price, Math.min(most, charge(usage, tariff).total)) : price
}

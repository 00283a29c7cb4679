/** Rest of a key's limits per minute, for replies that are not written by the chain: those of the pass-through, and the 101 of a WebSocket. */
import type { Clock } from '../../core/clock.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import { addRateHeaders, type RateForm, SeenRates } from '../rate-headers.ts'
import type { Admission } from './admission.ts'

/** Of limits that others use as well no sums are shown. @returns undefined where there is nothing to show. */
export function shownRates({ issuer, limits: { requests, tokens } }: ApiKey): SeenRates | undefined {
  return !issuer && (requests !== undefined || tokens !== undefined) ? new SeenRates() : undefined
}

export interface RateScene {
  readonly admission: Pick<Admission, 'request' | 'look'>
  readonly clock: Pick<Clock, 'now'>
  readonly form: RateForm
}

/** Takes one request of the key's minute. @param headers get what is left, also where it is refused. @throws Fault 429. */
export async function takeRequest(key: ApiKey, { admission, clock, form }: RateScene, headers: Record<string, string>): Promise<void> {
  const rates = shownRates(key)
  try {
    await admission.request(key, rates)
  } finally {
    if (rates) addRateHeaders(headers, rates, form, clock.now())
  }
}

/** Rest of the limits at this moment, with nothing taken. */
export async function keyRateHeaders(key: ApiKey, { admission, clock, form }: RateScene): Promise<Record<string, string>> {
  const rates = shownRates(key)
  const headers: Record<string, string> = {}
  if (!rates) return headers
  await admission.look(key, rates)
  addRateHeaders(headers, rates, form, clock.now())
  return headers
}

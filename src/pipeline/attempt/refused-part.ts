/** What of a request a provider has refused and the request may do without. */
import { Fault } from '../../core/faults.ts'
import { refusesEffort } from '../../dialects/canon/efforts.ts'
import { isBound } from '../../dialects/canon/reasoning-owner.ts'
import type { Planned } from '../exchange.ts'

/**
 * @param endpoint its id. @returns the list of the exchange that the endpoint belongs into; undefined where the failure is another one,
 * or the endpoint stands there already.
 */
export function refusedPart(
  thrown: unknown,
  { head, request, run }: Planned,
  endpoint: string,
): 'withoutReasoning' | 'withoutEffort' | undefined {
  if (!(thrown instanceof Fault) || head.cancel.aborted) return undefined
  const part = thrown.refusesReasoning ? 'withoutReasoning' : refusesEffort(thrown.sentence) ? 'withoutEffort' : undefined
  if (part === undefined || run[part]?.has(endpoint)) return undefined
  const { items, reasoning } = request.canonical()
  const isThere = part === 'withoutEffort' ? reasoning !== undefined : items.some(isBound)
  return isThere ? part : undefined
}

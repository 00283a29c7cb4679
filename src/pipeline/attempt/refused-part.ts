/** Parts of a request that a provider has refused and that may be left out. */
import { Fault } from '../../core/faults.ts'
import { refusedEffort } from '../../dialects/canon/efforts.ts'
import { isBound } from '../../dialects/canon/reasoning-owner.ts'
import type { Planned } from '../exchange.ts'
import { refusesOptions } from './refused-options.ts'

type Part = 'withoutReasoning' | 'withoutEffort' | 'withoutOptions'

function partNamed({ refusesReasoning, sentence }: Fault): Part | undefined {
  if (refusesReasoning) return 'withoutReasoning'
  if (refusedEffort(sentence)) return 'withoutEffort'
  return refusesOptions(sentence) ? 'withoutOptions' : undefined
}

/**
 * @param endpoint its id. @returns the list of the exchange that the endpoint belongs into; undefined where the failure is another one,
 * or the endpoint stands there already.
 */
export function refusedPart(thrown: unknown, { head, request, run }: Planned, endpoint: string): Part | undefined {
  if (!(thrown instanceof Fault) || head.cancel.aborted) return undefined
  const part = partNamed(thrown)
  if (part === undefined || run[part]?.has(endpoint)) return undefined
  if (part === 'withoutOptions') return part
  const { items, reasoning } = request.canonical()
  const isThere = part === 'withoutEffort' ? reasoning !== undefined : items.some(isBound)
  return isThere ? part : undefined
}

/** Reasoning that a provider neither shows nor has reported, by the time that it took. */
import type { Endpoint } from '../../routing/catalog/types.ts'

/** Tokens per second of an endpoint that has served nothing of late: slower than most. */
const SLOW_PACE = 20

/** @param ms from the head of the reply to its first content. @param pace tokens per second of the endpoint, where they are known. */
export function hiddenReasoning({ supported }: Pick<Endpoint, 'supported'>, ms: number, pace = SLOW_PACE): number {
  const reasons =
    supported === undefined || supported.has('reasoning') || supported.has('reasoning_effort') || supported.has('include_reasoning')
  return reasons && ms > 0 ? (ms / 1000) * pace : 0
}

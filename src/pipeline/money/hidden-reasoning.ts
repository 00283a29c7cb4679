/** Reasoning that a provider neither shows nor has reported, by the time that it took. */
import type { Endpoint } from '../../routing/catalog/types.ts'

/** Tokens per second of an endpoint that has served nothing of late: slower than most. */
const SLOW_PACE = 20

/** True where the endpoint is not known to write without reasoning. */
export function mayReason({ supported }: Pick<Endpoint, 'supported'>): boolean {
  return supported === undefined || supported.has('reasoning') || supported.has('reasoning_effort') || supported.has('include_reasoning')
}

/** @param ms from the head of the reply to its first content. @param pace tokens per second of the endpoint, where they are known. */
export function hiddenReasoning(endpoint: Pick<Endpoint, 'supported'>, ms: number, pace = SLOW_PACE): number {
  return mayReason(endpoint) && ms > 0 ? (ms / 1000) * pace : 0
}

/** Opens what processes share: through Redis or Valkey where there is an address, else within this process alone. */
import type { Clock } from '../../core/clock.ts'
import type { OutageNews } from './fallback-counters.ts'
import { MemoryCounters } from './memory-counters.ts'
import { NoNews } from './no-news.ts'
import { ShareCounters } from './share-counters.ts'
import type { Counters, NewsWire } from './types.ts'

export { FallbackCounters } from './fallback-counters.ts'
export { MemoryCounters } from './memory-counters.ts'
export { NoNews } from './no-news.ts'
export { shareOf } from './rate-law.ts'
export type { CounterAnswer, CounterAsk, Counters, NewsWire, Topic } from './types.ts'

/** `deaf`: limits are shared, but news of other processes cannot be heard. */
export type SharedReport = OutageNews | { kind: 'deaf'; reason: string }

export interface SharedSource {
  clock: Clock
  /** Processes that live, this one among them, as last known. */
  processes: () => number
  report: (news: SharedReport) => void
  /** Before every key and channel, for several gateways on one server. */
  prefix?: string
}

export interface Shared {
  readonly counters: Counters
  readonly news: NewsWire
  /** True while limits are held by shares because the server does not answer. */
  readonly alone: () => boolean
  /** Resolves once the server has answered or has had its chance; never rejected. */
  readonly ready: Promise<void>
  close(): Promise<void>
}

/**
 * @param url `redis://` or `rediss://`; undefined: counters in memory, and a wire that reaches nobody.
 * @throws Error where the address cannot be read.
 */
export async function connectShared(url: string | undefined, source: SharedSource): Promise<Shared> {
  if (url === undefined) return shareNothing(source.clock, source.processes)
  // The client of Redis is loaded by who uses it.
  const { shareThroughRedis } = await import('./redis.ts')
  return shareThroughRedis(url, source)
}

/** Without a server each process counts for itself, and where it is not the only one it takes its share of every limit. */
export function shareNothing(clock: Clock, processes: () => number = () => 1): Shared {
  const counters = new ShareCounters(new MemoryCounters(clock), processes)
  return { counters, news: new NoNews(), alone: () => false, ready: Promise.resolve(), close: () => counters.close() }
}

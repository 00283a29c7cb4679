/** Opens what processes share: through Redis or Valkey where there is an address, else within this process alone. */
import type { Clock } from '../../core/clock.ts'
import { type MetricRegistry, reading } from '../../machines/metrics/metrics.ts'
import { ShareCounters } from './fallback-counters.ts'
import { MemoryCounters } from './memory-counters.ts'
import type { PubSub, Shared, SharedSource } from './types.ts'

/** For a single process: sends nothing and receives nothing. */
class NoPubSub implements PubSub {
  readonly isSilent = true
  publish(): void {}
  subscribe(): void {}
  async close(): Promise<void> {}
}

export { FallbackCounters } from './fallback-counters.ts'
export { MemoryCounters } from './memory-counters.ts'

export { limitShare } from './rate-law.ts'
export type { CounterAnswer, CounterAsk, Counters, PubSub, Shared, SharedReport, SharedSource, Topic } from './types.ts'

/**
 * @param url `redis://` or `rediss://`; undefined: counters in memory, and no messages.
 * @throws Error where the address cannot be read.
 */
export async function connectShared(url: string | undefined, source: SharedSource): Promise<Shared> {
  if (url === undefined) return shareNothing(source.clock, source.processes)
  // The client of Redis is loaded only where it is used.
  const { shareThroughRedis } = await import('./redis.ts')
  return shareThroughRedis(url, source)
}

/** Without a server each process counts for itself, and where it is not the only one it takes its share of every limit. */
export function shareNothing(clock: Clock, processes: () => number = () => 1): Shared {
  const counters = new ShareCounters(new MemoryCounters(clock), processes)
  return { counters, pubSub: new NoPubSub(), isDegraded: () => false, ready: Promise.resolve(), close: () => counters.close() }
}

const redisUnavailable = reading(
  'gauge',
  'redis_unavailable',
  '1 while each process holds the limits by its share, because Redis, or the owner of the workers, does not answer.',
)

/** Shows in the metrics of a gateway whether the limits are shared at present. */
export function showAvailability(shared: Pick<Shared, 'isDegraded'>, metrics: MetricRegistry): void {
  metrics.of(redisUnavailable).from(() => (shared.isDegraded() ? 1 : 0))
}

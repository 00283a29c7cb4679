/** What processes share through Redis or Valkey: counters and news on two connections. */
import type { Redis } from 'ioredis'
import { FallbackCounters } from './fallback-counters.ts'
import { MemoryCounters } from './memory-counters.ts'
import { openListener, openRedis } from './redis-connection.ts'
import { RedisCounters } from './redis-counters.ts'
import { RedisNews } from './redis-news.ts'
import type { Shared, SharedSource } from './types.ts'

/** A start is not held up for longer. */
const PATIENCE_MS = 1_000
const PREFIX = 'headgate:'

/** @throws Error where the address cannot be read. */
export function shareThroughRedis(url: string, source: SharedSource): Shared {
  const { clock, report, prefix = PREFIX } = source
  let lastError: string | undefined
  const note = (reason: string): void => {
    lastError = reason
  }
  const speaker = openRedis(url, { report: note })
  const listener = openListener(url, { report: note })
  const counters = new FallbackCounters({
    clock,
    shared: new RedisCounters(speaker, { prefix }),
    local: new MemoryCounters(clock),
    processes: source.processes,
    // The connection's error names the cause; the command's error only says that there is no connection.
    report: (news) =>
      report(news.kind === 'shared-lost' && news.reason === 'not connected' ? { ...news, reason: lastError ?? news.reason } : news),
  })
  speaker.on('ready', () => void counters.check())
  const news = new RedisNews({ speaker, listener, clock, prefix, report: (reason) => report({ kind: 'news-lost', reason }) })
  const close = async (): Promise<void> => {
    await counters.close()
    await news.close()
    for (const redis of [speaker, listener]) redis.disconnect()
  }
  // Without it a start would not report a missing server before the first request that needs it.
  const ready = readyOf(speaker).then(() => counters.check())
  return { counters, news, isDegraded: () => counters.isDegraded, ready, close }
}

/** Real time: it is the socket that is waited for. */
function readyOf(redis: Redis): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, PATIENCE_MS)
    const events = ['ready', 'error', 'close'] as const
    function done(): void {
      clearTimeout(timer)
      for (const event of events) redis.off(event, done)
      resolve()
    }
    for (const event of events) redis.once(event, done)
  })
}

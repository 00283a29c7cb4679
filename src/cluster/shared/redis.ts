/**
 * State that processes share through Redis or Valkey: counters and messages, on two connections. A count is one script and one round trip,
 * by the server's clock.
 */
import type { Redis } from 'ioredis'
import { FallbackCounters } from './fallback-counters.ts'
import { MemoryCounters } from './memory-counters.ts'
import { errorSummary, openRedis, openSubscriber } from './redis-connection.ts'
import { RedisPubSub } from './redis-pub-sub.ts'
import type { CounterAnswer, CounterAsk, Counters, Shared, SharedSource } from './types.ts'

/** A start is not held up for longer. */
const MAX_WAIT_MS = 1_000
const PREFIX = 'headgate:'

/** @throws Error where the address cannot be read. */
export function shareThroughRedis(url: string, source: SharedSource): Shared {
  const { clock, report, prefix = PREFIX } = source
  let lastError: string | undefined
  const note = (reason: string): void => {
    lastError = reason
  }
  const publisher = openRedis(url, { report: note })
  const subscriber = openSubscriber(url, { report: note })
  const redisCounters = new RedisCounters(publisher, { prefix })
  const counters = new FallbackCounters({
    clock,
    shared: redisCounters,
    local: new MemoryCounters(clock),
    processes: source.processes,
    // The connection's error names the cause; the command's error only says that there is no connection.
    report: (item) =>
      report(item.kind === 'shared-lost' && item.reason === 'not connected' ? { ...item, reason: lastError ?? item.reason } : item),
  })
  const look = (): Promise<void> => redisCounters.look().then(() => counters.check())
  publisher.on('ready', () => void look())
  const pubSub = new RedisPubSub({ publisher, subscriber, clock, prefix, report: (reason) => report({ kind: 'news-lost', reason }) })
  const close = async (): Promise<void> => {
    await counters.close()
    await pubSub.close()
    for (const redis of [publisher, subscriber]) redis.disconnect()
  }
  // Without it a start would not report a missing server before the first request that needs it.
  const ready = whenReady(publisher).then(look)
  return { counters, pubSub, isDegraded: () => counters.isDegraded, ready, close }
}

/** Real time: it is the socket that is waited for. */
function whenReady(redis: Redis): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, MAX_WAIT_MS)
    const events = ['ready', 'error', 'close'] as const
    function done(): void {
      clearTimeout(timer)
      for (const event of events) redis.off(event, done)
      resolve()
    }
    for (const event of events) redis.once(event, done)
  })
}

/**
 * The law of rate-law.ts, number by number. A bucket is one string, "level milliseconds"; it expires when it has drained.
 * KEYS[1] the bucket; ARGV: limit per minute, units, "1" where they are taken always, and the time where a test sets it.
 */
const TAKE = `
local limit, take, always = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3] == '1'
if limit <= 0 then
  if take <= 0 or always then return { 1, 0, 0, 60000 } end
  return { 0, 0, 60000, 60000 }
end
local now = tonumber(ARGV[4])
local set = now
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
local function keep(level)
  -- A time that a test sets stands still while the server's goes on.
  local drained = set and 3600000 or math.ceil(level / limit)
  redis.call('SET', KEYS[1], string.format('%.0f %.0f', level, now), 'PX', string.format('%.0f', drained))
end
local level = 0
local stored = redis.call('GET', KEYS[1])
if stored then
  local was, at = string.match(stored, '^(%d+) (%d+)$')
  if was then
    was, at = tonumber(was), tonumber(at)
    level = math.max(0, was - math.max(0, now - at) * limit)
    -- The clock went back: it drains nothing, but goes on from where it is.
    if now < at then keep(was) end
  end
end
local capacity = limit * 60000
local after = math.max(0, level + take * 60000)
if after > capacity and take >= 0 and not always then
  return { 0, math.max(0, math.floor((capacity - level) / 60000)), math.ceil((after - capacity) / limit), math.ceil(level / limit) }
end
if after > 0 then
  keep(after)
elseif stored then
  redis.call('DEL', KEYS[1])
end
return { 1, math.max(0, math.floor((capacity - after) / 60000)), 0, math.ceil(after / limit) }
`

const NO_CLUSTER = 'it is a node of a Redis Cluster; use one server, or a primary with replicas behind one address'
/** By `redis_mode` of INFO. */
const REFUSALS: Readonly<Record<string, string>> = {
  cluster: NO_CLUSTER,
  sentinel: 'it is a Redis Sentinel; use the address of the primary, or of a proxy that follows it',
}
/** Code words of answers that only a cluster gives (Redis Cluster specification, "Redirection and resharding"). */
const OF_CLUSTER: ReadonlySet<string> = new Set(['MOVED', 'ASK', 'CLUSTERDOWN', 'CROSSSLOT', 'TRYAGAIN'])

/** The connection with the script as a command: sent by its digest, and in full where the server does not know it. */
interface Scripted {
  headgateTake(key: string, limit: number, take: number, always: '0' | '1', ...now: number[]): Promise<[number, number, number, number]>
}

interface RedisCountersOptions {
  /** Before every key. */
  prefix: string
  /** Milliseconds, instead of the server's own time. */
  now?: () => number
}

/** Rate counters in Redis or Valkey: one script, one round trip, the server's clock. */
export class RedisCounters implements Counters {
  private readonly redis: Redis & Scripted
  private readonly prefix: string
  private readonly now: (() => number) | undefined
  /** Why this server cannot count, whatever it answers. */
  private refusal: string | undefined

  /** @param redis is closed by the code that opened it. */
  constructor(redis: Redis, { prefix, now }: RedisCountersOptions) {
    redis.defineCommand('headgateTake', { lua: TAKE, numberOfKeys: 1 })
    this.redis = redis as Redis & Scripted
    this.prefix = `${prefix}rate:v1:`
    this.now = now
  }

  /** @throws Error that says why there is no answer, and holds nothing secret. */
  async take({ name, perMinute, take, always }: CounterAsk): Promise<CounterAnswer> {
    if (this.refusal !== undefined) throw new Error(this.refusal)
    const time = this.now ? [this.now()] : []
    try {
      const [taken, left, wait, full] = await this.redis.headgateTake(this.prefix + name, perMinute, take, always ? '1' : '0', ...time)
      return { taken: taken === 1, left, wait, full }
    } catch (error) {
      const reason = errorSummary(error)
      // Else the keys of its own slots would be counted here, and all others by each process for itself.
      if (OF_CLUSTER.has(reason)) this.refusal = NO_CLUSTER
      throw new Error(this.refusal ?? reason)
    }
  }

  /** Looks at what kind of server a new connection leads to. */
  async look(): Promise<void> {
    // A role that may not run INFO learns it from the first key of another slot.
    const info = await this.redis.info('server').catch(() => '')
    const [, mode = ''] = /^redis_mode:(\w+)/m.exec(info) ?? []
    this.refusal = REFUSALS[mode]
  }

  async close(): Promise<void> {}
}

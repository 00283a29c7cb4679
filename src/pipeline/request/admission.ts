/** Limits of a key: requests and tokens per minute, open streams, bytes in flight. */
import { type CounterAnswer, type CounterAsk, type Counters, limitShare, MemoryCounters } from '../../cluster/shared/index.ts'
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import type { LevelRate } from '../../core/levels.ts'
import { NO_RETRY } from '../../core/retry-after.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { SeenRates } from '../rate-headers.ts'
import { ownerOfRate, type RateKind, refusingRate } from '../refusing-limit.ts'

/** A limit that is about to be taken from. */
interface Rate {
  readonly key: ApiKey
  readonly kind: RateKind
  /** Units. */
  readonly limit: number
  /** As the message names it; absent for a limit per minute. */
  readonly name?: string
  /** Set where it is that of a level of the key's place. */
  readonly level?: LevelRate | undefined
}

/** Units of the minutes of levels. */
interface Taking {
  readonly kind: 'requests' | 'tokens'
  readonly count: number
  readonly always: boolean
}

/** State of a limit that refuses: units, and milliseconds until the request would fit. */
interface Standing {
  readonly limit: number
  readonly left: number
  readonly wait: number
}

/** Streams and bytes that a key has open in this process. */
interface Use {
  streams: number
  bytes: number
}

/**
 * Requests and tokens are counted by the counters, which all processes may share. Streams and bytes are counted here:
 * with several processes each allows its share of the limit, in whole numbers and at least one.
 */
export class Admission {
  private readonly clock: Clock
  private readonly counters: Counters
  private readonly processes: () => number
  /** Of keys that have something open. */
  private readonly uses = new Map<string, Use>()

  /** @param processes that live, this one among them, as last known. */
  constructor(clock: Clock, counters: Counters = new MemoryCounters(clock), processes: () => number = () => 1) {
    this.clock = clock
    this.counters = counters
    this.processes = processes
  }

  /**
   * Takes one request of the key's minute.
   * @param seen where the reply is to show what is left.
   * @returns a promise only where the key has such a limit and the counters are shared.
   * @throws Fault 429 with Retry-After and X-RateLimit-* when none is left.
   */
  request(key: ApiKey, seen?: SeenRates): Promise<void> | undefined {
    const own = this.ownRequest(key, seen)
    return countsAtLevels(key, 'requests') ? this.takeAtLevels(key, { kind: 'requests', count: 1, always: false }, own) : own
  }

  private ownRequest(key: ApiKey, seen: SeenRates | undefined): Promise<void> | undefined {
    const { requests } = key.limits
    if (requests === undefined) return undefined
    const answered = this.counters.take({ name: `requests:${keyBucket(key)}`, perMinute: requests, take: 1 })
    return this.judged(answered, { key, kind: 'requests', limit: requests }, seen)
  }

  /**
   * Takes one request of the minute that a policy of the configuration allows the key.
   * @param perMinute requests. @throws Fault 429 with Retry-After when none is left.
   */
  async policyRequest(key: ApiKey, policy: string, perMinute: number): Promise<void> {
    const answered = await this.counters.take({ name: `policy:${policy}:${keyBucket(key)}`, perMinute, take: 1 })
    const { taken, left, wait, share = perMinute } = answered
    if (taken) return
    const name = `${perMinute} ${perMinute === 1 ? 'request' : 'requests'} per minute of the policy ${policy}${shareNote(share, perMinute)}`
    throw this.limited({ key, kind: 'requests', limit: perMinute, name }, { limit: share, left, wait })
  }

  /**
   * Takes tokens of the key's minute, before it is known how many there will be.
   * @param always a request that has begun is not cut off: what does not fit is waited off by those that follow.
   * @param seen as for `request`.
   * @throws Fault 429 where they do not fit; without Retry-After where they never will.
   */
  tokens(key: ApiKey, count: number, always: boolean, seen?: SeenRates): Promise<void> | undefined {
    const own = this.ownTokens(key, count, always, seen)
    return countsAtLevels(key, 'tokens') ? this.takeAtLevels(key, { kind: 'tokens', count, always }, own) : own
  }

  private ownTokens(key: ApiKey, count: number, always: boolean, seen: SeenRates | undefined): Promise<void> | undefined {
    const { tokens } = key.limits
    if (tokens === undefined) return undefined
    const rate: Rate = { key, kind: 'tokens', limit: tokens }
    if (count > tokens && !always) throw this.oversized(rate, `up to ${count} tokens`)
    const answered = this.counters.take({ name: `tokens:${keyBucket(key)}`, perMinute: tokens, take: count, always })
    return this.judged(answered, rate, seen)
  }

  /** Once the real usage is known: takes the difference to what was taken, or gives it back. No caller waits for it. */
  correctTokens(key: ApiKey, difference: number, seen?: SeenRates): void {
    const { tokens } = key.limits
    if (difference === 0) return
    for (const ask of levelAsks(key, { kind: 'tokens', count: difference, always: true })) this.correct(ask)
    if (tokens === undefined) return
    const answered = this.counters.take({ name: `tokens:${keyBucket(key)}`, perMinute: tokens, take: difference, always: true })
    if (answered instanceof Promise) answered.catch(() => {})
    else if (seen) see(seen, 'tokens', answered, tokens)
  }

  /**
   * Takes of the minutes of all levels of the key, once its own is taken. Where one of them refuses, the others have it back.
   * @throws Fault 429.
   */
  private async takeAtLevels(key: ApiKey, taking: Taking, own: Promise<void> | undefined): Promise<void> {
    await own
    const { kind, count } = taking
    const limit = key.limits[kind]
    const taken: CounterAsk[] = limit === undefined ? [] : [{ name: `${kind}:${keyBucket(key)}`, perMinute: limit, take: count }]
    for (const ask of levelAsks(key, taking)) {
      const isTooMuch = count > ask.perMinute && !taking.always
      const answer = isTooMuch ? undefined : await this.counters.take(counterAsk(ask))
      if (answer?.taken) {
        taken.push(ask)
        continue
      }
      for (const each of taken) this.correct({ ...each, take: -each.take, always: true })
      const rate: Rate = { key, kind, limit: ask.perMinute, level: ask.level }
      if (!answer) throw this.oversized(rate, `up to ${count} ${kind}`)
      const { left, wait, share = ask.perMinute } = answer
      throw this.limited({ ...rate, name: rateName(rate) + shareNote(share, ask.perMinute) }, { limit: share, left, wait })
    }
  }

  /** No caller waits for it. */
  private correct(ask: CounterAsk): void {
    const answered = this.counters.take(counterAsk(ask))
    if (answered instanceof Promise) answered.catch(() => {})
  }

  /** Sees what is left of the key's minute, and takes nothing. */
  async look(key: ApiKey, seen: SeenRates): Promise<void> {
    const look = async (kind: keyof SeenRates): Promise<void> => {
      const limit = key.limits[kind]
      if (limit === undefined) return
      see(seen, kind, await this.counters.take({ name: `${kind}:${keyBucket(key)}`, perMinute: limit, take: 0, always: true }), limit)
    }
    await look('requests')
    await look('tokens')
  }

  /** Takes one of the calls of token counters that a key's requests may cause in a minute, beside the limits that the operator sets. */
  async mayCount(key: ApiKey): Promise<boolean> {
    const { taken } = await this.counters.take({ name: `counts:${keyBucket(key)}`, perMinute: COUNTS_PER_MINUTE, take: 1 })
    return taken
  }

  /** @throws Fault 429 where the key, or a level of its place, has as many streams open as it may. */
  openStream(key: ApiKey): void {
    const bounds = streamBounds(key)
    for (const { name: bucket, limit: streams, level } of bounds) {
      const limit = limitShare(streams, this.processes())
      if ((this.uses.get(bucket)?.streams ?? 0) < limit) continue
      const name = `${streams} concurrent streams${shareNote(limit, streams)}`
      throw this.limited({ key, kind: 'streams', limit: streams, name, level }, { limit, left: 0, wait: SECOND })
    }
    for (const { name } of bounds) this.use(name).streams++
  }

  /** @param key as it was given to `openStream`: the levels of its place may have changed since. */
  closeStream(key: ApiKey): void {
    for (const { name } of streamBounds(key)) {
      const use = this.use(name)
      use.streams--
      this.forget(name, use)
    }
  }

  /**
   * A body larger than this process's share passes when nothing else of its key is in flight here.
   * @param before bytes of the same body that were taken already: one of unknown length comes in pieces.
   * @throws Fault 429 where the request's bytes do not fit beside those in flight; without Retry-After where they never will.
   */
  takeBytes(key: ApiKey, bytes: number, before = 0): void {
    const limit = key.limits.bytes
    if (limit === undefined) return
    const rate: Rate = { key, kind: 'bytes', limit, name: `${limit} request bytes in flight` }
    if (before + bytes > limit) throw this.oversized(rate, before === 0 ? `${bytes} bytes` : 'more')
    const share = limitShare(limit, this.processes())
    const inFlight = this.uses.get(keyBucket(key))?.bytes ?? 0
    if (inFlight > before && inFlight + bytes > share) {
      const name = rateName(rate) + shareNote(share, limit)
      throw this.limited({ ...rate, name }, { limit: share, left: Math.max(0, share - inFlight), wait: SECOND })
    }
    this.use(keyBucket(key)).bytes += bytes
  }

  giveBytes(key: ApiKey, bytes: number): void {
    if (key.limits.bytes === undefined) return
    const use = this.use(keyBucket(key))
    use.bytes -= bytes
    this.forget(keyBucket(key), use)
  }

  private use(bucket: string): Use {
    let use = this.uses.get(bucket)
    if (!use) {
      use = { streams: 0, bytes: 0 }
      this.uses.set(bucket, use)
    }
    return use
  }

  private forget(bucket: string, use: Use): void {
    if (use.streams === 0 && use.bytes === 0) this.uses.delete(bucket)
  }

  private judged(answered: CounterAnswer | Promise<CounterAnswer>, rate: Rate, seen: SeenRates | undefined): Promise<void> | undefined {
    if (answered instanceof Promise) return answered.then((answer) => this.judge(answer, rate, seen))
    this.judge(answered, rate, seen)
    return undefined
  }

  private judge(answer: CounterAnswer, rate: Rate, seen: SeenRates | undefined): void {
    const { limit, kind } = rate
    const { taken, left, wait, share = limit } = answer
    if (seen && (kind === 'requests' || kind === 'tokens')) see(seen, kind, answer, limit)
    if (taken) return
    throw this.limited({ ...rate, name: rateName(rate) + shareNote(share, limit) }, { limit: share, left, wait })
  }

  private limited(rate: Rate, { limit, left, wait }: Standing): Fault {
    const { key, kind, level } = rate
    const seconds = Math.max(1, Math.ceil(wait / SECOND))
    const resetsAt = this.clock.now() + seconds * SECOND
    return new Fault('rate_limited', {
      message: `Rate limit exceeded: ${rateName(rate)} for ${ownerOfRate(key, level)}`,
      metadata: { limit: refusingRate({ key, kind, level, limit, left, resetsAt }) },
      retryAfter: seconds,
      headers: limitHeaders(limit, left, resetsAt),
    })
  }

  /** No wait would help, so none is named. */
  private oversized(rate: Rate, needed: string): Fault {
    const { key, kind, limit, level } = rate
    return new Fault('rate_limited', {
      message: `Rate limit exceeded: ${rateName(rate)} for ${ownerOfRate(key, level)}, and this request alone needs ${needed}`,
      metadata: { limit: refusingRate({ key, kind, level, limit, left: undefined, resetsAt: undefined }) },
      headers: { ...limitHeaders(limit, 0, this.clock.now()), ...NO_RETRY },
    })
  }
}

function rateName({ kind, limit, name }: Rate): string {
  return name ?? `${limit} ${limit === 1 ? kind.replace(/s$/, '') : kind} per minute`
}

/** Records a counter's answer. Where the process counts its own share alone, that is the limit. */
function see(seen: SeenRates, kind: keyof SeenRates, { left, full, share }: CounterAnswer, limit: number): void {
  seen[kind] = { limit: share ?? limit, left, full }
}

const SECOND = 1_000
/** Providers limit calls of their counters as well (platform.claude.com, Token counting: from 100 a minute on), for all keys together. */
const COUNTS_PER_MINUTE = 30

/** Identity of the key whose limits a request counts towards: keys issued through sign-in count towards the key that issued them. */
export function keyBucket({ identity, issuer }: ApiKey): string {
  return issuer?.identity ?? identity
}

/** True where a level of the key's place has such a limit: false for nearly all keys. */
export function countsAtLevels({ levels }: Pick<ApiKey, 'levels'>, kind: keyof LevelRate['limits']): boolean {
  return levels?.rates.some(({ limits }) => limits[kind] !== undefined) ?? false
}

/** True where tokens of the key are counted, for itself or for a level of its place. */
export const countsTokens = (key: ApiKey): boolean => key.limits.tokens !== undefined || countsAtLevels(key, 'tokens')

/** True where open streams of the key are counted. */
export const countsStreams = (key: ApiKey): boolean => key.limits.streams !== undefined || countsAtLevels(key, 'streams')

function levelAsks({ levels }: ApiKey, { kind, count, always }: Taking): (CounterAsk & { readonly level: LevelRate })[] {
  return (levels?.rates ?? []).flatMap((level) => {
    const perMinute = level.limits[kind]
    return perMinute === undefined ? [] : [{ name: `${kind}:${level.identity}`, perMinute, take: count, always, level }]
  })
}

/** The counters may be in another process: nothing else crosses. */
const counterAsk = ({ name, perMinute, take, always }: CounterAsk): CounterAsk => ({ name, perMinute, take, always: always ?? false })

interface StreamBound {
  readonly name: string
  readonly limit: number
  readonly level: LevelRate | undefined
}

function streamBounds(key: ApiKey): readonly StreamBound[] {
  const { limits, levels } = key
  if (limits.streams === undefined && levels === undefined) return NO_BOUNDS
  const own = limits.streams === undefined ? [] : [{ name: keyBucket(key), limit: limits.streams, level: undefined }]
  const others = (levels?.rates ?? []).flatMap((level) => {
    const { streams } = level.limits
    return streams === undefined ? [] : [{ name: level.identity, limit: streams, level }]
  })
  return [...own, ...others]
}

const NO_BOUNDS: readonly StreamBound[] = []

/** @param resetAt milliseconds since the epoch. */
function limitHeaders(limit: number, left: number, resetAt: number): Record<string, string> {
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(left),
    'X-RateLimit-Reset': String(Math.ceil(resetAt)),
  }
}

function shareNote(share: number, limit: number): string {
  return share === limit ? '' : `, of which this process has ${share}`
}

/**
 * Everything that is remembered of one endpoint, of a size that no traffic changes.
 *
 * A failure moves the requests of the key that had it. It moves those of all keys where it is surely the endpoint's: where the connection
 * itself failed or a probe of the gateway's own did, where another key has failed within 30 s without a success in between, or where
 * one key uses the endpoint alone and more than half of its last 20 requests have failed.
 */

import { Ejection } from './ejection.ts'
import { FailedAttempts, KeyFailures, type KeyStanding, OURS, OUTAGE_MS, SoleKey, steadyWindow } from './key-failures.ts'
import { OutcomeWindow } from './outcome-window.ts'
import type { Band, PercentileName } from './standing.ts'

const NEVER = Number.NEGATIVE_INFINITY

/** What a served request shows about its endpoint. */
export interface ServedSample {
  /** From dispatch to the first content event. */
  readonly firstTokenMs: number
  /** Of output after the first token; 0 where too short to measure. */
  readonly tokensPerSecond: number
  /** Where tools were offered and called: broken if arguments were no JSON object or a name was not offered. */
  readonly tools?: 'fine' | 'broken' | undefined
}

/** A failed attempt. */
export interface FailedSample {
  readonly now: number
  /** When it began to fail: outage and ejection count from then. */
  readonly since: number
  /** Identity of the caller's key; undefined for a probe of the gateway's own. */
  readonly key: string | undefined
  /** The connection itself failed, whatever the request was. */
  readonly isConnection: boolean
}

/** What a failure has led to: an ejection for all keys, the same because of the one key that uses the endpoint, or for that key alone. */
export type Ejected = 'all' | 'sole' | 'key' | undefined

/** Fewer requests than these make no band (contract section 5.2, rule 6). */
const BAND_REQUESTS = 100
const NORMAL = 0.95
const LAST_RESORT = 0.8
/** Fewer replies with tool calls than these make no share. */
const TOOL_REPLIES = 10
const MINUTE = 60_000
/** Spans of half a minute that five minutes hold. */
const FIVE_MINUTES = 10

/** Times are monotonic milliseconds. Where a method takes a key, its answer is for that one; without one, for the key that is used alone. */
export class EndpointRecord {
  /** For all keys. Absent until the first failure. */
  ejection: Ejection | undefined
  /** True from an ejection that was reported until a success. */
  isReported = false
  private outageUntil = NEVER
  private restUntil = NEVER
  /** Successes so far. */
  private servedTimes = 0
  private readonly sole = new SoleKey()
  /** Absent until the first failure. */
  private keys: KeyFailures | undefined
  /** Those that count for all keys, and rate limits, since a limit is of the gateway's account. */
  private readonly attempts = new FailedAttempts()
  private readonly halfHour = new OutcomeWindow(MINUTE / 2, 60)
  /**
   * What the band goes by: the half hour without the failures of ejections, which have an end of their own.
   * They would otherwise keep an endpoint that is well again from the requests that could show it.
   */
  private readonly steady = steadyWindow()
  private readonly day = new OutcomeWindow(30 * MINUTE, 48)
  /** Absent until the first success. */
  private speed: SpeedWindow | undefined
  /** Absent until the first reply with tool calls. */
  private toolCalls: OutcomeWindow | undefined

  /** The gateway's account there has reached a limit. */
  attemptLimited(now: number): void {
    this.attempts.add(now)
  }

  /** An attempt at one of the names behind a wildcard has failed. */
  nameFailed({ now, key = OURS, isConnection }: Omit<FailedSample, 'since'>): void {
    if (this.isEveryones({ now, key, isConnection })) this.attempts.add(now)
    this.noted(key, now).attempts.add(now)
  }

  /** An attempt at one of the names behind a wildcard has served. */
  nameServed(key: string | undefined): void {
    this.servedTimes++
    this.attempts.clear()
    if (key !== undefined) this.keys?.get(key)?.attempts.clear()
  }

  /** True where the last five attempts were within 30 s and all of them failed. */
  failing(now: number, key?: string): boolean {
    return this.attempts.failing(now) || this.standing(key, now)?.attempts.failing(now) === true
  }

  dispatched(now: number, key: string | undefined): void {
    this.ejection?.dispatched(now)
    if (key !== undefined) this.keys?.get(key)?.ejection.dispatched(now)
  }

  abandoned(key: string | undefined): void {
    this.ejection?.released()
    if (key !== undefined) this.keys?.get(key)?.ejection.released()
  }

  served(now: number, { firstTokenMs, tokensPerSecond, tools }: ServedSample, key?: string): void {
    this.servedTimes++
    if (key !== undefined) this.sole.note(key, true, now)
    if (this.keys) this.forgive(this.keys, now, key)
    this.outageUntil = NEVER
    this.attempts.clear()
    this.ejection?.succeeded(now)
    this.steady.add(now, true)
    this.halfHour.add(now, true)
    this.day.add(now, true)
    this.speed ??= new SpeedWindow()
    this.speed.add(now, firstTokenMs, tokensPerSecond)
    if (tools === undefined) return
    this.toolCalls ??= new OutcomeWindow(5 * MINUTE, 6)
    this.toolCalls.add(now, tools === 'fine')
  }

  /** @param chance uniform in [0, 1). */
  broke(sample: FailedSample, chance: () => number): Ejected {
    const { now, since, key = OURS } = sample
    if (key !== OURS) this.sole.note(key, false, now)
    const isEveryones = this.isEveryones({ ...sample, key })
    const isAll = isEveryones || this.sole.mostlyFails(now)
    const own = this.noted(key, now)
    own.outageUntil = Math.max(own.outageUntil, since + OUTAGE_MS)
    own.attempts.add(now)
    this.halfHour.add(now, false)
    this.day.add(now, false)
    if (isAll) {
      this.outageUntil = Math.max(this.outageUntil, since + OUTAGE_MS)
      this.attempts.add(now)
    }
    const isEjected = own.ejection.failed({ now, since }, chance)
    if (this.mayEject().failed({ now, since }, chance, isAll)) {
      for (const each of this.keys?.all() ?? []) each.loose = 0
      return isEveryones ? 'all' : 'sole'
    }
    if (own.ejection.standing || this.mayEject().standing) own.loose = 0
    else own.loose++
    return isEjected ? 'key' : undefined
  }

  mayEject(): Ejection {
    this.ejection ??= new Ejection()
    return this.ejection
  }

  /** Another process has ejected the endpoint for one key: that one has failed here as well. */
  takeOver(key: string, now: number, outage: { ms: number; rounds: number }): void {
    this.noted(key, now).ejection.takeOver(now, outage)
  }

  /** The ejection is over in another process. @param key undefined: that of all keys. */
  endedElsewhere(key: string | undefined, now: number): void {
    const ejection = key === undefined ? this.ejection : this.keys?.get(key)?.ejection
    ejection?.endedElsewhere(now)
  }

  /** The ejection of this key alone; undefined where it has none. */
  ejectionOf(key: string | undefined): Ejection | undefined {
    const ejection = key === undefined ? undefined : this.keys?.get(key)?.ejection
    return ejection?.standing ? ejection : undefined
  }

  /** True where no other key has used the endpoint of late. */
  isUsedAlone(key: string, now: number): boolean {
    return this.sole.alone(now) === key
  }

  /** The longer of two rests holds. @param key the only one that rests; undefined for all. */
  rest(until: number, now: number, key?: string): void {
    if (key === undefined) this.restUntil = Math.max(this.restUntil, until)
    else {
      const own = this.noted(key, now, false)
      own.restUntil = Math.max(own.restUntil, until)
    }
  }

  inOutage(now: number, key?: string): boolean {
    return now < this.outageUntil || now < (this.standing(key, now)?.outageUntil ?? NEVER)
  }

  /** Milliseconds. */
  restLeft(now: number, key?: string): number {
    return Math.max(0, this.restUntil - now, (this.standing(key, now)?.restUntil ?? NEVER) - now)
  }

  /** Milliseconds until a probe may pass; 0 where it is not ejected. */
  ejectionLeft(now: number, key?: string): number {
    return Math.max(this.ejection?.left(now) ?? 0, this.standing(key, now)?.ejection.left(now) ?? 0)
  }

  /** By all requests, or without those of the one other key with the most failures, whichever is better. */
  band(now: number, key?: string): Band {
    const share = this.steady.share(now, BAND_REQUESTS) ?? 1
    if (share >= NORMAL) return 0
    const worst = this.keys?.worst(key ?? this.sole.alone(now), now)
    const others = worst ? (this.steady.shareWithout(worst.steady, now, BAND_REQUESTS) ?? 1) : share
    const best = Math.max(share, others)
    return best >= NORMAL ? 0 : best >= LAST_RESORT ? 1 : 2
  }

  /** 0 to 1; undefined where nothing has been counted. */
  uptime(now: number, over: '5m' | '30m' | '1d'): number | undefined {
    if (over === '1d') return this.day.share(now)
    return over === '30m' ? this.halfHour.share(now) : this.halfHour.recentShare(now, FIVE_MINUTES)
  }

  /** Milliseconds to the first token. */
  latency(now: number, percentile: PercentileName): number | undefined {
    return this.speed?.latency(now, percentile)
  }

  /** Tokens per second. */
  throughput(now: number, percentile: PercentileName): number | undefined {
    return this.speed?.throughput(now, percentile)
  }

  toolSuccess(now: number): number | undefined {
    return this.toolCalls?.share(now, TOOL_REPLIES)
  }

  private isEveryones({ now, key, isConnection }: { now: number; key: string; isConnection: boolean }): boolean {
    return key === OURS || isConnection || this.keys?.hasOther(key, now, this.servedTimes) === true
  }

  /** The key fails now. */
  private noted(key: string, now: number, failed = true): KeyStanding {
    this.keys ??= new KeyFailures((dropped) => this.countLoose(dropped, dropped.failedAt))
    const own = this.keys.open(key)
    if (failed) {
      own.failedAt = now
      own.servedBefore = this.servedTimes
    }
    return own
  }

  private standing(key: string | undefined, now: number): KeyStanding | undefined {
    if (this.keys === undefined) return undefined
    const whose = key ?? this.sole.alone(now)
    return whose === undefined ? undefined : this.keys.get(whose)
  }

  /** A success of a key ends its outage. That of an outage of all keys ends theirs as well. */
  private forgive(keys: KeyFailures, now: number, key: string | undefined): void {
    const own = key === undefined ? undefined : keys.get(key)
    if (own) {
      this.countLoose(own, now)
      own.reset(now)
      own.steady.add(now, true)
    }
    if (key !== undefined && now >= this.outageUntil && this.ejection?.standing !== true) return
    for (const each of keys.all()) {
      this.countLoose(each, now)
      each.reset(now)
    }
  }

  /** Failures that led to no ejection count in the band, once it is known that they do not. */
  private countLoose(standing: KeyStanding, now: number): void {
    if (standing.loose === 0) return
    this.steady.add(now, false, standing.loose)
    standing.steady.add(now, false, standing.loose)
    standing.loose = 0
  }
}

/** Rolling window of the statistics, in tenths of a second (contract section 5.1). */
const WINDOW = 3_000
/** Busy endpoints keep their newest samples only: enough for a p99, small enough for thousands of endpoints. */
const SAMPLES = 256
const MOST = 0xffff_ffff

const SHARE: Readonly<Record<PercentileName, number>> = { p50: 0.5, p75: 0.75, p90: 0.9, p99: 0.99 }

/** The last few minutes of one endpoint's speed: a ring of samples, kept sorted as well, so that a percentile is one look-up. */
export class SpeedWindow {
  /** Tenths of a second on the monotonic clock. */
  private readonly at = new Uint32Array(SAMPLES)
  /** Microseconds to the first token. */
  private readonly first = new Uint32Array(SAMPLES)
  /** Thousandths of a token per second; 0 for unknown. */
  private readonly rate = new Uint32Array(SAMPLES)
  private readonly firsts = new SortedValues(SAMPLES)
  private readonly rates = new SortedValues(SAMPLES)
  private next = 0
  private size = 0

  /** @param now monotonic milliseconds. @param rate tokens per second, 0 for unknown. */
  add(now: number, firstTokenMs: number, rate: number): void {
    this.expire(now)
    if (this.size === SAMPLES) this.dropOldest()
    const i = this.next
    this.at[i] = now / 100
    this.first[i] = whole(firstTokenMs * 1000)
    this.rate[i] = rate > 0 ? Math.max(1, whole(rate * 1000)) : 0
    this.firsts.insert(this.first[i])
    if (this.rate[i] > 0) this.rates.insert(this.rate[i])
    this.next = (i + 1) % SAMPLES
    this.size++
  }

  /** Milliseconds that this share of first tokens took at most. */
  latency(now: number, percentile: PercentileName): number | undefined {
    this.expire(now)
    const { size } = this.firsts
    return size === 0 ? undefined : this.firsts.at(rankOf(percentile, size)) / 1000
  }

  /** Tokens per second that this share of replies reached at least. */
  throughput(now: number, percentile: PercentileName): number | undefined {
    this.expire(now)
    const { size } = this.rates
    return size === 0 ? undefined : this.rates.at(size - 1 - rankOf(percentile, size)) / 1000
  }

  private expire(now: number): void {
    const oldest = Math.floor(now / 100) - WINDOW
    while (this.size > 0) {
      const at = this.at[this.tail()]
      if (at === undefined || at > oldest) break
      this.dropOldest()
    }
  }

  private dropOldest(): void {
    const i = this.tail()
    const first = this.first[i]
    const rate = this.rate[i]
    if (first !== undefined) this.firsts.remove(first)
    if (rate !== undefined && rate > 0) this.rates.remove(rate)
    this.size--
  }

  private tail(): number {
    return (this.next + SAMPLES - this.size) % SAMPLES
  }
}

/** Nearest rank, counted from the good end. */
function rankOf(percentile: PercentileName, size: number): number {
  return Math.ceil(SHARE[percentile] * size) - 1
}

function whole(value: number): number {
  return value > 0 ? Math.min(MOST, Math.round(value)) : 0
}

/** Whole numbers in rising order, in one fixed array. */
class SortedValues {
  private readonly values: Uint32Array
  size = 0

  constructor(capacity: number) {
    this.values = new Uint32Array(capacity)
  }

  at(index: number): number {
    const value = this.values[index]
    if (value === undefined) throw new RangeError(`no sample ${index} among ${this.size}`)
    return value
  }

  insert(value: number): void {
    const i = this.firstNotBelow(value)
    this.values.copyWithin(i + 1, i, this.size)
    this.values[i] = value
    this.size++
  }

  /** @param value one that was inserted. */
  remove(value: number): void {
    const i = this.firstNotBelow(value)
    this.values.copyWithin(i, i + 1, this.size)
    this.size--
  }

  private firstNotBelow(value: number): number {
    let low = 0
    let high = this.size
    while (low < high) {
      const middle = (low + high) >>> 1
      const here = this.values[middle]
      if (here !== undefined && here < value) low = middle + 1
      else high = middle
    }
    return low
  }
}

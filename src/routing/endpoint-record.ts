/** Everything that is remembered of one endpoint, of a size that no traffic changes. */

import type { FaultCode } from '../core/faults.ts'
import { Ejection } from './ejection.ts'
import type { Band, PercentileName } from './standing.ts'

const NEVER = Number.NEGATIVE_INFINITY

/** How many of the last outcomes were good: counters in a ring of equal spans of time, in one fixed array. */
export class OutcomeWindow {
  private readonly spanMs: number
  private readonly spans: number
  /** Two counters for each span: good, bad. */
  private readonly counts: Uint32Array
  /** Number of the newest span since time 0. */
  private newest = 0
  private good = 0
  private bad = 0

  /** The window reaches back between `(spans - 1) * spanMs` and `spans * spanMs`. */
  constructor(spanMs: number, spans: number) {
    this.spanMs = spanMs
    this.spans = spans
    this.counts = new Uint32Array(2 * spans)
  }

  /** @param now monotonic milliseconds. */
  add(now: number, good: boolean, times = 1): void {
    this.roll(now)
    const at = 2 * (this.newest % this.spans) + (good ? 0 : 1)
    this.counts[at] = this.countAt(at) + times
    if (good) this.good += times
    else this.bad += times
  }

  /** Good outcomes among all, 0 to 1; undefined with fewer than `least` outcomes. */
  share(now: number, least = 1): number | undefined {
    this.roll(now)
    const all = this.good + this.bad
    return all < least ? undefined : this.good / all
  }

  /** As `share`, over the newest few spans alone. */
  recentShare(now: number, spans: number): number | undefined {
    this.roll(now)
    let good = 0
    let bad = 0
    for (let i = 0; i < Math.min(spans, this.spans, this.newest + 1); i++) {
      const at = 2 * ((this.newest - i) % this.spans)
      good += this.countAt(at)
      bad += this.countAt(at + 1)
    }
    return good + bad === 0 ? undefined : good / (good + bad)
  }

  private countAt(at: number): number {
    return this.counts[at] ?? 0
  }

  private roll(now: number): void {
    const span = Math.floor(now / this.spanMs)
    if (span <= this.newest) return
    if (span - this.newest >= this.spans || this.good + this.bad === 0) {
      if (this.good + this.bad > 0) this.counts.fill(0)
      this.good = 0
      this.bad = 0
    } else {
      for (let passed = this.newest + 1; passed <= span; passed++) {
        const at = 2 * (passed % this.spans)
        this.good -= this.countAt(at)
        this.bad -= this.countAt(at + 1)
        this.counts[at] = 0
        this.counts[at + 1] = 0
      }
    }
    this.newest = span
  }
}

/** What a served request shows about its endpoint. */
export interface ServedSample {
  /** From dispatch to the first content event. */
  readonly firstTokenMs: number
  /** Of output after the first token; 0 where too short to measure. */
  readonly tokensPerSecond: number
  /** Of a reply that is too short to measure: what it reached at least; absent where that says nothing. */
  readonly atLeast?: number | undefined
  /** Where tools were offered and called: broken if arguments were no JSON object or a name was not offered. */
  readonly tools?: 'fine' | 'broken' | undefined
}

/** An endpoint that failed is tried last for this long (contract section 5.2, rule 3). */
const OUTAGE_MS = 30_000
/** Fewer requests than these make no band (contract section 5.2, rule 6). */
const BAND_REQUESTS = 100
const NORMAL = 0.95
const LAST_RESORT = 0.8
/** Fewer replies with tool calls than these make no share. */
const TOOL_REPLIES = 10
const MINUTE = 60_000
/** Spans of half a minute that five minutes hold. */
const FIVE_MINUTES = 10
/** So many failed attempts in a row within the outage window make an endpoint a failing one (issue 15 section 4). */
const FAILING_STREAK = 5

/** Times are monotonic milliseconds. */
export class EndpointRecord {
  /** Absent until the first failure. */
  ejection: Ejection | undefined
  private outageUntil = NEVER
  private restUntil = NEVER
  private readonly halfHour = new OutcomeWindow(MINUTE / 2, 60)
  /**
   * What the band goes by: the half hour without the failures of ejections, which have an end of their own.
   * They would otherwise keep an endpoint that is well again from the requests that could show it.
   */
  private readonly steady = new OutcomeWindow(3 * MINUTE, 10)
  private readonly day = new OutcomeWindow(30 * MINUTE, 48)
  /** Absent until the first success. */
  private speed: SpeedWindow | undefined
  /** Absent until the first reply with tool calls. */
  private toolCalls: OutcomeWindow | undefined

  /** When the last attempts failed, in a ring; one that served empties it. */
  private readonly failedAt = new Float64Array(FAILING_STREAK)
  private failed = 0
  /** Of the last attempt, where it failed. */
  lastFault: FaultCode | undefined

  /** An attempt has failed, rate limits included; those that say nothing of the endpoint are left out. */
  attemptFailed(now: number, code?: FaultCode): void {
    this.lastFault = code
    this.failedAt[this.failed++ % FAILING_STREAK] = now
  }

  /** An attempt has served. */
  attemptServed(): void {
    this.lastFault = undefined
    this.failed = 0
  }

  /** True where the last five attempts were within 30 s and all of them failed. */
  failing(now: number): boolean {
    // The next place of the ring holds the oldest of the five.
    const oldest = this.failedAt[this.failed % FAILING_STREAK]
    return this.failed >= FAILING_STREAK && oldest !== undefined && now - oldest <= OUTAGE_MS
  }

  abandoned(): void {
    this.ejection?.released()
  }

  served(now: number, { firstTokenMs, tokensPerSecond, atLeast = 0, tools }: ServedSample): void {
    this.outageUntil = NEVER
    this.attemptServed()
    const failures = this.ejection?.succeeded(now) ?? 0
    if (failures > 0) this.steady.add(now, false, failures)
    this.steady.add(now, true)
    this.halfHour.add(now, true)
    this.day.add(now, true)
    this.speed ??= new SpeedWindow()
    this.speed.add(now, firstTokenMs, tokensPerSecond, atLeast)
    if (tools === undefined) return
    this.toolCalls ??= new OutcomeWindow(5 * MINUTE, 6)
    this.toolCalls.add(now, tools === 'fine')
  }

  /** @param chance uniform in [0, 1). @returns true where that ejects it. */
  broke({ now, since }: { now: number; since: number }, chance: () => number): boolean {
    this.outageUntil = Math.max(this.outageUntil, since + OUTAGE_MS)
    this.halfHour.add(now, false)
    this.day.add(now, false)
    return this.mayEject().failed({ now, since }, chance)
  }

  mayEject(): Ejection {
    this.ejection ??= new Ejection()
    return this.ejection
  }

  /** The longer of two rests holds. */
  rest(until: number): void {
    this.restUntil = Math.max(this.restUntil, until)
  }

  inOutage(now: number): boolean {
    return now < this.outageUntil
  }

  /** Milliseconds. */
  restLeft(now: number): number {
    return Math.max(0, this.restUntil - now)
  }

  /** Milliseconds until a probe may pass; 0 where it is not ejected. */
  ejectionLeft(now: number): number {
    return this.ejection?.left(now) ?? 0
  }

  band(now: number): Band {
    const share = this.steady.share(now, BAND_REQUESTS) ?? 1
    return share >= NORMAL ? 0 : share >= LAST_RESORT ? 1 : 2
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

  /** Tokens per second that are known to be reached where no reply was long enough to measure. */
  leastThroughput(now: number): number | undefined {
    return this.speed?.least(now)
  }

  toolSuccess(now: number): number | undefined {
    return this.toolCalls?.share(now, TOOL_REPLIES)
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
  /** In the same unit: what replies reached at least that were too short to measure, as far as it is not among the rates. */
  private readonly bound = new Uint32Array(SAMPLES)
  private readonly bounds = new SortedValues(SAMPLES)
  private next = 0
  private size = 0

  /**
   * A bound counts as a rate where it is no lower than half of them: it raises what is known, and never lowers it.
   * @param now monotonic milliseconds. @param rate tokens per second, 0 for unknown. @param atLeast the bound then, 0 for none.
   */
  add(now: number, firstTokenMs: number, rate: number, atLeast = 0): void {
    this.expire(now)
    if (this.size === SAMPLES) this.dropOldest()
    const i = this.next
    this.at[i] = now / 100
    this.first[i] = whole(firstTokenMs * 1000)
    this.rate[i] = thousandths(rate)
    this.bound[i] = thousandths(rate > 0 ? 0 : atLeast)
    this.firsts.insert(this.first[i])
    this.next = (i + 1) % SAMPLES
    this.size++
    if (this.rate[i] > 0) this.addRate(this.rate[i])
    else if (this.bound[i] > 0) this.addBound(i, this.bound[i])
  }

  /** The first rate takes the bounds above it along. */
  private addRate(rate: number): void {
    this.rates.insert(rate)
    if (this.rates.size > 1 || this.bounds.size === 0) return
    for (let i = 0; i < SAMPLES; i++) {
      const bound = this.bound[i] ?? 0
      if (bound < rate) continue
      this.bounds.remove(bound)
      this.bound[i] = 0
      this.rate[i] = bound
      this.rates.insert(bound)
    }
  }

  private addBound(i: number, bound: number): void {
    const { size } = this.rates
    if (size === 0 || bound < this.rates.at(size - 1 - rankOf('p50', size))) this.bounds.insert(bound)
    else {
      this.bound[i] = 0
      this.rate[i] = bound
      this.rates.insert(bound)
    }
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

  /** The highest bound, where there is no rate. */
  least(now: number): number | undefined {
    this.expire(now)
    const { size } = this.bounds
    return size === 0 || this.rates.size > 0 ? undefined : this.bounds.at(size - 1) / 1000
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
    const bound = this.bound[i]
    if (bound !== undefined && bound > 0) {
      this.bounds.remove(bound)
      this.bound[i] = 0
    }
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

/** 0 for unknown. */
const thousandths = (rate: number): number => (rate > 0 ? Math.max(1, whole(rate * 1000)) : 0)

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

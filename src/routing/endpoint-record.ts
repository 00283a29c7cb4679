/** Everything that is remembered of one endpoint, of a size that no traffic changes, and when that takes it out of the order. */

import { SpeedWindow } from './speed-window.ts'
import type { Band, PercentileName } from './standing.ts'

/** Failures in a row until the first ejection. */
const STREAK = 5
const FIRST_MS = 1_000
const LONGEST_MS = 30_000
/** In a row; from here on the time is the longest. */
const MOST_ROUNDS = 5
const JITTER = 0.2
/** After a success right behind another process's ejection, later ones are ignored for this long: the two see the endpoint differently. */
const DOUBT_MS = 60_000
/** A probe without an outcome for this long no longer keeps others from probing: the answer may just be slow. */
const PROBE_MS = 10_000
const NEVER = Number.NEGATIVE_INFINITY

class Ejection {
  private streak = 0
  /** How often in a row it has been ejected without a success. */
  private rounds = 0
  private until = NEVER
  private probedAt = NEVER
  /** Taken over from another process, and nothing seen of it here. */
  private borrowed = false
  private doubtedUntil = NEVER

  /**
   * Times are monotonic milliseconds.
   * @param since when it began to fail; the time counts from then. @param chance uniform in [0, 1).
   * @returns true where that ejects it.
   */
  failed({ now, since }: { now: number; since: number }, chance: () => number): boolean {
    this.streak++
    this.probedAt = NEVER
    // Requests that were under way at the ejection fail as well; they belong to the same outage.
    if (this.streak < STREAK || now < this.until) return false
    const length = Math.min(FIRST_MS * 2 ** this.rounds, LONGEST_MS)
    this.rounds++
    this.until = since + length * (1 - JITTER * chance())
    this.borrowed = false
    return true
  }

  /** @returns how many failures in a row this success ends that were too few to eject. */
  succeeded(now: number): number {
    const loose = this.streak < STREAK ? this.streak : 0
    if (this.borrowed) this.doubtedUntil = now + DOUBT_MS
    this.borrowed = false
    this.streak = 0
    this.rounds = 0
    this.until = NEVER
    this.probedAt = NEVER
    return loose
  }

  /** True from an ejection until a success, whether or not a probe is due. */
  get standing(): boolean {
    return this.until !== NEVER
  }

  /** What another process needs to take it over: how long it lasts from now, and how many there were in a row. */
  news(now: number): { ms: number; rounds: number } {
    return { ms: Math.max(0, this.until - now), rounds: this.rounds }
  }

  /** Another process has ejected the endpoint: so it is here, for the same time, and then this one probes for itself. */
  takeOver(now: number, { ms, rounds }: { ms: number; rounds: number }): void {
    if (now < this.doubtedUntil) return
    if (!this.standing) this.borrowed = true
    this.until = Math.max(this.until, now + Math.min(ms, LONGEST_MS))
    this.rounds = Math.max(this.rounds, Math.min(rounds, MOST_ROUNDS))
    // A probe that fails ejects it anew.
    this.streak = Math.max(this.streak, STREAK)
  }

  /** It is over for another process: here a probe is due at once. */
  endedElsewhere(now: number): void {
    if (!this.standing) return
    this.until = Math.min(this.until, now)
    this.borrowed = false
  }

  /** A request is about to be sent: once the time is over it is the probe. */
  dispatched(now: number): void {
    if (this.until !== NEVER && this.left(now) === 0) this.probedAt = now
  }

  /** The request showed nothing about the endpoint: another may probe. */
  released(): void {
    this.probedAt = NEVER
  }

  /** Milliseconds until a probe may pass: until then requests should go elsewhere. */
  left(now: number): number {
    if (this.until === NEVER) return 0
    return Math.max(0, this.until - now, this.probedAt + PROBE_MS - now)
  }
}

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
  readonly ejection = new Ejection()
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

  /** An attempt has failed, rate limits included; those that say nothing of the endpoint are left out. */
  attemptFailed(now: number): void {
    this.failedAt[this.failed++ % FAILING_STREAK] = now
  }

  /** An attempt has served. */
  attemptServed(): void {
    this.failed = 0
  }

  /** True where the last five attempts were within 30 s and all of them failed. */
  failing(now: number): boolean {
    // The next place of the ring holds the oldest of the five.
    const oldest = this.failedAt[this.failed % FAILING_STREAK]
    return this.failed >= FAILING_STREAK && oldest !== undefined && now - oldest <= OUTAGE_MS
  }

  dispatched(now: number): void {
    this.ejection.dispatched(now)
  }

  abandoned(): void {
    this.ejection.released()
  }

  served(now: number, { firstTokenMs, tokensPerSecond, tools }: ServedSample): void {
    this.outageUntil = NEVER
    this.attemptServed()
    const failures = this.ejection.succeeded(now)
    if (failures > 0) this.steady.add(now, false, failures)
    this.steady.add(now, true)
    this.halfHour.add(now, true)
    this.day.add(now, true)
    this.speed ??= new SpeedWindow()
    this.speed.add(now, firstTokenMs, tokensPerSecond)
    if (tools === undefined) return
    this.toolCalls ??= new OutcomeWindow(5 * MINUTE, 6)
    this.toolCalls.add(now, tools === 'fine')
  }

  /** @param chance uniform in [0, 1). @returns true where that ejects it. */
  broke({ now, since }: { now: number; since: number }, chance: () => number): boolean {
    this.outageUntil = Math.max(this.outageUntil, since + OUTAGE_MS)
    this.halfHour.add(now, false)
    this.day.add(now, false)
    return this.ejection.failed({ now, since }, chance)
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
    return this.ejection.left(now)
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

  toolSuccess(now: number): number | undefined {
    return this.toolCalls?.share(now, TOOL_REPLIES)
  }
}

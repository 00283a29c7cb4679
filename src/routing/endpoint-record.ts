/**
 * Everything that is remembered of one endpoint, of a size that no traffic changes.
 *
 * A failure moves the requests of the key that had it. It moves those of all keys where it is surely the endpoint's: where the connection
 * itself failed or a probe of the gateway's own did, where a key of another owner has failed within 30 s without a success in between, or
 * where one owner uses the endpoint alone and more than half of its last 20 requests have failed. Two keys of one owner move all of that
 * owner's.
 */

import type { FaultCode } from '../core/faults.ts'
import { Ejection } from './ejection.ts'
import { FailedAttempts, KeyFailures, type KeyStanding, OURS, OUTAGE_MS, SoleKey, steadyWindow } from './key-failures.ts'
import { OutcomeWindow } from './outcome-window.ts'
import { SpeedWindow } from './speed-window.ts'
import type { Band, PercentileName } from './standing.ts'

const NEVER = Number.NEGATIVE_INFINITY

/** Observations about an endpoint from a served request. */
export interface ServedSample {
  /** From dispatch to the first content event. */
  readonly firstTokenMs: number
  /** Of output after the first token; 0 where too short to measure. */
  readonly tokensPerSecond: number
  /** Of a reply that is too short to measure: what it reached at least; absent where that says nothing. */
  readonly atLeast?: number | undefined
  /** Set if tools were offered and called: broken if arguments were no JSON object or a name was not offered. */
  readonly tools?: 'fine' | 'broken' | undefined
}

/** A failed attempt. */
export interface FailedSample {
  readonly now: number
  /** When it began to fail: outage and ejection count from then. */
  readonly since: number
  /** Identity of the caller's key; undefined for a probe of the gateway's own. */
  readonly key: string | undefined
  /** Owner of the key; the key itself where that is not known. */
  readonly owner?: string | undefined
  /** The connection itself failed, whatever the request was. */
  readonly isConnection: boolean
}

/** Fault of the last attempt, and the cause of a failed connection in one word. */
export interface LastFault {
  readonly code: FaultCode
  readonly reason: string | undefined
}

/** Consequence of a failure: an ejection for all keys, the same because of the one key that uses the endpoint, or for that key alone. */
export type Ejected = 'all' | 'sole' | 'key' | undefined

/** Fewer requests than these make no band (docs/contract.md#endpoint-choice, rule 6). */
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
  private readonly soleOwner = new SoleKey()
  /** Absent until the first failure. */
  keys: KeyFailures | undefined
  /** Those that count for all keys, and rate limits, since a limit is of the gateway's account. */
  private readonly attempts = new FailedAttempts()
  private readonly halfHour = new OutcomeWindow(MINUTE / 2, 60)
  /**
   * Outcomes from which the band is computed: the half hour without the failures of ejections, which have an end of their own.
   * They would otherwise keep an endpoint that is well again from the requests that could show it.
   */
  private readonly steady = steadyWindow()
  private readonly day = new OutcomeWindow(30 * MINUTE, 48)
  /** Absent until the first success. */
  private speed: SpeedWindow | undefined
  /** Absent until the first reply with tool calls. */
  private toolCalls: OutcomeWindow | undefined

  /** Of the last attempt, where it failed. */
  lastFault: LastFault | undefined

  /** The gateway's account there has reached a limit. */
  attemptLimited(now: number): void {
    this.attempts.add(now)
  }

  /** An attempt at one of the names behind a wildcard has failed. */
  nameFailed(sample: Omit<FailedSample, 'since'>): void {
    const { now, key = OURS, owner = key } = sample
    if (this.movedBy(sample) === 'all') this.attempts.add(now)
    this.noted(key, now, owner).attempts.add(now)
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

  served(now: number, { firstTokenMs, tokensPerSecond, atLeast = 0, tools }: ServedSample, key?: string, owner = key): void {
    this.lastFault = undefined
    this.servedTimes++
    if (key !== undefined) this.sole.note(key, true, now)
    if (owner !== undefined) this.soleOwner.note(owner, true, now)
    if (this.keys) this.forgive(this.keys, now, { key, owner })
    this.outageUntil = NEVER
    this.attempts.clear()
    this.ejection?.succeeded(now)
    this.steady.add(now, true)
    this.halfHour.add(now, true)
    this.day.add(now, true)
    this.speed ??= new SpeedWindow()
    this.speed.add(now, firstTokenMs, tokensPerSecond, atLeast)
    if (tools === undefined) return
    this.toolCalls ??= new OutcomeWindow(5 * MINUTE, 6)
    this.toolCalls.add(now, tools === 'fine')
  }

  /** @param chance uniform in [0, 1). */
  broke(sample: FailedSample, chance: () => number): Ejected {
    const { now, since, key = OURS, owner = key } = sample
    if (key !== OURS) {
      this.sole.note(key, false, now)
      this.soleOwner.note(owner, false, now)
    }
    const moved = this.movedBy(sample)
    const isEveryones = moved === 'all'
    const isAll = isEveryones || this.soleOwner.mostlyFails(now)
    const own = this.noted(key, now, owner)
    if (moved === 'owner') this.keys?.moveOwner(owner, since + OUTAGE_MS)
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
  takeOver(key: string, now: number, outage: { ms: number; rounds: number; owner?: string | undefined }): void {
    this.noted(key, now, outage.owner ?? key).ejection.takeOver(now, outage)
  }

  /** The ejection is over in another process. @param key undefined: that of all keys. */
  endedElsewhere(key: string | undefined, now: number): void {
    const ejection = key === undefined ? this.ejection : this.keys?.get(key)?.ejection
    ejection?.endedElsewhere(now)
  }

  /** The ejection of this key alone; undefined where it has none. */
  activeEjection(key: string | undefined): Ejection | undefined {
    const ejection = key === undefined ? undefined : this.keys?.get(key)?.ejection
    return ejection?.standing ? ejection : undefined
  }

  /** True where no other key has used the endpoint of late. */
  isUsedAlone(key: string, now: number): boolean {
    return this.sole.alone(now) === key
  }

  /** The longer of two rests holds. @param key the only one that rests; undefined for all. */
  rest(until: number, key?: string): void {
    if (key === undefined) this.restUntil = Math.max(this.restUntil, until)
    else {
      const own = this.opened(key)
      own.restUntil = Math.max(own.restUntil, until)
    }
  }

  inOutage(now: number, key?: string, owner = key ?? this.soleOwner.alone(now)): boolean {
    if (now < this.outageUntil || now < (this.standing(key, now)?.outageUntil ?? NEVER)) return true
    return owner !== undefined && now < (this.keys?.ownerOutage(owner) ?? NEVER)
  }

  /** True where it has failed for all keys of late. */
  isOutForAll(now: number): boolean {
    return now < this.outageUntil
  }

  /** Milliseconds. */
  restLeft(now: number, key?: string): number {
    return Math.max(0, this.restUntil - now, (this.standing(key, now)?.restUntil ?? NEVER) - now)
  }

  /** Milliseconds until a probe may pass; 0 where it is not ejected. */
  ejectionLeft(now: number, key?: string): number {
    return Math.max(this.ejection?.left(now) ?? 0, this.standing(key, now)?.ejection.left(now) ?? 0)
  }

  /** By all requests, or without those of the one other owner's keys with the most failures, whichever is better. */
  band(now: number, owner?: string): Band {
    const share = this.steady.share(now, BAND_REQUESTS) ?? 1
    if (share >= NORMAL) return 0
    const worst = this.keys?.worst(owner ?? this.soleOwner.alone(now), now) ?? []
    const others = worst.length > 0 ? (this.steady.shareWithout(worst, now, BAND_REQUESTS) ?? 1) : share
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

  /** Tokens per second that are known to be reached where no reply was long enough to measure. */
  leastThroughput(now: number): number | undefined {
    return this.speed?.least(now)
  }

  toolSuccess(now: number): number | undefined {
    return this.toolCalls?.share(now, TOOL_REPLIES)
  }

  /** Owners whose keys the failure moves, beside the one that had it. */
  private movedBy({ now, key = OURS, owner = key, isConnection }: Omit<FailedSample, 'since'>): 'all' | 'owner' | undefined {
    return key === OURS || isConnection ? 'all' : this.keys?.moves(key, { owner, now, served: this.servedTimes })
  }

  /** The key fails now. */
  private noted(key: string, now: number, owner: string): KeyStanding {
    const own = this.opened(key)
    own.owner = owner
    own.failedAt = now
    own.servedBefore = this.servedTimes
    return own
  }

  private opened(key: string): KeyStanding {
    this.keys ??= new KeyFailures((dropped) => this.countLoose(dropped, dropped.failedAt))
    return this.keys.open(key)
  }

  private standing(key: string | undefined, now: number): KeyStanding | undefined {
    if (this.keys === undefined) return undefined
    const whose = key ?? this.sole.alone(now)
    return whose === undefined ? undefined : this.keys.get(whose)
  }

  /** A success of a key ends its outage. That of an outage of all keys ends theirs as well. */
  private forgive(keys: KeyFailures, now: number, { key, owner }: { key: string | undefined; owner: string | undefined }): void {
    if (owner !== undefined) keys.forgiveOwner(owner)
    const own = key === undefined ? undefined : keys.get(key)
    if (own) {
      this.countLoose(own, now)
      own.reset(now)
      own.steady.add(now, true)
    }
    if (key !== undefined && now >= this.outageUntil && this.ejection?.standing !== true) return
    keys.forgiveOwner(undefined)
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

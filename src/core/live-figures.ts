/**
 * Figures of the last minute, counted as exchanges end, for an operator who watches: a few numbers are raised for each exchange, and
 * what is kept has a size that no traffic changes. Snapshots are plain data, so that those of several processes can be added up.
 */
import type { Clock } from './clock.ts'

export const WINDOW_SECONDS = 60
/** Distributions are kept in parts of so many seconds. */
const PART_SECONDS = 10
const PARTS = WINDOW_SECONDS / PART_SECONDS
/** Four steps for each doubling, from 1 ms to 18 minutes: a percentile is right to 9 %. */
const STEPS = 4
const BUCKETS = 81
/** Providers with figures of their own; those beyond are left out. */
const MAX_PROVIDERS = 64
const HOUR_SECONDS = 3600

/** Facts of one exchange that are counted. */
export interface LiveFacts {
  readonly status: number
  /** True where the caller got an error that is not its own, or a stream that broke off. */
  readonly failed: boolean
  /** Slug; '' where none was chosen. */
  readonly provider: string
  readonly tokensIn: number
  readonly tokensOut: number
  readonly costNano: number
  readonly elapsedMs: number
  /** Below 0 where nothing came. */
  readonly firstEventMs: number
}

/** Sums of one second. */
export interface LiveSecond {
  /** Since the epoch. */
  second: number
  requests: number
  errors: number
  nano: number
  input: number
  output: number
  /** Requests refused for lack of time or memory; they are no exchanges. */
  shed: number
}

export interface LiveProvider {
  requests: number
  errors: number
  latency: number[]
  firstEvent: number[]
}

/** Of one process. */
export interface LiveSnapshot {
  seconds: LiveSecond[]
  statuses: Record<string, number>
  latency: number[]
  firstEvent: number[]
  providers: Record<string, LiveProvider>
  /** Nano-dollars since the hour began, or the process. */
  hourNano: number
}

/** Status that one process reports. */
export interface ProcessStatus {
  readonly live: LiveSnapshot
  /** Replies that are under way, and streams among them. */
  readonly open: number
  readonly streams: number
  readonly bodiesWaiting: number
  /** Milliseconds for which a long body that comes now would wait. */
  readonly bodyWait: number
  readonly saturated: boolean
  /** Resident bytes. */
  readonly memory: number
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  /** Why it should get no traffic. */
  readonly reasons: readonly string[]
  /** Remarks for the operator on a process that is ready. */
  readonly notes: readonly string[]
}

class Part {
  index = -1
  readonly latency = new Uint32Array(BUCKETS)
  readonly firstEvent = new Uint32Array(BUCKETS)
  readonly statuses = new Map<number, number>()
  requests = 0
  errors = 0

  begin(index: number): void {
    this.index = index
    this.latency.fill(0)
    this.firstEvent.fill(0)
    this.statuses.clear()
    this.requests = 0
    this.errors = 0
  }

  count({ status, failed, elapsedMs, firstEventMs }: LiveFacts): void {
    this.requests++
    if (failed) this.errors++
    raise(this.latency, elapsedMs)
    if (firstEventMs >= 0) raise(this.firstEvent, firstEventMs)
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
  }
}

/** A ring of parts. */
class Minute {
  private readonly parts: readonly Part[] = Array.from({ length: PARTS }, () => new Part())

  at(second: number): Part | undefined {
    const index = Math.floor(second / PART_SECONDS)
    const part = this.parts[index % PARTS]
    if (part && part.index !== index) part.begin(index)
    return part
  }

  current(second: number): Part[] {
    const newest = Math.floor(second / PART_SECONDS)
    return this.parts.filter(({ index }) => index > newest - PARTS && index <= newest)
  }
}

export class LiveFigures {
  private readonly clock: Pick<Clock, 'now'>
  private readonly seconds: LiveSecond[] = Array.from({ length: WINDOW_SECONDS }, () => emptySecond(-1))
  private readonly all = new Minute()
  private readonly providers = new Map<string, Minute>()
  private hour = 0
  private hourNano = 0

  constructor(clock: Pick<Clock, 'now'>) {
    this.clock = clock
  }

  /** @param now milliseconds since the epoch. */
  count(facts: LiveFacts, now = this.clock.now()): void {
    const second = Math.floor(now / 1000)
    const sums = this.secondAt(second)
    sums.requests++
    if (facts.failed) sums.errors++
    sums.nano += facts.costNano
    sums.input += facts.tokensIn
    sums.output += facts.tokensOut
    this.hourAt(second)
    this.hourNano += facts.costNano
    this.all.at(second)?.count(facts)
    if (facts.provider === '') return
    let provider = this.providers.get(facts.provider)
    if (!provider) {
      if (this.providers.size >= MAX_PROVIDERS) return
      provider = new Minute()
      this.providers.set(facts.provider, provider)
    }
    provider.at(second)?.count(facts)
  }

  shed(): void {
    this.secondAt(Math.floor(this.clock.now() / 1000)).shed++
  }

  snapshot(): LiveSnapshot {
    const second = Math.floor(this.clock.now() / 1000)
    this.hourAt(second)
    const parts = this.all.current(second)
    const statuses: Record<string, number> = {}
    for (const part of parts) for (const [status, count] of part.statuses) statuses[status] = (statuses[status] ?? 0) + count
    const providers: Record<string, LiveProvider> = {}
    for (const [slug, minute] of this.providers) {
      const own = minute.current(second)
      if (own.length > 0) providers[slug] = { ...sumParts(own), ...mergeDistributions(own) }
    }
    const seconds = this.seconds.filter((sums) => sums.second > second - WINDOW_SECONDS && sums.second <= second)
    return { seconds: seconds.map((sums) => ({ ...sums })), statuses, ...mergeDistributions(parts), providers, hourNano: this.hourNano }
  }

  private secondAt(second: number): LiveSecond {
    const found = this.seconds[second % WINDOW_SECONDS]
    if (found?.second === second) return found
    const sums = emptySecond(second)
    this.seconds[second % WINDOW_SECONDS] = sums
    return sums
  }

  private hourAt(second: number): void {
    const hour = Math.floor(second / HOUR_SECONDS)
    if (hour === this.hour) return
    this.hour = hour
    this.hourNano = 0
  }
}

function emptySecond(second: number): LiveSecond {
  return { second, requests: 0, errors: 0, nano: 0, input: 0, output: 0, shed: 0 }
}

function sumParts(parts: readonly Part[]): Pick<LiveProvider, 'requests' | 'errors'> {
  return { requests: parts.reduce((sum, part) => sum + part.requests, 0), errors: parts.reduce((sum, part) => sum + part.errors, 0) }
}

function mergeDistributions(parts: readonly Part[]): Pick<LiveProvider, 'latency' | 'firstEvent'> {
  return { latency: addedUp(parts.map((part) => part.latency)), firstEvent: addedUp(parts.map((part) => part.firstEvent)) }
}

/** Bucket by bucket. */
export function addedUp(counts: readonly ArrayLike<number>[]): number[] {
  return Array.from({ length: BUCKETS }, (_, at) => counts.reduce((sum, each) => sum + (each[at] ?? 0), 0))
}

function raise(counts: Uint32Array, ms: number): void {
  const at = ms <= 1 ? 0 : Math.min(BUCKETS - 1, Math.ceil(Math.log2(ms) * STEPS))
  counts[at] = (counts[at] ?? 0) + 1
}

/** Milliseconds that this share of what was counted needed at most; null where nothing was. @param share 0 to 1. */
export function percentile(counts: readonly number[], share: number): number | null {
  const wanted = Math.ceil(counts.reduce((sum, count) => sum + count, 0) * share)
  if (wanted === 0) return null
  let seen = 0
  for (const [at, count] of counts.entries()) {
    seen += count
    if (seen >= wanted) return Math.round(2 ** (at / STEPS) * 10) / 10
  }
  return null
}

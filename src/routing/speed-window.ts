/** First tokens and speeds of an endpoint's last replies, and their percentiles. */
import type { PercentileName } from './standing.ts'

/** Rolling window of the statistics, in tenths of a second (docs/contract.md#provider-preferences). */
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
    if (size === 0 || bound < this.rates.at(size - 1 - percentileRank('p50', size))) this.bounds.insert(bound)
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
    return size === 0 ? undefined : this.firsts.at(percentileRank(percentile, size)) / 1000
  }

  /** Tokens per second that this share of replies reached at least. */
  throughput(now: number, percentile: PercentileName): number | undefined {
    this.expire(now)
    const { size } = this.rates
    return size === 0 ? undefined : this.rates.at(size - 1 - percentileRank(percentile, size)) / 1000
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
function percentileRank(percentile: PercentileName, size: number): number {
  return Math.ceil(SHARE[percentile] * size) - 1
}

/** 0 for unknown. */
function thousandths(rate: number): number {
  return rate > 0 ? Math.max(1, whole(rate * 1000)) : 0
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

/** The last few minutes of one endpoint's speed: a ring of samples and the percentiles over it. */
import type { PercentileName } from './order.ts'

/** Rolling window of the statistics (contract section 5.1). */
const WINDOW_MS = 300_000
/** Busy endpoints keep their newest samples only: enough for a p99, small enough for thousands of endpoints. */
const SAMPLES = 256
/** Percentiles are worked out anew at most this often while samples keep coming. */
const FRESH_MS = 250

const SHARE: Readonly<Record<PercentileName, number>> = { p50: 0.5, p75: 0.75, p90: 0.9, p99: 0.99 }

type Summary = { [name in PercentileName]: number } | undefined

export class SpeedWindow {
  private readonly at = new Float64Array(SAMPLES).fill(Number.NEGATIVE_INFINITY)
  private readonly seconds = new Float64Array(SAMPLES)
  private readonly rate = new Float64Array(SAMPLES)
  private next = 0
  private computedAt = Number.NEGATIVE_INFINITY
  private slow: Summary
  private fast: Summary

  /** @param now monotonic milliseconds. @param rate tokens per second, 0 for unknown. */
  add(now: number, seconds: number, rate: number): void {
    const i = this.next
    this.at[i] = now
    this.seconds[i] = seconds
    this.rate[i] = rate
    this.next = i + 1 === SAMPLES ? 0 : i + 1
  }

  /** Seconds that this share of first tokens took at most. */
  latency(now: number, percentile: PercentileName): number | undefined {
    this.refresh(now)
    return this.slow?.[percentile]
  }

  /** Tokens per second that this share of replies reached at least. */
  throughput(now: number, percentile: PercentileName): number | undefined {
    this.refresh(now)
    return this.fast?.[percentile]
  }

  private refresh(now: number): void {
    if (now - this.computedAt < FRESH_MS) return
    this.computedAt = now
    const oldest = now - WINDOW_MS
    const seconds: number[] = []
    const rates: number[] = []
    for (let i = 0; i < SAMPLES; i++) {
      if (this.at[i] <= oldest) continue
      seconds.push(this.seconds[i])
      if (this.rate[i] > 0) rates.push(this.rate[i])
    }
    this.slow = summary(seconds.sort((a, b) => a - b))
    this.fast = summary(rates.sort((a, b) => b - a))
  }
}

/** Nearest-rank percentiles of values sorted from good to bad. */
function summary(sorted: readonly number[]): Summary {
  if (sorted.length === 0) return undefined
  const pick = (name: PercentileName) => sorted[Math.ceil(SHARE[name] * sorted.length) - 1]
  return { p50: pick('p50'), p75: pick('p75'), p90: pick('p90'), p99: pick('p99') }
}

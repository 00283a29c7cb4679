/** Durations in buckets that grow by a sixteenth of an octave: percentiles of many without any of them, each within 3 %. */
import type { SlicePercentiles } from './slice-types.ts'

const PER_OCTAVE = 16
/** The last one has all from some two hours on. */
export const BUCKETS = 23 * PER_OCTAVE

/** @param ms from 0 on. */
export function durationBucket(ms: number): number {
  const bucket = Math.floor(Math.log2(ms + 1) * PER_OCTAVE)
  return bucket < BUCKETS ? bucket : BUCKETS - 1
}

/** The middle of a bucket, in milliseconds. */
const bucketMs = (bucket: number): number => 2 ** ((bucket + 0.5) / PER_OCTAVE) - 1

/** Counts by bucket of several sums, in one array: `BUCKETS` for each. */
export class Durations {
  private readonly counts: Uint32Array

  constructor(sums: number) {
    this.counts = new Uint32Array(sums * BUCKETS)
  }

  add(sum: number, bucket: number): void {
    const at = sum * BUCKETS + bucket
    this.counts[at] = (this.counts[at] ?? 0) + 1
  }

  /** Null where nothing was added. */
  percentiles(sum: number): SlicePercentiles | null {
    const counts = this.counts.subarray(sum * BUCKETS, (sum + 1) * BUCKETS)
    let total = 0
    for (const count of counts) total += count
    if (total === 0) return null
    const percentile = (share: number): number => {
      let left = Math.max(1, Math.ceil(total * share))
      for (let bucket = 0; bucket < BUCKETS; bucket++) {
        left -= counts[bucket] ?? 0
        if (left <= 0) return round(bucketMs(bucket))
      }
      return round(bucketMs(BUCKETS - 1))
    }
    return { p50: percentile(0.5), p95: percentile(0.95), p99: percentile(0.99) }
  }
}

const round = (ms: number): number => (ms < 100 ? Math.round(ms * 10) / 10 : Math.round(ms))

/** Messages to the load generator, and its results. */
import type { BenchRequest } from './requests.ts'

/** One load on one target. */
export interface LoadJob {
  readonly port: number
  readonly request: BenchRequest
  readonly headers: Record<string, string>
  readonly connections: number
  readonly seconds: number
}

/** Result of a load; times in milliseconds. `firsts` is the time to the first byte of a stream, empty without streams. */
export interface LoadResult {
  readonly completed: number
  readonly seconds: number
  readonly latencies: number[]
  readonly firsts: number[]
}

/** The parent's view of a result: percentiles instead of every value. */
export interface LoadSummary {
  readonly completed: number
  readonly seconds: number
  readonly p50: number
  readonly p99: number
  /** Median time to the first byte of a stream, ms; 0 without streams. */
  readonly first: number
}

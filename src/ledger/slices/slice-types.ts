/** Slices of the ledger as they are sought and found: sums and percentiles of a range, by what stands apart, and the most extreme generations. */
import type { GenerationRecord } from '../types.ts'

/** Names that can stand apart, and be sought; each is a column of a kept row. */
export const SLICE_GROUPS = ['key', 'model', 'provider', 'status', 'error', 'user', 'app'] as const
export type SliceGroup = (typeof SLICE_GROUPS)[number]

/** Measures by which slices are put in order: those of percentiles are `<time>_<percentile>`. */
const PLAIN_MEASURES = ['usage', 'requests', 'failed', 'failed_share', 'prompt', 'completion', 'cached', 'last'] as const
const TIME_MEASURES = ['whole_p50', 'whole_p95', 'whole_p99', 'first_p50', 'first_p95', 'first_p99'] as const
export const SLICE_MEASURES = [...PLAIN_MEASURES, ...TIME_MEASURES] as const
export type SliceMeasure = (typeof SLICE_MEASURES)[number]

/** Measures by which single generations are put in order. */
export const EXTREME_MEASURES = ['usage', 'whole', 'first', 'prompt', 'completion'] as const
export type ExtremeMeasure = (typeof EXTREME_MEASURES)[number]

/** Values of which a row has to have one, by column; a column that is absent is not looked at. '' is a row without a value. */
export type SliceFilter = Readonly<Partial<Record<SliceGroup, readonly string[]>>>

export interface SliceRange {
  /** Milliseconds since the epoch of the admission: from here on, and before there. */
  readonly from: number
  readonly until: number
  readonly filter: SliceFilter
}

export interface SliceQuery extends SliceRange {
  /** At most two. */
  readonly by: readonly SliceGroup[]
  /** Names that take the place of the keys of rows: what keys have in common, such as the member they were made for. Others have ''. */
  readonly keyNames?: ReadonlyMap<string, string> | undefined
  readonly order: SliceMeasure
  readonly ascending: boolean
  /** Sums at most. */
  readonly limit: number
  /** Equal parts of the range that are summed as well. */
  readonly points: number
}

export interface ExtremeQuery extends SliceRange {
  readonly order: ExtremeMeasure
  /** Generations at most. */
  readonly limit: number
}

/** Milliseconds of answered requests, within 3 %. */
export interface SlicePercentiles {
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

export interface SliceSum {
  /** Values of what stands apart, in the order of `by`. */
  readonly names: readonly string[]
  readonly requests: number
  /** Of the requests: those that failed, or whose outcome is unknown. */
  readonly failed: number
  /** Nano-dollars. */
  readonly cost: bigint
  readonly input: number
  readonly output: number
  /** Input tokens that came from a cache. */
  readonly cached: number
  /** From the admission to the end, and to the first content; null without an answered request. */
  readonly whole: SlicePercentiles | null
  readonly first: SlicePercentiles | null
  /** Milliseconds since the epoch: admission of the first and of the last one; 0 where there is none. */
  readonly firstAt: number
  readonly lastAt: number
}

/** The part of the range whose generations are known. */
export interface SliceCover {
  /** Milliseconds since the epoch: all generations from here on are in it. It is the beginning of the range once all of it was read. */
  readonly readFrom: number
  /** True where older generations are not read, since as many as are kept have been. */
  readonly isFull: boolean
}

export interface SliceList extends SliceCover {
  readonly sums: readonly SliceSum[]
  /** Of all rows that were sought, whether or not their sum is listed. */
  readonly total: SliceSum
  /** Groups, whether or not they are listed. */
  readonly groups: number
  /** One for each equal part of the range, in order. */
  readonly points: readonly SliceSum[]
}

export interface ExtremeList extends SliceCover {
  readonly rows: readonly GenerationRecord[]
}

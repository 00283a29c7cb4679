/** Figures from the samples of a soak: slope per ten minutes after the warm-up, peak, and whether it passes. */
import type { Held } from './probe.ts'

export interface Sample extends Held {
  /** Seconds since the load began. */
  readonly at: number
  /** Open descriptors: /proc/PID/fd. */
  readonly descriptors: number
}

export interface Verdict {
  readonly lines: string[]
  readonly passed: boolean
}

const MB = 1e6
/** Megabytes (10^6 bytes) of resident memory that ten minutes may add. */
const MAX_SLOPE = 1
/** By how much the median of the last third may lie above that of the first: descriptors and timers follow the open requests. */
const FLAT = { share: 0.1, count: 20 }
const TEN_MINUTES = 600

/** Least squares. @returns units per ten minutes. */
function slope(samples: readonly Sample[], value: (sample: Sample) => number): number {
  const n = samples.length
  const meanAt = samples.reduce((sum, { at }) => sum + at, 0) / n
  const mean = samples.reduce((sum, sample) => sum + value(sample), 0) / n
  let [above, below] = [0, 0]
  for (const sample of samples) {
    above += (sample.at - meanAt) * (value(sample) - mean)
    below += (sample.at - meanAt) ** 2
  }
  return below === 0 ? 0 : (above / below) * TEN_MINUTES
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}

function flat(samples: readonly Sample[], value: (sample: Sample) => number): { first: number; last: number; flat: boolean } {
  const third = Math.max(1, Math.floor(samples.length / 3))
  const first = median(samples.slice(0, third).map(value))
  const last = median(samples.slice(-third).map(value))
  return { first, last, flat: last - first <= Math.max(FLAT.count, first * FLAT.share) }
}

const mb = (bytes: number): string => (bytes / MB).toFixed(1)

/** @param warmUp seconds that do not count. */
export function judge(all: readonly Sample[], warmUp: number): Verdict {
  const samples = all.filter(({ at }) => at >= warmUp)
  if (samples.length < 3) return { lines: [`only ${samples.length} samples after the warm-up of ${warmUp} s`], passed: false }
  const lines: string[] = []
  for (const field of ['rss', 'young', 'heap', 'external', 'buffers'] as const) {
    const bytes = samples.map((sample) => sample[field])
    const ends = `${mb(bytes[0] ?? 0)} to ${mb(bytes.at(-1) ?? 0)} MB, peak ${mb(Math.max(...bytes))}`
    lines.push(`${field.padEnd(12)} ${mb(slope(samples, (sample) => sample[field])).padStart(7)} MB per 10 minutes (${ends})`)
  }
  const counts = (['descriptors', 'timers', 'handles'] as const).map((field) => ({ field, ...flat(samples, (sample) => sample[field]) }))
  for (const { field, first, last, flat: isFlat } of counts)
    lines.push(`${field.padEnd(12)} ${first} in the first third, ${last} in the last: ${isFlat ? 'flat' : 'GROWS'}`)
  const memory = slope(samples, ({ rss }) => rss) / MB
  // Sockets are counted twice, as handles and as descriptors; the latter decide.
  const passed = memory < MAX_SLOPE && counts.every(({ field, flat: isFlat }) => isFlat || field === 'handles')
  lines.push(
    passed
      ? `passed: below ${MAX_SLOPE} MB per 10 minutes, descriptors and timers flat`
      : `FAILED: expected less than ${MAX_SLOPE} MB per 10 minutes, descriptors and timers flat`,
  )
  return { lines, passed }
}

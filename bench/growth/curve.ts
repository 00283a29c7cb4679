/** Verdict on a curve of costs: it grows faster than its size, as fast, or not at all. */
import { entryAt } from '../../src/core/entry-at.ts'
import { median } from '../measure.ts'

/** CPU microseconds per request at one size, of each round. */
export interface Point {
  readonly size: number
  readonly rounds: readonly number[]
  /** Of a gateway of this size alone, where it has one. */
  readonly startSeconds?: number
  readonly megabytes?: number
}

/** A cost may grow with its size, at most in proportion; a look-up may not. */
export type Bound = 'linear' | 'flat'

export interface Verdict {
  /** For `linear` the steepest exponent of the curve, for `flat` the last cost over the first. */
  readonly value: number
  /** Part of it that may be chance. */
  readonly noise: number
  readonly met: boolean
}

/** The median absolute deviation of a normal distribution times this is its standard deviation. */
const DEVIATION = 1.4826
/** The standard error of a median of n normal values is this times the standard deviation over √n. */
const OF_MEDIAN = 1.2533
const SIGMAS = 3
/** CPU time is read in ticks of 10 ms, of rounds of half a second. */
const MIN_ERROR = 0.01
/** Exponents are taken between sizes that are at least so many times apart: the noise of closer ones is larger than what they show. */
const APART = 4
const STEEPEST = 1.05
const FLATTEST = 1.15

const pointCost = ({ rounds }: Point): number => median(rounds)

/** The standard error of a point's median, as a share of it. */
function medianError({ rounds }: Point): number {
  const middle = median(rounds)
  const deviation = median(rounds.map((one) => Math.abs(one - middle)))
  return Math.max(MIN_ERROR, (OF_MEDIAN * DEVIATION * deviation) / Math.sqrt(rounds.length) / middle)
}

/** Cost of a size beyond the smallest one: the fixed part of a request would hide how the rest grows. */
interface Beyond {
  readonly size: number
  readonly cost: number
  /** Standard error. */
  readonly error: number
}

/** Exponent of cost by size between two points: 1 is in proportion, 2 its square. */
function exponent(from: Beyond, to: Beyond): Verdict {
  const apart = Math.log(to.size / from.size)
  const value = Math.log(to.cost / from.cost) / apart
  const noise = (SIGMAS * Math.hypot(from.error / from.cost, to.error / to.cost)) / apart
  return { value, noise, met: value - noise <= STEEPEST }
}

function steepest(points: readonly Point[]): Verdict {
  const smallest = entryAt(points, 0)
  const beyond = points.slice(1).map((point) => ({
    size: point.size - smallest.size,
    cost: pointCost(point) - pointCost(smallest),
    error: Math.hypot(medianError(point) * pointCost(point), medianError(smallest) * pointCost(smallest)),
  }))
  // Where nothing is seen to grow there is no exponent.
  const grown = beyond.filter(({ cost, error }) => cost > SIGMAS * error)
  const found = grown.flatMap((to, at) => {
    const from = grown.slice(0, at).findLast(({ size }) => size * APART <= to.size * 1.001)
    return from === undefined ? [] : [exponent(from, to)]
  })
  const none: Verdict = { value: 0, noise: 0, met: true }
  return found.reduce((most, one) => ((one.met === most.met ? one.value > most.value : most.met) ? one : most), none)
}

function flatness(points: readonly Point[]): Verdict {
  const [first, last] = [entryAt(points, 0), entryAt(points, points.length - 1)]
  const value = pointCost(last) / pointCost(first)
  const noise = value * SIGMAS * Math.hypot(medianError(first), medianError(last))
  return { value, noise, met: value - noise <= FLATTEST }
}

/** @param points in the order of their sizes. @throws Error where there are too few to say anything. */
export function judge(points: readonly Point[], bound: Bound): Verdict {
  if (points.length < 2) throw new Error('expected at least two sizes')
  return bound === 'linear' ? steepest(points) : flatness(points)
}

/** One sentence for the page and the terminal. */
export function verdictText({ value, noise, met }: Verdict, bound: Bound): string {
  const number = `${value.toFixed(2)} ± ${noise.toFixed(2)}`
  if (bound === 'linear' && value === 0) return 'nothing is seen to grow beyond noise'
  if (bound === 'linear')
    return met
      ? `not above linear: the steepest exponent is ${number}`
      : `ABOVE LINEAR: the steepest exponent is ${number}, at most ${STEEPEST}`
  return met
    ? `flat: the largest costs ${number} times the smallest`
    : `NOT FLAT: the largest costs ${number} times the smallest, at most ${FLATTEST}`
}

/** Which slices of drawn ends a long run has: all, or those that `HEADGATE_SLICES` names. */
import type { Part } from './drawn-ends.ts'

/** Cases of a slice. */
export const SLICE = 1_000

export interface Slice {
  readonly part: Part
  readonly seed: number
  /** Only this one of its cases. */
  readonly only?: number
}

/** Slices of a whole run. */
const SLICES: Readonly<Record<Part, number>> = { official: 100, others: 10 }

/** `others:7` is a slice, `others:7*10` that one and the nine of the seeds behind it, `others:7@123` one case of it. */
const FORM = /^(official|others):(\d+)(?:\*(\d+)|@(\d+))?$/

/** @param named slices with commas between them; all with the seeds from `first` on where absent. */
export function namedSlices(named: string | undefined, first: number): Slice[] {
  if (named === undefined) return Object.entries(SLICES).flatMap(([part, count]) => following(part as Part, first, count))
  return named.split(',').flatMap((one): Slice[] => {
    const [, part, seed, count, only] = FORM.exec(one.trim()) ?? []
    if (part === undefined) throw new Error(`no slices: ${one}; expected official:SEED or others:SEED, then *COUNT or @CASE`)
    if (only !== undefined) return [{ part: part as Part, seed: Number(seed), only: Number(only) }]
    return following(part as Part, Number(seed), Number(count ?? 1))
  })
}

const following = (part: Part, first: number, count: number): Slice[] =>
  Array.from({ length: count }, (_, at) => ({ part, seed: first + at }))

/** As `HEADGATE_SLICES` has it. */
export const sliceName = ({ part, seed }: Slice): string => `${part}:${seed}`

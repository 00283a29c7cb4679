/** Size of a generated store. */
export interface GrownSize {
  /** Generations, over 40 days. */
  readonly rows: number
  /** Keys, each with a balance; the generations are those of a sixtieth of them. */
  readonly keys: number
  /** Keys with a sum carried over for each of so many days. */
  readonly carriedKeys: number
  readonly days: number
}

export const DAY_MS = 86_400_000
/** Days over which the generations are spread. */
export const SPAN = 40

/** A third of it, itself, and three times as much. */
export function threeSizes(middle: GrownSize): GrownSize[] {
  return [1 / 3, 1, 3].map((factor) => ({
    rows: Math.round(middle.rows * factor),
    keys: Math.round(middle.keys * factor),
    carriedKeys: Math.round(middle.carriedKeys * factor),
    days: middle.days,
  }))
}

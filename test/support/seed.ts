/** Counts and seeds of property tests: small in `npm test`, large and announced in `npm run test:long`. */

export const LONG = process.env.HEADGATE_LONG === '1'

/** Number of runs of a property. */
export function runs(short: number, long: number): number {
  return LONG ? long : short
}

/** Of the short run: it draws the same cases each time, and the long run draws others. */
const SHORT_SEED = 20_260_105

/** The seed that the long run printed, so that it can be repeated; in the short run always the same. */
export function seed(): number {
  return Number(process.env.HEADGATE_SEED ?? SHORT_SEED)
}

/** Parameters for `fc.assert`. */
export function property(short: number, long: number): { numRuns: number; seed: number } {
  return { numRuns: runs(short, long), seed: seed() }
}

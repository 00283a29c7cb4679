/** Counts and seeds of property tests: small in `npm test`, large and announced in `npm run test:long`. */

export const LONG = process.env.HEADGATE_LONG === '1'

/** How many runs a property gets. */
export function runs(short: number, long: number): number {
  return LONG ? long : short
}

/** The seed that the long run printed, so that it can be repeated; undefined in the short run. */
export function seed(): number | undefined {
  const text = process.env.HEADGATE_SEED
  return text === undefined ? undefined : Number(text)
}

/** Parameters for `fc.assert`. */
export function property(short: number, long: number): { numRuns: number; seed?: number } {
  const given = seed()
  return given === undefined ? { numRuns: runs(short, long) } : { numRuns: runs(short, long), seed: given }
}

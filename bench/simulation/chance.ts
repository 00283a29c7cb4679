/** Chance that repeats: the same numbers for the same seed. */

/** Uniform in [0, 1). */
export type Chance = () => number

/** mulberry32: 32 bits of state. */
export function seededChance(seed: number): Chance {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Around 1, skewed to the slow side as waiting times are: the exponential of a normal draw. */
export function jitter(chance: Chance, spread: number): number {
  const radius = Math.sqrt(-2 * Math.log(1 - chance()))
  return Math.exp(radius * Math.cos(2 * Math.PI * chance()) * spread)
}

/** Money as integers: balances and charges in nano-dollars, rates in attodollars (1e-18 USD) per token or unit. */
import { usdText } from './money-text.ts'

/** Attodollars per token, or per unit where a price is per image, per request. */
export type Rate = bigint

const ATTO_PER_NANO = 1e9

const EXACT = Number.MAX_SAFE_INTEGER

/** USD that limits and entries name at most: more is not counted exactly. */
export const MAX_USD = 9_000_000

/**
 * An exact sum of `count × rate` products, rounded once to nano-dollars.
 * Sums below 2^53 attodollars stay in a double, where they are exact; the rest goes to a BigInt.
 * A sum above 2^53 nano-dollars (9 million USD) is cut to it: a provider's absurd report must not stop the ledger.
 */
export class Bill {
  private small = 0
  private large = 0n

  /**
   * @param count non-negative; less than one whole unit, or not a number, adds nothing, a fraction is dropped.
   * @param _what is counted, for a bill that keeps its parts.
   */
  add(count: number, rate: Rate, _what = ''): void {
    if (!(count >= 1)) return
    const units = Math.floor(Math.min(count, EXACT))
    const product = units * Number(rate)
    if (this.small + product <= EXACT) this.small += product
    else this.large += BigInt(units) * rate
  }

  /** Takes in another bill's sum. */
  join(other: Bill): void {
    this.large += other.large
    if (this.small + other.small <= EXACT) this.small += other.small
    else this.large += BigInt(other.small)
  }

  /** Attodollars, exact. */
  exact(): bigint {
    return this.large + BigInt(this.small)
  }

  /** Nano-dollars, rounded half up. */
  nano(): number {
    if (this.large !== 0n) return cut((this.exact() + 500_000_000n) / 1_000_000_000n)
    const rest = attoRest(this.small)
    return (this.small - rest) / ATTO_PER_NANO + (rest >= ATTO_PER_NANO / 2 ? 1 : 0)
  }

  /** Nano-dollars, rounded up: what must be reserved. */
  nanoUp(): number {
    if (this.large !== 0n) return cut((this.exact() + 999_999_999n) / 1_000_000_000n)
    const rest = attoRest(this.small)
    return (this.small - rest) / ATTO_PER_NANO + (rest > 0 ? 1 : 0)
  }
}

/** `atto % ATTO_PER_NANO`, which on a double is a call into the C library. @param atto an integer below 2^53. */
function attoRest(atto: number): number {
  const rest = atto - Math.floor(atto / ATTO_PER_NANO) * ATTO_PER_NANO
  // The division may have been rounded up to the next integer.
  return rest < 0 ? rest + ATTO_PER_NANO : rest
}

function cut(nano: bigint): number {
  return nano > BigInt(EXACT) ? EXACT : Number(nano)
}

/**
 * An exact running sum of nano-dollars: a double as long as that is exact, and a bigint beyond, so that no balance ever
 * sticks at 2^53 nano-dollars. May fall below 0.
 */
export class Total {
  private small = 0
  private large = 0n
  /** Nano-dollars between -2^53 and 2^53: exact wherever a limit, which is never above 2^53, depends on it. */
  cut = 0

  constructor(nano: number | bigint = 0) {
    this.add(nano)
  }

  /** @param nano an integer; below 0 it is taken away. */
  add(nano: number | bigint): void {
    const sum = this.small + Number(nano)
    if (typeof nano === 'number' && Math.abs(nano) <= EXACT && Math.abs(sum) <= EXACT) this.small = sum
    else {
      const exact = this.exact + BigInt(nano)
      this.large = exact - (exact % CARRY)
      this.small = Number(exact % CARRY)
    }
    this.cut = this.large === 0n ? this.small : cutNano(this.exact)
  }

  clear(): void {
    this.small = 0
    this.large = 0n
    this.cut = 0
  }

  /** Nano-dollars. */
  get exact(): bigint {
    return this.large + BigInt(this.small)
  }
}

/** Sums beyond 2^53 are kept as a multiple of this and a small rest. */
const CARRY = 2n ** 52n

/** An exact sum of nano-dollars as a number for comparisons, cut to ±2^53. */
export function cutNano(nano: bigint): number {
  return nano > BigInt(EXACT) ? EXACT : nano < -BigInt(EXACT) ? -EXACT : Number(nano)
}

/** Nano-dollars as the USD number that replies carry: the nearest double to the exact amount. */
export function usd(nano: number | bigint): number {
  if (typeof nano === 'number') return nano / 1e9
  const whole = Number(nano)
  return Number.isSafeInteger(whole) ? whole / 1e9 : Number(usdText(nano))
}

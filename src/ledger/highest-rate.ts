import type { Rate } from '../core/money.ts'

/** The dearest of some rates; 0 where there is none. */
export function highest(...rates: readonly (Rate | undefined)[]): Rate {
  let most = 0n
  for (const rate of rates) if (rate !== undefined && rate > most) most = rate
  return most
}

/** The weighted draw that spreads requests over endpoints (contract section 5.2, rule 3). */
import type { Standing } from './standing.ts'

/**
 * Moves one of the first `peers` to the front, drawn with weight 1/price²; the others keep their order.
 * Free ones draw among themselves, and so do those without a known price if there are no others.
 * @param chance uniform in [0, 1); called once, and not at all for a single peer.
 */
export function drawFirst(order: Standing[], peers: number, chance: () => number): void {
  if (peers < 2) return
  let cheapest = Number.POSITIVE_INFINITY
  for (let i = 0; i < peers; i++) cheapest = Math.min(cheapest, order[i].price)
  let total = 0
  for (let i = 0; i < peers; i++) total += weight(order[i].price, cheapest)
  let point = chance() * total
  let winner = 0
  for (let i = 0; i < peers; i++) {
    const share = weight(order[i].price, cheapest)
    if (share === 0) continue
    winner = i
    point -= share
    if (point < 0) break
  }
  toFront(order, winner)
}

export function toFront(order: Standing[], at: number): void {
  const first = order[at]
  order.copyWithin(1, 0, at)
  order[0] = first
}

/** 1 for the cheapest, so that no price is too small or too large for the sum. */
function weight(price: number, cheapest: number): number {
  if (price === cheapest) return 1
  const share = cheapest / price
  return cheapest === 0 ? 0 : share * share
}

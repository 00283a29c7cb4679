/** Checks the books against themselves: what the `ledger verify` command runs. */
import type { GenerationRecord } from './types.ts'

export interface Verdict {
  ok: boolean
  generations: number
  /** Still without a settlement. */
  open: number
  /** Nano-dollars of all settlements. */
  charged: number
  /** One line each, at most `MOST_PROBLEMS` of them. */
  problems: string[]
}

const MOST_PROBLEMS = 100

/**
 * Every sequence once and rising, at most one settlement per hold and of the same sequence, no negative or broken
 * amount, and the settlements of each key summing to what the journal says it spent.
 * @param spent nano-dollars per key as the journal sums them.
 */
export function verify(records: Iterable<GenerationRecord>, spent: ReadonlyMap<string, number>): Verdict {
  const verdict: Verdict = { ok: true, generations: 0, open: 0, charged: 0, problems: [] }
  const sums = new Map<string, number>()
  let before = -1
  for (const { id, hold, settled } of records) {
    verdict.generations++
    if (hold.seq <= before) note(verdict, `${id}: sequence ${hold.seq} is not above ${before}: recorded twice or out of order`)
    before = hold.seq
    if (!amount(hold.hold) || !amount(hold.floor)) note(verdict, `${id}: hold of ${hold.hold} with floor ${hold.floor}`)
    if (!settled) {
      verdict.open++
      continue
    }
    if (settled.seq !== hold.seq) note(verdict, `${id}: settlement of another sequence, ${settled.seq}`)
    if (!amount(settled.cost)) note(verdict, `${id}: cost of ${settled.cost}`)
    const counts = [settled.input, settled.output, settled.cached, settled.cacheWrite, settled.reasoning]
    if (!counts.every(amount)) note(verdict, `${id}: token counts ${counts.join(', ')}`)
    sums.set(hold.key, (sums.get(hold.key) ?? 0) + settled.cost)
    verdict.charged += settled.cost
  }
  for (const key of new Set([...sums.keys(), ...spent.keys()])) {
    const here = sums.get(key) ?? 0
    const there = spent.get(key) ?? 0
    if (here !== there) note(verdict, `key ${key}: settlements sum to ${here}, ${there} are recorded as spent`)
  }
  return verdict
}

function amount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

function note(verdict: Verdict, problem: string): void {
  verdict.ok = false
  if (verdict.problems.length < MOST_PROBLEMS) verdict.problems.push(problem)
}

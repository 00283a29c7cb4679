/** Runs one case in every lane that its pair of dialects allows, and counts how many cases each lane had. */
import type { Test } from 'tap'

export type Lane = 'pass' | 'observe' | 'translate'

const SAME_WIRE: Readonly<Record<string, string>> = { chat: 'openai-chat', responses: 'openai-responses', messages: 'anthropic' }

/** Same wire: all three lanes; else only translation. */
export function lanesBetween(client: string, upstream: string): Lane[] {
  return SAME_WIRE[client] === upstream ? ['pass', 'observe', 'translate'] : ['translate']
}

const counts: Record<Lane, number> = { pass: 0, observe: 0, translate: 0 }
const reporting = new WeakSet<object>()

/** Counts one case; the sums are printed when `root` ends. */
export function countLane(root: Test, lane: Lane): void {
  counts[lane]++
  if (reporting.has(root)) return
  reporting.add(root)
  root.teardown(() =>
    root.comment(
      `lanes: ${Object.entries(counts)
        .map(([name, count]) => `${name} ${count}`)
        .join(', ')}`,
    ),
  )
}

export interface Pair {
  client: string
  upstream: string
}

/** Runs `body` once per allowed lane; what it returns must be equal in all of them. */
export async function eachLane<Result>(root: Test, t: Test, pair: Pair, body: (lane: Lane) => Promise<Result>): Promise<Result> {
  const results: Result[] = []
  const lanes = lanesBetween(pair.client, pair.upstream)
  for (const lane of lanes) {
    results.push(await body(lane))
    countLane(root, lane)
    t.same(results.at(-1), results[0], `${pair.client} → ${pair.upstream} in lane ${lane} is equal to ${lanes[0]}`)
  }
  return results[0]
}

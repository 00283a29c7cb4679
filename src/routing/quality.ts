/**
 * Quality of endpoints for tool calls: what `sort: exacto` and requests with tools go by (contract section 5.2, rule 4).
 *
 *   quality = success³ × (1 + speed + score) ÷ 3
 *
 * success: share of the replies with tool calls whose calls were fine. speed: median tokens per second, as a share of
 * the fastest candidate's. score: `scores.tools` of the catalogue. Success counts most, since a broken call ends an
 * agent's run where a slow one only delays it. What has not been measured of an endpoint counts as the best that is
 * known of another, so that it gets requests and becomes known; a score that is not declared counts as the lowest
 * declared. Where no figure differs all candidates have one quality, and the price alone decides.
 */
import type { Health, Standing } from './standing.ts'

/** Candidates this close to the best one, as a share of its quality, are as good as it. */
const ON_A_PAR = 0.9

/** Sets `value` to the negated quality, so that the best comes first. */
export function rateQuality(standings: readonly Standing[], health: Health): void {
  const speeds: (number | undefined)[] = []
  const successes: (number | undefined)[] = []
  let fastest = 0
  let surest = 0
  let lowest = Number.POSITIVE_INFINITY
  for (const { endpoint } of standings) {
    const speed = health.throughput(endpoint, 'p50')
    const success = health.toolSuccess(endpoint)
    speeds.push(speed)
    successes.push(success)
    if (speed !== undefined && speed > fastest) fastest = speed
    if (success !== undefined && success > surest) surest = success
    lowest = Math.min(lowest, endpoint.scores.tools ?? lowest)
  }
  const unscored = lowest === Number.POSITIVE_INFINITY ? 0 : lowest
  // With no figures known, any success and speed will do, as long as it is the same for all.
  const untried = surest > 0 ? surest : 1
  for (const [i, standing] of standings.entries()) {
    const success = successes[i] ?? untried
    const speed = fastest > 0 ? (speeds[i] ?? fastest) / fastest : 1
    const score = standing.endpoint.scores.tools ?? unscored
    standing.value = (-success * success * success * (1 + speed + score)) / 3
  }
}

/** True where the two may be drawn between. @param best the one of the two with the higher quality. */
export function onAPar(best: Standing, other: Standing): boolean {
  return other.value <= best.value * ON_A_PAR
}

/** Goals of the routing in trouble, and the verdict of a simulated hour on them. */
import {
  avoidance,
  lastFailureSeconds,
  recoverySeconds,
  shareOfFair,
  spanFigures,
  troubled,
  unwelcomeCalls,
  worstShareError,
} from './figures.ts'
import type { HourRun } from './hour.ts'
import type { GoalKind } from './scenarios.ts'

export interface SimulationGoal {
  readonly scenario: string
  readonly what: string
  readonly wanted: string
  readonly found: string
  readonly met: boolean
}

type Verdict = Omit<SimulationGoal, 'scenario'>

const SUCCESS_PERCENT = 99.9
const CALLS = 1.2
const RECOVERY_SECONDS = 35
const FAIR = 0.85
const AVOIDED = 0.25
const UNWELCOME_PERCENT = 1
const LAW_POINTS = 3
/** After a recovery the share is looked at for so many minutes. */
const AFTER_MINUTES = 8

/** The goals of the scenario, those of several providers by the worst of them. */
export function measureGoals(run: HourRun): SimulationGoal[] {
  return run.scenario.goals.map((kind) => ({ scenario: run.scenario.name, ...JUDGES[kind](run) }))
}

const JUDGES: Readonly<Record<GoalKind, (run: HourRun) => Verdict>> = {
  success: (run) => {
    const { success } = spanFigures(run, run.scenario.window)
    return verdict('requests served', `≥ ${SUCCESS_PERCENT} %`, `${success.toFixed(3)} %`, success >= SUCCESS_PERCENT)
  },
  calls: (run) => {
    const { callsPerRequest } = spanFigures(run, run.scenario.window)
    return verdict('upstream calls per request', `≤ ${CALLS}`, callsPerRequest.toFixed(3), callsPerRequest <= CALLS)
  },
  recovery: (run) => {
    const seconds = Math.max(...troubled(run.scenario).map((provider) => recoverySeconds(run, provider)))
    return verdict('serves again after the trouble', `≤ ${RECOVERY_SECONDS} s`, `${seconds.toFixed(1)} s`, seconds <= RECOVERY_SECONDS)
  },
  settled: (run) => {
    const seconds = lastFailureSeconds(run)
    return verdict(
      'last failed request after the trouble',
      `≤ ${RECOVERY_SECONDS} s`,
      `${seconds.toFixed(1)} s`,
      seconds <= RECOVERY_SECONDS,
    )
  },
  share: (run) => {
    const from = run.scenario.window.to + RECOVERY_SECONDS / 60
    const span = { from, to: Math.min(from + AFTER_MINUTES, run.settings.span.to) }
    const share = Math.min(...troubled(run.scenario).map((provider) => shareOfFair(run, provider, span)))
    return verdict('share of its fair share afterwards', `≥ ${FAIR}`, share.toFixed(2), share >= FAIR)
  },
  avoided: (run) => {
    const share = Math.max(...troubled(run.scenario).map((provider) => avoidance(run, provider)))
    return verdict('its share among hurried callers to that among the others', `≤ ${AVOIDED}`, share.toFixed(2), share <= AVOIDED)
  },
  welcome: (run) => {
    const share = Math.max(...troubled(run.scenario).map((provider) => unwelcomeCalls(run, provider)))
    return verdict(
      'its calls during a pause that it requested',
      `≤ ${UNWELCOME_PERCENT} %`,
      `${share.toFixed(2)} %`,
      share <= UNWELCOME_PERCENT,
    )
  },
  law: (run) => {
    const points = worstShareError(run)
    return verdict('shares differ from 1/price² by at most', `${LAW_POINTS} points`, points.toFixed(2), points <= LAW_POINTS)
  },
}

function verdict(what: string, wanted: string, found: string, met: boolean): Verdict {
  return { what, wanted, found, met }
}

/** What the project promises of its own cost, and whether a run shows it. */
import { cpuRatio, type Figures } from './measure.ts'
import { PAIRS } from './scenarios.ts'
import type { StartUp } from './startup.ts'
import type { TargetName } from './targets.ts'

/** Everything that a run measured. */
export interface Measured {
  readonly scenarios: ReadonlyMap<string, readonly Figures[]>
  readonly startUp: StartUp | undefined
}

export interface Goal {
  readonly what: string
  readonly wanted: string
  readonly found: string
  readonly met: boolean
}

interface RatioGoal {
  readonly what: string
  readonly scenario: string
  readonly of: TargetName
  readonly to: TargetName
  readonly atMost?: number
  readonly atLeast?: number
}

const RATIOS: readonly RatioGoal[] = [
  {
    what: 'the bare forwarder is a fair yardstick: its CPU per request to http-proxy-3 blind',
    scenario: 'chat',
    of: 'forwarder',
    to: 'blind-proxy',
    atMost: 0.55,
  },
  { what: 'chat: CPU per request to the bare forwarder', scenario: 'chat', of: 'headgate', to: 'forwarder', atMost: 1.8 },
  { what: 'chat: the same, stretch', scenario: 'chat', of: 'headgate', to: 'forwarder', atMost: 1.5 },
  { what: 'chat: CPU per request to http-proxy-3 blind', scenario: 'chat', of: 'headgate', to: 'blind-proxy', atMost: 1 },
  { what: 'chat stream: CPU per request to the bare forwarder', scenario: 'chat-stream', of: 'headgate', to: 'forwarder', atMost: 1.3 },
  {
    what: 'chat stream, paced: CPU per request to the bare forwarder',
    scenario: 'chat-stream-paced',
    of: 'headgate',
    to: 'forwarder',
    atMost: 1.3,
  },
  {
    what: 'Responses translated from chat: CPU per request to the bare forwarder carrying the chat stream',
    scenario: 'responses-translated',
    of: 'headgate',
    to: 'forwarder',
    atMost: 2.5,
  },
  {
    what: 'chat of 2 KB: CPU per request with all recognisers to without',
    scenario: 'guardrails',
    of: 'guarded',
    to: 'headgate',
    atMost: 1.2,
  },
  { what: "Portkey's gateway, chat: CPU per request to headgate", scenario: 'chat', of: 'portkey', to: 'headgate', atLeast: 8 },
]

const PAIR_GOALS: readonly RatioGoal[] = PAIRS.map(({ name }) => ({
  what: `${name}: CPU per request to the bare forwarder carrying the upstream's stream`,
  scenario: name,
  of: 'headgate',
  to: 'forwarder',
  atMost: 3,
}))

function ratioGoal(goal: RatioGoal, measured: Measured): Goal | undefined {
  const figures = measured.scenarios.get(goal.scenario)
  const find = (target: TargetName): Figures | undefined => figures?.find((one) => one.target === target)
  const ratio = cpuRatio(find(goal.of), find(goal.to))
  if (ratio === undefined) return undefined
  const wanted = goal.atMost === undefined ? `≥ ${goal.atLeast}×` : `≤ ${goal.atMost}×`
  const met = ratio <= (goal.atMost ?? Number.POSITIVE_INFINITY) && ratio >= (goal.atLeast ?? 0)
  return { what: goal.what, wanted, found: `${ratio.toFixed(3)}×`, met }
}

/** The goals that this run can tell about. */
export function goals(measured: Measured): Goal[] {
  const list = [...RATIOS, ...PAIR_GOALS].flatMap((goal) => ratioGoal(goal, measured) ?? [])
  const { startUp } = measured
  if (startUp === undefined) return list
  const start = (what: string, ms: number): Goal => ({ what, wanted: '< 1000 ms', found: `${ms.toFixed(0)} ms`, met: ms < 1000 })
  return [
    ...list,
    start('from `node bin/headgate.js serve` to the first answer', startUp.launcherMs),
    start('from `npm start` to the first answer', startUp.npmMs),
    {
      what: 'idle memory after a few requests',
      wanted: '< 130 MB',
      found: `${startUp.idleMegabytes.toFixed(0)} MB`,
      met: startUp.idleMegabytes < 130,
    },
  ]
}

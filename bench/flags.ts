/** The flags of the bench, and what they choose. */
import { parseArgs } from 'node:util'
import { MEASURES, type MeasureName } from './goal-measures.ts'
import type { Settings } from './measure.ts'
import { AGENT_TURNS, isTranslated, PAIRS, SCENARIOS, type Scenario } from './scenarios.ts'

const START_UP = 'start-up'

export interface Flags {
  readonly settings: Settings
  readonly scenarios: readonly Scenario[]
  readonly startUp: boolean
  readonly measures: readonly MeasureName[]
  readonly peers: boolean
  readonly json: boolean
  /** The file of kept ratios to compare with, and the file to keep this run's in. */
  readonly gate: string | undefined
  readonly keep: string | undefined
  /** Whether every goal is to be measured; then one that is missed fails the run. */
  readonly goals: boolean
  /** Whether everything was asked for, so that the result may stand as the day's. */
  readonly whole: boolean
}

/** What goals compare, without the targets that none of them needs. */
const GOAL_SCENARIOS: readonly Scenario[] = [
  ...SCENARIOS.filter(({ name }) => ['chat', 'chat-alone', 'chat-stream', 'guardrails'].includes(name)),
  ...PAIRS.filter(({ name }) => isTranslated(name)),
  ...AGENT_TURNS,
].map((scenario) => ({
  ...scenario,
  targets: scenario.targets.filter(({ name }) => name !== 'direct' || scenario.name === 'chat-alone'),
}))

export function positive(name: string, text: string): number {
  const value = Number(text)
  if (Number.isFinite(value) && value > 0) return value
  throw new Error(`--${name} must be a number above 0, got ${text}`)
}

const OPTIONS = {
  peers: { type: 'boolean', default: false },
  pairs: { type: 'boolean', default: false },
  agents: { type: 'boolean', default: false },
  goals: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  seconds: { type: 'string' },
  rounds: { type: 'string' },
  'warm-up': { type: 'string', default: '2' },
  connections: { type: 'string', default: '32' },
  scenario: { type: 'string', multiple: true },
  targets: { type: 'string' },
  gate: { type: 'string' },
  keep: { type: 'string' },
} as const

/** The goals count ten short neighbouring rounds (issue 21, "Goals"). */
const LENGTH = { usual: { seconds: '4', rounds: '3' }, goals: { seconds: '1', rounds: '10' } }

/** @throws Error naming the flag that cannot be. */
export function readFlags(args: readonly string[]): Flags {
  const { values } = parseArgs({ options: OPTIONS, args: [...args] })
  const everything = values.goals ? GOAL_SCENARIOS : [...SCENARIOS, ...PAIRS, ...AGENT_TURNS]
  const names = [...everything.map((one) => one.name), START_UP, ...MEASURES]
  const unknown = values.scenario?.find((name) => !names.includes(name))
  if (unknown !== undefined) throw new Error(`--scenario must be one of ${names.join(', ')}, got ${unknown}`)
  const usual = [...SCENARIOS, ...(values.pairs ? PAIRS : []), ...(values.agents ? AGENT_TURNS : [])].map((one) => one.name)
  const wanted = values.scenario ?? (values.goals ? names : [...usual, START_UP])
  const targets = values.targets?.split(',')
  const length = values.goals ? LENGTH.goals : LENGTH.usual
  const scenarios = everything
    .filter(({ name }) => wanted.includes(name))
    .map((one) => ({ ...one, targets: one.targets.filter(({ name }) => targets?.includes(name) ?? true) }))
  const own = targets?.includes('headgate') ?? true
  return {
    settings: {
      connections: positive('connections', values.connections),
      seconds: positive('seconds', values.seconds ?? length.seconds),
      warmUp: positive('warm-up', values['warm-up']),
      rounds: positive('rounds', values.rounds ?? length.rounds),
    },
    scenarios: scenarios.filter((one) => one.targets.length > 0),
    startUp: wanted.includes(START_UP) && own,
    measures: own ? MEASURES.filter((name) => wanted.includes(name)) : [],
    peers: values.peers,
    json: values.json,
    gate: values.gate,
    keep: values.keep,
    goals: values.goals,
    whole: values.scenario === undefined && targets === undefined,
  }
}

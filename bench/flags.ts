/** The flags of the bench, and what they choose. */
import { parseArgs } from 'node:util'
import { MEASURES, type MeasureName } from './goal-measures.ts'
import type { Settings } from './measure.ts'
import { PEER_NAMES } from './peers/index.ts'
import { AGENT_TURNS, isTranslated, PAIRS, SCENARIOS, type Scenario } from './scenarios.ts'

const START_UP = 'start-up'

export interface Flags {
  readonly settings: Settings
  readonly scenarios: readonly Scenario[]
  readonly startUp: boolean
  readonly measures: readonly MeasureName[]
  /** Names of the peers that are to be installed; empty without any. */
  readonly peers: readonly string[]
  readonly json: boolean
  /** The file of kept ratios to compare with, and the file to keep this run's in. */
  readonly gate: string | undefined
  readonly keep: string | undefined
  /** True if every goal is to be measured; then one that is missed fails the run. */
  readonly goals: boolean
  /** True if everything was requested, so that the result may stand as the day's. */
  readonly whole: boolean
}

/** Goals compare these targets alone in a scenario; where none are named, the gateway with the forwarder. */
const GOAL_TARGETS: Readonly<Record<string, readonly string[]>> = {
  chat: ['forwarder', 'blind-proxy', 'headgate'],
  'chat-alone': ['direct', 'headgate'],
  guardrails: ['headgate', 'guarded'],
}

const GOAL_SCENARIOS: readonly Scenario[] = [
  ...SCENARIOS.filter(({ name }) => name === 'chat-stream' || GOAL_TARGETS[name] !== undefined),
  ...PAIRS.filter(({ name }) => isTranslated(name)),
  ...AGENT_TURNS,
].map((scenario) => {
  const needed = GOAL_TARGETS[scenario.name] ?? ['forwarder', 'headgate']
  return { ...scenario, targets: scenario.targets.filter(({ name }) => needed.includes(name)) }
})

export function positive(name: string, text: string): number {
  const value = Number(text)
  if (Number.isFinite(value) && value > 0) return value
  throw new Error(`--${name} must be a number above 0, got ${text}`)
}

const OPTIONS = {
  peers: { type: 'boolean', default: false },
  peer: { type: 'string', multiple: true },
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

/** The goals count ten short neighbouring rounds. */
const LENGTH = { usual: { seconds: '4', rounds: '3' }, goals: { seconds: '1', rounds: '10' } }

function chosenPeers({ peers, peer = [] }: { readonly peers: boolean; readonly peer?: string[] }): readonly string[] {
  const unknown = peer.find((name) => !PEER_NAMES.includes(name))
  if (unknown !== undefined) throw new Error(`--peer must be one of ${PEER_NAMES.join(', ')}, got ${unknown}`)
  return peers ? PEER_NAMES : peer
}

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
    peers: chosenPeers(values),
    json: values.json,
    gate: values.gate,
    keep: values.keep,
    goals: values.goals,
    whole: values.scenario === undefined && targets === undefined,
  }
}

/**
 * The benchmark: `npm run bench -- [--peers] [--pairs] [--agents] [--seconds N] [--rounds N] [--warm-up N] [--connections N] [--scenario NAME] [--targets A,B] [--json]`.
 * Prints tables; a whole run also writes bench/results/<date>.md. Ends with code 1 when a reply was wrong or a process failed.
 */

import type { ChildProcess } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { entryAt } from '../src/core/entry-at.ts'
import { goals, type Measured } from './goals.ts'
import { type Figures, measure, type Settings } from './measure.ts'
import { installPortkey } from './peers/portkey.ts'
import { killChildrenOnExit, startScript, stop } from './processes.ts'
import { circumstances, reportText, scenarioText } from './report.ts'
import { AGENT_TURNS, PAIRS, SCENARIOS, type Scenario } from './scenarios.ts'
import { measureStartUp } from './startup.ts'
import type { Ground } from './targets.ts'

const START_UP = 'start-up'

interface Flags {
  readonly settings: Settings
  readonly scenarios: readonly Scenario[]
  readonly startUp: boolean
  readonly peers: boolean
  readonly json: boolean
  /** Whether everything was asked for, so that the result may stand as the day's. */
  readonly whole: boolean
}

function positive(name: string, text: string): number {
  const value = Number(text)
  if (Number.isFinite(value) && value > 0) return value
  throw new Error(`--${name} must be a number above 0, got ${text}`)
}

function readFlags(): Flags {
  const { values } = parseArgs({
    options: {
      peers: { type: 'boolean', default: false },
      pairs: { type: 'boolean', default: false },
      agents: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      seconds: { type: 'string', default: '4' },
      rounds: { type: 'string', default: '3' },
      'warm-up': { type: 'string', default: '2' },
      connections: { type: 'string', default: '32' },
      scenario: { type: 'string', multiple: true },
      targets: { type: 'string' },
    },
  })
  const seconds = positive('seconds', values.seconds)
  const names = [...SCENARIOS, ...PAIRS, ...AGENT_TURNS].map((one) => one.name).concat(START_UP)
  const unknown = values.scenario?.find((name) => !names.includes(name))
  if (unknown !== undefined) throw new Error(`--scenario must be one of ${names.join(', ')}, got ${unknown}`)
  const usual = [...SCENARIOS, ...(values.pairs ? PAIRS : []), ...(values.agents ? AGENT_TURNS : [])]
    .map((one) => one.name)
    .concat(START_UP)
  const wanted = values.scenario ?? usual
  const targets = values.targets?.split(',')
  const scenarios = [...SCENARIOS, ...PAIRS, ...AGENT_TURNS]
    .filter((one) => wanted.includes(one.name))
    .map((one) => ({
      ...one,
      targets: one.targets.filter(({ name }) => targets?.includes(name) ?? true),
    }))
  return {
    settings: {
      connections: positive('connections', values.connections),
      seconds,
      warmUp: positive('warm-up', values['warm-up']),
      rounds: positive('rounds', values.rounds),
    },
    scenarios: scenarios.filter((one) => one.targets.length > 0),
    startUp: wanted.includes(START_UP) && (targets?.includes('headgate') ?? true),
    peers: values.peers,
    json: values.json,
    whole: values.scenario === undefined && targets === undefined,
  }
}

async function measureAll(flags: Flags, ground: Ground, load: ChildProcess, say: (text: string) => void): Promise<Measured> {
  const scenarios = new Map<string, Figures[]>()
  for (const scenario of flags.scenarios) {
    const figures = await measure(scenario, flags.settings, ground, load)
    scenarios.set(scenario.name, figures)
    say(scenarioText(scenario.name, figures))
  }
  const startUp = flags.startUp ? await measureStartUp(ground.mockPort) : undefined
  return { scenarios, startUp }
}

async function main(): Promise<void> {
  const flags = readFlags()
  killChildrenOnExit()
  const loadBefore = entryAt(loadavg(), 0)
  const say = (text: string): void => {
    if (!flags.json) console.log(text)
  }
  const portkey = flags.peers ? installPortkey() : undefined
  const mock = await startScript('mock.ts')
  const load = await startScript('load.ts')
  const measured = await measureAll(flags, { mockPort: mock.port, portkey }, load.child, say)
  await Promise.all([stop(mock.child), stop(load.child)])
  portkey?.remove()
  const where = circumstances(new Date(), loadBefore)
  const report = reportText(measured, flags.settings, where)
  if (flags.json) {
    const { startUp } = measured
    console.log(
      JSON.stringify({ ...where, ...flags.settings, scenarios: Object.fromEntries(measured.scenarios), startUp, goals: goals(measured) }),
    )
  } else console.log(report.slice(0, report.indexOf('## Scenarios')))
  if (!flags.whole) return
  const folder = new URL('results/', import.meta.url)
  mkdirSync(folder, { recursive: true })
  writeFileSync(new URL(`${where.date}.md`, folder), report)
  say(`written: bench/results/${where.date}.md`)
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(`bench: ${error instanceof Error ? error.message : String(error)}`)
    process.exit(1)
  },
)

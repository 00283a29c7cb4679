/**
 * The simulated hour: `node bench/simulation.ts [--requests 100000] [--seed 1] [--scenario NAME] [--json] [--write]`.
 * Runs headgate's own pipeline on a virtual clock and prints a table per scenario.
 * `--write` puts the tables of a whole run into docs/simulation.md. Ends with code 1 when a goal is missed.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { hourSpans, spanFigures } from './simulation/figures.ts'
import { measureGoals, type SimulationGoal } from './simulation/goals.ts'
import { type HourRun, simulate } from './simulation/hour.ts'
import { goalsText, scenarioText } from './simulation/report.ts'
import { SCENARIOS, type Scenario } from './simulation/scenarios.ts'

const PAGE = new URL('../docs/simulation.md', import.meta.url)
/** The page's text ends here; what follows is written by a run. */
const MARK = '<!-- written by bench/simulation.ts --write -->\n'
const HOUR = { from: 0, to: 60 }

interface Flags {
  readonly requests: number
  readonly seed: number
  readonly scenarios: readonly Scenario[]
  readonly json: boolean
  readonly write: boolean
}

function whole(name: string, text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value > 0) return value
  throw new Error(`--${name} must be a whole number above 0, got ${text}`)
}

function readFlags(): Flags {
  const { values } = parseArgs({
    options: {
      requests: { type: 'string', default: '100000' },
      seed: { type: 'string', default: '1' },
      scenario: { type: 'string', multiple: true },
      json: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
    },
  })
  const names = SCENARIOS.map(({ name }) => name)
  const wanted = values.scenario ?? names
  const unknown = wanted.find((name) => !names.includes(name))
  if (unknown !== undefined) throw new Error(`--scenario must be one of ${names.join(', ')}, got ${unknown}`)
  if (values.write && values.scenario) throw new Error('--write needs all scenarios')
  return {
    requests: whole('requests', values.requests),
    seed: whole('seed', values.seed),
    scenarios: SCENARIOS.filter(({ name }) => wanted.includes(name)),
    json: values.json,
    write: values.write,
  }
}

interface Told {
  readonly text: string
  readonly figures: object
  readonly goals: readonly SimulationGoal[]
}

/** Keeps the tables and releases the hour's records. */
function tell(run: HourRun): Told {
  const goals = measureGoals(run)
  const { name } = run.scenario
  return {
    text: scenarioText(run),
    figures: { name, spent: run.spent, spans: hourSpans(run).map((span) => spanFigures(run, span)) },
    goals,
  }
}

async function main(): Promise<boolean> {
  const { requests, seed, scenarios, json, write } = readFlags()
  const told: Told[] = []
  for (const scenario of scenarios) {
    const began = performance.now()
    const run = await simulate(scenario, { requests, seed, span: HOUR })
    const one = tell(run)
    told.push(one)
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    if (!json) console.log(`${one.text}\n\n(${seconds} s of real time)\n`)
  }
  const goals = told.flatMap((one) => one.goals)
  if (json) console.log(JSON.stringify({ requests, seed, scenarios: told.map((one) => one.figures), goals }))
  else console.log(`${goalsText(goals)}\n`)
  if (write) writePage(requests, seed, [goalsText(goals), ...told.map((one) => one.text)])
  return goals.every(({ met }) => met)
}

function writePage(requests: number, seed: number, [goals, ...scenarios]: string[]): void {
  const page = readFileSync(PAGE, 'utf8')
  const head = page.slice(0, page.indexOf(MARK) + MARK.length)
  const about = `${requests} requests per scenario, seed ${seed}.`
  writeFileSync(PAGE, `${[`${head}\n${about}`, '## Goals', goals, '## Scenarios', ...scenarios].join('\n\n')}\n`)
}

main().then(
  (met) => process.exit(met ? 0 : 1),
  (error: unknown) => {
    console.error(error)
    process.exit(1)
  },
)

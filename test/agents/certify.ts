/**
 * Certifies one agent: every scenario on every provider wire, in each format that it speaks; without `--long` one task on one wire, and
 * failures of that where the agent has them.
 * HEADGATE_ONLY=`openai-chat/image` keeps the cells whose name has all the words between slashes; HEADGATE_KEEP names a directory
 * for homes and working directories of failed runs. With HEADGATE_WRITE=1 the results of what was run, and the documents, are written.
 */
import { writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import type { WireName } from '../support/wire.ts'
import type { CertifiedAgent, Format } from './agent-run.ts'
import { FAILURE } from './failures.ts'
import { agentPackage, installed } from './install.ts'
import { type Cell, documents, rounded, type WireResults, writeResults } from './results.ts'
import { SAMPLE, tryWithoutProvider } from './sample-task.ts'
import { leftOut, SCENARIOS, type Scenario } from './scenarios.ts'
import { keep, openWorld, setStage, WIRE_NAMES, type World } from './world.ts'

const LONG = process.env.HEADGATE_LONG === '1'
const ONLY = process.env.HEADGATE_ONLY?.split('/')
/** The wire of the short run: the one that differs most from what coding agents were made for. */
const SHORT: readonly WireName[] = ['gemini']

const isChosen = (...names: string[]): boolean => ONLY?.every((word) => names.includes(word)) ?? true

/** An agent's own scenario stands in place of the common one of its name. */
const agentScenarios = ({ own = [] }: CertifiedAgent): readonly Scenario[] => [
  ...SCENARIOS.map((common) => own.find(({ name }) => name === common.name) ?? common),
  ...own.filter(({ name }) => !SCENARIOS.some((common) => common.name === name)),
]

interface Bench {
  readonly agent: CertifiedAgent
  readonly install: string
  readonly format: Format
  readonly world: World
}

async function runScenario(t: Test, { agent, install, format, world }: Bench, scenario: Scenario) {
  const name = `${agent.name}, ${format} to ${world.wire}, ${scenario.name}`
  const not = agent.cannot?.[scenario.name] ?? agent.cannot?.[`${scenario.name} ${world.wire}`]
  if (not !== undefined) return { cell: { not } satisfies Cell }
  const begun = performance.now()
  const firstLine = world.gateway.logs.length
  const stage = await setStage(agent, world, { install, scenario: scenario.name, format })
  try {
    const { problems, note, traffic } = await scenario.run(stage)
    t.same(problems, [], name)
    if (problems.length > 0) keep(stage, name.replaceAll(/[ ,]+/g, '-'))
    console.error(
      `${problems.length === 0 ? 'ok    ' : 'not ok'}  ${name}  ${((performance.now() - begun) / 1000).toFixed(1)} s${note ? `  ${note}` : ''}`,
    )
    const cell: Cell | undefined = problems.length > 0 ? undefined : note === undefined ? {} : { note }
    return { cell, traffic, dropped: await leftOut(stage, firstLine) }
  } finally {
    stage.remove()
  }
}

async function runWire(t: Test, bench: Bench): Promise<WireResults> {
  const scenarios: Record<string, Cell | undefined> = {}
  let results: WireResults = { scenarios }
  const { wire } = bench.world
  for (const scenario of LONG || ONLY
    ? agentScenarios(bench.agent)
    : agentScenarios(bench.agent).filter(({ name }, at) => at === 0 || name === FAILURE.name)) {
    if (!isChosen(bench.format, wire, scenario.name)) continue
    const { cell, traffic, dropped } = await runScenario(t, bench, scenario)
    scenarios[scenario.name] = cell
    if (scenario.name !== 'task' || !cell || !traffic) continue
    const { requests, sent, repeated, received } = traffic
    const figures = { requests, sent: rounded(sent), repeated: rounded(repeated), received: rounded(received) }
    results = { ...results, traffic: figures, leftOut: dropped ?? [] }
  }
  return results
}

/** Runs the agent, as tests; skips all of them where it cannot be installed. */
export async function certify(agent: CertifiedAgent): Promise<void> {
  let install: string
  try {
    install = await installed(agent)
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n')[0] : String(error)
    console.error(`*** SKIPPED: ${agent.name} cannot be installed: ${why} ***`)
    await t.test(`${agent.name} cannot be installed`, { skip: why }, () => undefined)
    return
  }
  for (const format of LONG || ONLY ? agent.formats : agent.formats.slice(0, 1)) {
    if (agent.cannot?.[SAMPLE] === undefined && isChosen(format, SAMPLE))
      await t.test(`${agent.name}, ${format}, without a provider`, { timeout: 600_000 }, (t) =>
        tryWithoutProvider(t, agent, { install, format }),
      )
    for (const wire of LONG || ONLY ? WIRE_NAMES : SHORT) {
      if (!agentScenarios(agent).some(({ name }) => isChosen(format, wire, name))) continue
      await t.test(`${agent.name}, ${format} to ${wire}`, { timeout: 3_600_000 }, async (t) => {
        const world = await openWorld(agent, wire)
        try {
          write(agent.name, format, { [wire]: await runWire(t, { agent, install, format, world }) })
        } finally {
          await world.close()
        }
      })
    }
  }
}

/** At once, so that a run that is stopped has written what it found. */
function write(agent: string, format: Format, wires: Partial<Record<WireName, WireResults>>): void {
  if (process.env.HEADGATE_WRITE !== '1') return
  const { manager, name, version } = agentPackage(agent)
  writeResults({ agent, package: `${manager} ${name}`, version, formats: { [format]: wires } })
  for (const [path, text] of documents()) writeFileSync(path, text)
}

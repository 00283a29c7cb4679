/**
 * The benchmark: `npm run bench -- [--goals] [--peers | --peer NAME] [--pairs] [--agents] [--seconds N] [--rounds N] [--warm-up N] [--connections N] [--scenario NAME] [--targets A,B] [--keep FILE] [--gate FILE] [--json]`.
 * Prints tables; a whole run also writes bench/results/<date>.md, and with `--goals` bench/results/<date>-goals.md. Ends with code 1 when a
 * reply was wrong or a process failed, with `--goals` also when a goal is missed, with `--gate` when a ratio is above the kept one beyond noise.
 */

import type { ChildProcess } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { entryAt } from '../src/core/entry-at.ts'
import { type Flags, readFlags } from './flags.ts'
import { gate, gateText, type Kept, keep, measuredRatios, readKept } from './gate.ts'
import { measureForGoals } from './goal-measures.ts'
import { goals, type Measured } from './goals.ts'
import { type Figures, measure } from './measure.ts'
import { installPeers, NO_PEERS, peersText } from './peers/index.ts'
import { killChildrenOnExit, startScript, stop } from './processes.ts'
import { circumstances, reportText, scenarioText } from './report.ts'
import { measureStartUp } from './startup.ts'
import type { Ground } from './targets.ts'

async function measureAll(flags: Flags, ground: Ground, load: ChildProcess, say: (text: string) => void): Promise<Measured> {
  const scenarios = new Map<string, Figures[]>()
  for (const scenario of flags.scenarios) {
    const figures = await measure(scenario, flags.settings, ground, load)
    scenarios.set(scenario.name, figures)
    say(scenarioText(scenario.name, figures))
  }
  const startUp = flags.startUp ? await measureStartUp(ground.mockPort) : undefined
  return { scenarios, startUp, measures: await measureForGoals(flags.measures, flags.settings) }
}

/** Keeps the ratios of a run, and compares them with kept ones. @returns whether none has grown beyond noise. */
function gated({ keep: file, json }: Flags, kept: Kept | undefined, own: Kept): boolean {
  if (file !== undefined) keep(file, own)
  if (kept === undefined) return true
  const result = gate(kept.ratios, own.ratios)
  console.log(json ? JSON.stringify({ gate: result }) : gateText(result, kept))
  return result.compared.every(({ verdict }) => verdict !== 'slower')
}

/** @returns whether no goal was missed that the run is to fail for. */
async function main(): Promise<boolean> {
  const flags = readFlags(process.argv.slice(2))
  // A file that cannot be read is found before anything is measured.
  const kept = flags.gate === undefined ? undefined : readKept(flags.gate)
  killChildrenOnExit()
  const loadBefore = entryAt(loadavg(), 0)
  const say = (text: string): void => {
    if (!flags.json) console.log(text)
  }
  const peers = flags.peers.length > 0 ? installPeers(flags.peers, say) : NO_PEERS
  const mock = await startScript('mock.ts')
  const load = await startScript('load.ts')
  const measured = await measureAll(flags, { mockPort: mock.port, peers: peers.installed }, load.child, say)
  await Promise.all([stop(mock.child), stop(load.child)])
  peers.remove()
  const where = circumstances(new Date(), loadBefore)
  const report = reportText(measured, flags.settings, where, flags.peers.length > 0 ? peersText(measured.scenarios, peers) : '')
  if (flags.json) {
    const { startUp, measures } = measured
    const scenarios = Object.fromEntries(measured.scenarios)
    console.log(JSON.stringify({ ...where, ...flags.settings, scenarios, startUp, measures, goals: goals(measured) }))
  } else console.log(report.slice(0, report.indexOf('## Scenarios')))
  const passes = gated(flags, kept, { ...where, ...flags.settings, ratios: measuredRatios(measured) })
  const fine = passes && (!flags.goals || goals(measured).every(({ state }) => state !== 'NOT MET'))
  if (!flags.whole) return fine
  const folder = new URL('results/', import.meta.url)
  mkdirSync(folder, { recursive: true })
  const name = `${where.date}${flags.goals ? '-goals' : ''}.md`
  writeFileSync(new URL(name, folder), report)
  say(`written: bench/results/${name}`)
  return fine
}

main().then(
  (fine) => process.exit(fine ? 0 : 1),
  (error: unknown) => {
    console.error(`bench: ${error instanceof Error ? error.message : String(error)}`)
    process.exit(1)
  },
)

/**
 * Shows where the CPU time goes: `node bench/profile.ts [--scenario NAME] [--target headgate|guarded|forwarder|blind-proxy] [--seconds N] [--top N]`.
 * Runs one scenario on one target under --cpu-prof and prints the functions with the most self time.
 * The profile stays in a temporary folder, whose path is printed; browsers' developer tools open it.
 */

import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { entryAt } from '../src/core/entry-at.ts'
import { startGateway } from './gateway.ts'
import { jobFor, runLoad } from './measure.ts'
import { cpuSeconds, killChildrenOnExit, startScript, stop } from './processes.ts'
import { AGENT_TURNS, PAIRS, SCENARIOS } from './scenarios.ts'
import type { Target } from './target.ts'

/** Microseconds between samples. */
const INTERVAL = 200

/** Seconds of load before the part that is shown. */
const WARM_UP = 3

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[]
  samples: number[]
  /** Microseconds. */
  timeDeltas: number[]
}

/** Self microseconds by function over the last part of the profile, most first: start-up and warm-up do not count. */
function selfTimes(profile: Profile, seconds: number): [string, number][] {
  const names = new Map(
    profile.nodes.map(({ id, callFrame }) => {
      const file = callFrame.url.replace(/^.*\/(node_modules|src|bench|plugins|bin)\//, '$1/')
      return [id, `${callFrame.functionName || '(anonymous)'} ${file === '' ? '' : `${file}:${callFrame.lineNumber + 1}`}`]
    }),
  )
  const times = new Map<string, number>()
  let left = seconds * 1e6
  for (let at = profile.samples.length - 1; at >= 0 && left > 0; at--) {
    const name = names.get(entryAt(profile.samples, at)) ?? '(unknown)'
    const micros = entryAt(profile.timeDeltas, at)
    times.set(name, (times.get(name) ?? 0) + micros)
    left -= micros
  }
  times.delete('(idle) ')
  return [...times].sort((a, b) => b[1] - a[1])
}

async function startProfiled(name: string, mockPort: number, folder: string): Promise<Target & { child: ChildProcess }> {
  const nodeFlags = ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-interval=${INTERVAL}`]
  const common = { headers: {}, check: async () => undefined }
  if (name === 'headgate' || name === 'guarded') {
    const gateway = await startGateway(mockPort, { nodeFlags, guardrails: name === 'guarded' })
    return { ...common, name, port: gateway.port, pid: gateway.child.pid, child: gateway.child, stop: () => gateway.stop() }
  }
  if (name !== 'forwarder' && name !== 'blind-proxy')
    throw new Error(`--target must be headgate, guarded, forwarder or blind-proxy, got ${name}`)
  const { child, port } = await startScript(`baselines/${name}.ts`, [String(mockPort)], nodeFlags)
  return { ...common, name, port, pid: child.pid, child, stop: () => stop(child) }
}

/** The largest profile: a launcher may have left a small one of its own. */
function readProfile(folder: string): Profile {
  const texts = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'))
  const largest = texts.sort((a, b) => b.length - a.length)[0]
  if (largest === undefined) throw new Error('no profile was written')
  return JSON.parse(largest) as Profile
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      scenario: { type: 'string', default: 'chat' },
      target: { type: 'string', default: 'headgate' },
      seconds: { type: 'string', default: '6' },
      connections: { type: 'string', default: '32' },
      top: { type: 'string', default: '40' },
    },
  })
  const scenario = [...SCENARIOS, ...PAIRS, ...AGENT_TURNS].find((one) => one.name === values.scenario)
  const request = scenario?.targets.find(({ name }) => name === values.target)?.request
  if (request === undefined)
    throw new Error(`--scenario ${values.scenario} with --target ${values.target} is not there; see bench/scenarios.ts`)
  killChildrenOnExit()
  const folder = mkdtempSync(join(tmpdir(), 'headgate-profile-'))
  const mock = await startScript('mock.ts')
  const load = await startScript('load.ts')
  const target = await startProfiled(values.target, mock.port, folder)
  const pid = target.pid ?? 0
  const job = jobFor(target, request, Number(values.connections), Number(values.seconds))
  await runLoad(load.child, { ...job, seconds: WARM_UP })
  const before = cpuSeconds(pid)
  const done = await runLoad(load.child, job)
  const cpu = cpuSeconds(pid) - before
  await target.stop()
  const times = selfTimes(readProfile(folder), done.seconds)
  const total = times.reduce((sum, [, micros]) => sum + micros, 0)
  console.log(
    `${values.target}, ${values.scenario}: ${done.completed} requests, ${((cpu / done.completed) * 1e6).toFixed(0)} µs CPU each (profiled)`,
  )
  console.log(`${'self %'.padStart(7)} ${'µs/req'.padStart(8)}  function`)
  for (const [name, micros] of times.slice(0, Number(values.top))) {
    console.log(`${((micros / total) * 100).toFixed(1).padStart(7)} ${(micros / done.completed).toFixed(2).padStart(8)}  ${name}`)
  }
  console.log(`profile: ${folder}`)
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(`profile: ${error instanceof Error ? error.message : String(error)}`)
    process.exit(1)
  },
)

/**
 * Cost of connections to providers for callers, when names and idle connections fail:
 * `node bench/connections.ts [--against CHECKOUT] [--rounds 3]`. Each round runs every scenario with the build of this checkout and, in
 * turn, with that of another one. Ends with code 1 where this build misses a goal.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { bubblewrap } from '../test/support/bubblewrap.ts'
import { ownNetwork } from '../test/support/name-server.ts'
import type { ScenarioName, ScenarioResult } from './connections-scenario.ts'
import { keepTrack, killChildrenOnExit } from './processes.ts'
import { table } from './simulation/table.ts'

/** No call fails, and one that needs a new connection beside silent name servers takes less than this, in milliseconds. */
const GOAL_SLOWEST = 1_500

const { values } = parseArgs({ options: { against: { type: 'string' }, rounds: { type: 'string', default: '3' } } })
const here = join(import.meta.dirname, '..')
const script = join(import.meta.dirname, 'connections-scenario.ts')

killChildrenOnExit()
const folder = mkdtempSync(join(tmpdir(), 'headgate-connections-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const settings = join(folder, 'resolv.conf')
writeFileSync(settings, 'nameserver 127.0.0.1\n')

async function run(scenario: ScenarioName, checkout: string): Promise<ScenarioResult> {
  const command = [process.execPath, script, scenario, checkout]
  const [program = '', ...args] = scenario === 'silent names' ? [bubblewrap ?? 'bwrap', ...ownNetwork(settings), ...command] : command
  const child = keepTrack(spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] }))
  let text = ''
  child.stdout?.on('data', (piece: Buffer) => {
    text += piece
  })
  await once(child, 'close')
  return JSON.parse(text) as ScenarioResult
}

const SCENARIOS: readonly ScenarioName[] = ['reset', 'closed', 'silent names']
const builds = [['this build', here] as const, ...(values.against === undefined ? [] : [['the other build', values.against] as const])]
const rows: string[][] = []
let missed = false
for (let round = 1; round <= Number(values.rounds); round++)
  for (const scenario of SCENARIOS) {
    if (scenario === 'silent names' && bubblewrap === undefined) continue
    for (const [name, checkout] of builds) {
      const { calls, failed, slowest } = await run(scenario, checkout)
      rows.push([`${round}`, scenario, name, `${failed} of ${calls}`, `${slowest}`])
      if (checkout === here && (failed > 0 || (scenario === 'silent names' && slowest > GOAL_SLOWEST))) missed = true
    }
  }
console.log(table(['round', 'scenario', 'build', 'failed', 'slowest, ms'], rows))
if (missed) {
  console.log(`missed: no call may fail, and beside silent name servers none may take more than ${GOAL_SLOWEST} ms`)
  process.exitCode = 1
}

/**
 * What overload does: `node bench/overload.ts [--seconds 2] [--rounds 8] [--bytes 330000] [--json]`.
 * The gateway has one core to itself, the provider and the load generator share another. Requests come at a rate of their own, whether
 * or not replies have come. Printed are the replies that were served per second and their latency at 0.7, 1, 1.5, 2 and 3 times what
 * the gateway can carry, how busy the generator was, and how much of the gateway's core the hypervisor took. The goals are ratios
 * within one round, and of these the medians: so a machine that is slower in one round weighs on both sides. Ends with code 1 when a
 * goal is missed.
 */

import { type ChildProcess, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { entryAt } from '../src/core/entry-at.ts'
import { startGateway } from './gateway.ts'
import { median } from './measure.ts'
import type { OpenJob, OpenSummary } from './open-load.ts'
import { cpuSeconds, killChildrenOnExit, startScript, stop } from './processes.ts'
import { BENCH_KEY } from './requests.ts'
import { table } from './simulation/table.ts'

/** Share of the peak that has to be served at three times the load, and the growth of the latency that is allowed. */
const GOAL_GOODPUT = 0.9
const GOAL_LATENCY = 2

/** Of the carried load; the first is the reference of the latency, the last the overload. */
const LOADS = [0.7, 1, 2, 3]

const GATEWAY_CPU = 0
const OTHER_CPU = 1

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '8' },
    bytes: { type: 'string', default: '330000' },
    json: { type: 'boolean', default: false },
  },
})

/** With all its threads. */
function pin(child: ChildProcess, cpu: number): void {
  const done = spawnSync('taskset', ['-acp', String(cpu), String(child.pid)])
  if (done.status !== 0) throw new Error(`taskset: ${done.stderr}`)
}

function bodyOf(bytes: number): string {
  const prose = 'The committee met on Tuesday to discuss the plans for the new library, and most members agreed that the roof comes first. '
  const messages = Array.from({ length: 40 }, (_, i) => ({
    role: i % 2 === 0 ? 'user' : 'assistant',
    content: prose.repeat(Math.ceil(bytes / 40 / prose.length)).slice(0, bytes / 40),
  }))
  return JSON.stringify({ model: 'bench/chat', messages: [...messages, { role: 'user', content: 'And then?' }], max_tokens: 512 })
}

interface Measured {
  readonly load: number
  readonly rate: number
  readonly summary: OpenSummary
  /** Replies with status 200 per second. */
  readonly goodput: number
  /** Shares of a core. */
  readonly gatewayCpu: number
  readonly mockCpu: number
  readonly stolen: number
}

/** One round: what two callers at a time are served per second, which keeps the core busy and refuses nothing, and every load. */
interface Round {
  readonly carried: number
  readonly measured: readonly Measured[]
}

/** Seconds that the hypervisor has taken of a processor so far (/proc/stat, column `steal`). */
function stolenSeconds(cpu: number): number {
  const line = readFileSync('/proc/stat', 'utf8')
    .split('\n')
    .find((one) => one.startsWith(`cpu${cpu} `))
  return Number(line?.split(/\s+/)[8] ?? 0) / 100
}

async function main(): Promise<void> {
  killChildrenOnExit()
  const seconds = Number(values.seconds)
  const mock = await startScript('mock.ts')
  const load = await startScript('open-load.ts')
  const gateway = await startGateway(mock.port)
  pin(mock.child, OTHER_CPU)
  pin(load.child, OTHER_CPU)
  pin(gateway.child, GATEWAY_CPU)
  const run = async (rate: number, connections: number, warmUp: number): Promise<Omit<Measured, 'load'>> => {
    const before = { gateway: cpuSeconds(gateway.child.pid ?? 0), mock: cpuSeconds(mock.child.pid ?? 0) }
    const job: OpenJob = {
      port: gateway.port,
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${BENCH_KEY}`, 'content-type': 'application/json' },
      body: bodyOf(Number(values.bytes)),
      rate,
      connections,
      seconds,
      warmUp,
    }
    const [began, stolen] = [performance.now(), stolenSeconds(GATEWAY_CPU)]
    const summary = await summaryOf(load.child, job)
    const wall = (performance.now() - began) / 1000
    const gatewayCpu = (cpuSeconds(gateway.child.pid ?? 0) - before.gateway) / wall
    const mockCpu = (cpuSeconds(mock.child.pid ?? 0) - before.mock) / wall
    const goodput = (summary.byStatus['200'] ?? 0) / seconds
    return { rate, summary, goodput, gatewayCpu, mockCpu, stolen: (stolenSeconds(GATEWAY_CPU) - stolen) / wall }
  }
  const rounds: Round[] = []
  for (let round = 0; round < Number(values.rounds); round++) {
    const alone = await run(0, 2, round === 0 ? 5 : 1)
    const measured: Measured[] = []
    for (const load of LOADS) measured.push({ load, ...(await run(Math.round(alone.goodput * load), 0, 1.5)) })
    rounds.push({ carried: alone.goodput, measured })
  }
  await Promise.all([gateway.stop(), stop(mock.child), stop(load.child)])
  report(rounds)
}

function summaryOf(load: ChildProcess, job: OpenJob): Promise<OpenSummary> {
  return new Promise((resolve, reject) => {
    load.once('message', ({ summary }: { summary: OpenSummary }) => resolve(summary))
    load.once('exit', () => reject(new Error('the load generator has ended')))
    load.send(job)
  })
}

const goodputOf = ({ goodput }: Measured): number => goodput

function report(rounds: readonly Round[]): void {
  const storm = LOADS.length - 1
  const served = median(
    rounds.map(({ carried, measured }) => entryAt(measured, storm).goodput / Math.max(carried, ...measured.map(goodputOf))),
  )
  const slower = median(rounds.map(({ measured }) => entryAt(measured, storm).summary.p99 / entryAt(measured, 0).summary.p99))
  const goals = [
    { goal: `served at ${LOADS[storm]} times the load, share of the peak`, found: served, met: served >= GOAL_GOODPUT },
    {
      goal: `p99 of admitted requests at ${LOADS[storm]} times the load, over that at ${LOADS[0]}`,
      found: slower,
      met: slower <= GOAL_LATENCY,
    },
  ]
  if (values.json) console.log(JSON.stringify({ rounds, goals }))
  else {
    const measured = rounds.flatMap((round) => round.measured)
    console.log(
      `bodies of ${values.bytes} bytes; carried by one core: ${rounds.map(({ carried }) => carried.toFixed(0)).join(', ')} per second\n`,
    )
    console.log(
      table(
        [
          'load',
          'sent/s',
          'served/s',
          '503/s',
          'other',
          'p50 ms',
          'p99 ms',
          '503 p99 ms',
          'gateway core',
          'stolen',
          'mock + generator',
          'sent late p99 ms',
          'connections',
        ],
        measured.map(({ load, summary, goodput, gatewayCpu, mockCpu, stolen }) => {
          const { '200': served = 0, '503': refused = 0, ...others } = summary.byStatus
          const other = Object.entries(others).map(([status, count]) => `${count} ${status}`)
          return [
            `${load}x`,
            (summary.sent / summary.seconds).toFixed(0),
            goodput.toFixed(0),
            (refused / summary.seconds).toFixed(0),
            other.join(', ') || (served > 0 ? 'none' : 'nothing served'),
            summary.p50.toFixed(1),
            summary.p99.toFixed(1),
            summary.refusedP99.toFixed(1),
            gatewayCpu.toFixed(2),
            stolen.toFixed(2),
            (mockCpu + summary.cpu).toFixed(2),
            summary.lateP99.toFixed(1),
            String(summary.mostConnections),
          ]
        }),
      ),
    )
    for (const { goal, found, met } of goals) console.log(`${met ? 'met' : 'MISSED'}  ${goal}: ${found.toFixed(2)}`)
  }
  if (goals.some(({ met }) => !met)) process.exitCode = 1
}

main().then(
  () => process.exit(),
  (error: unknown) => {
    console.error(`bench: ${error instanceof Error ? error.message : String(error)}`)
    process.exit(1)
  },
)

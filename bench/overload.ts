/**
 * What overload does: `node bench/overload.ts [--seconds 10] [--bytes 330000] [--json]`.
 * The gateway has one core to itself, the provider and the load generator share another. Requests come at a rate of their own, whether
 * or not replies have come. Printed are the replies that were served per second and their latency at 0.7, 1, 1.5, 2 and 3 times what
 * the gateway can carry, and how busy the generator was. Ends with code 1 when a goal is missed.
 */
import { type ChildProcess, spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { startGateway } from './gateway.ts'
import type { OpenJob, OpenSummary } from './open-load.ts'
import { cpuSeconds, killChildrenOnExit, startScript, stop } from './processes.ts'
import { BENCH_KEY } from './requests.ts'
import { table } from './simulation/table.ts'

/** Share of the peak that has to be served at three times the load, and the growth of the latency that is allowed. */
const GOAL_GOODPUT = 0.9
const GOAL_LATENCY = 2

/** Of the carried load; the first is the reference of the latency, the last the overload. */
const LOADS = [0.7, 1, 1.5, 2, 3]

const GATEWAY_CPU = 0
const OTHER_CPU = 1

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
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
    const before = [gateway.child, mock.child].map(({ pid }) => cpuSeconds(pid ?? 0))
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
    const began = performance.now()
    const summary = await summaryOf(load.child, job)
    const wall = (performance.now() - began) / 1000
    const [gatewayCpu, mockCpu] = [gateway.child, mock.child].map(({ pid }, i) => (cpuSeconds(pid ?? 0) - before[i]) / wall)
    return { rate, summary, goodput: (summary.byStatus['200'] ?? 0) / seconds, gatewayCpu, mockCpu }
  }
  // Two at a time keep the core busy and are not refused.
  const alone = await run(0, 2, 5)
  const measured: Measured[] = []
  for (const share of LOADS) measured.push({ load: share, ...(await run(Math.round(alone.goodput * share), 0, 3)) })
  await Promise.all([gateway.stop(), stop(mock.child), stop(load.child)])
  report(alone.goodput, measured)
}

function summaryOf(load: ChildProcess, job: OpenJob): Promise<OpenSummary> {
  return new Promise((resolve, reject) => {
    load.once('message', ({ summary }: { summary: OpenSummary }) => resolve(summary))
    load.once('exit', () => reject(new Error('the load generator has ended')))
    load.send(job)
  })
}

function report(carried: number, measured: readonly Measured[]): void {
  const peak = Math.max(carried, ...measured.map(({ goodput }) => goodput))
  const [calm] = measured
  const storm = measured[measured.length - 1]
  const goals = [
    {
      goal: `served at ${storm.load} times the load, share of the peak`,
      found: storm.goodput / peak,
      met: storm.goodput / peak >= GOAL_GOODPUT,
    },
    {
      goal: `p99 of admitted requests at ${storm.load} times the load, over that at ${calm.load}`,
      found: storm.summary.p99 / calm.summary.p99,
      met: storm.summary.p99 <= GOAL_LATENCY * calm.summary.p99,
    },
  ]
  if (values.json) console.log(JSON.stringify({ carried, peak, measured, goals }))
  else {
    console.log(
      `bodies of ${values.bytes} bytes; carried by one core: ${carried.toFixed(0)} requests per second, peak ${peak.toFixed(0)}\n`,
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
          'mock + generator',
          'sent late p99 ms',
          'connections',
        ],
        measured.map(({ load, summary, goodput, gatewayCpu, mockCpu }) => {
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

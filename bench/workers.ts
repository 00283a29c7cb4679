/**
 * Gain by workers: `node bench/workers.ts [--seconds 4] [--warm-up 2] [--rounds 3] [--connections 32] [--workers 1,2,3] [--forwarders 1,2] [--json]`.
 * One gateway without workers and one for each number of workers stand side by side in front of the mock; every round
 * puts the same load on each of them in turn. Costs are read from /proc, shares of processes from /metrics.
 * Beside them may stand one and two of the bare forwarder: they share nothing, so what two cost more is the machine's.
 */
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { startGateway } from './gateway.ts'
import { median, runLoad } from './measure.ts'
import { cpuSeconds, freePort, killChildrenOnExit, residentMegabytes, startScript, stop } from './processes.ts'
import { BENCH_KEY, type BenchRequest, CHAT, CHAT_STREAM } from './requests.ts'
import { table } from './simulation/table.ts'

const REQUESTS: Readonly<Record<string, BenchRequest>> = { chat: CHAT, 'chat-stream': CHAT_STREAM }

/** One gateway, or some forwarders on one port. */
interface Side {
  readonly target: 'gateway' | 'forwarder'
  readonly workers: number
  readonly port: number
  readonly pids: readonly number[]
  /** Of a gateway. */
  readonly adminPort?: number
  stop(): Promise<unknown>
}

interface Round {
  readonly perSecond: number
  /** Of all processes of the gateway. */
  readonly cpuMicros: number
  /** Of the owner alone; 0 without workers. */
  readonly ownerMicros: number
  readonly p50: number
  readonly p99: number
  /** Processor time of the busiest worker over the idlest one. */
  readonly balance: number
}

interface Figures extends Round {
  readonly scenario: string
  readonly target: Side['target']
  readonly workers: number
  readonly megabytes: number
  /** CPU per request in each round, in order. */
  readonly cpuRounds: readonly number[]
}

interface Settings {
  readonly seconds: number
  readonly warmUp: number
  readonly rounds: number
  readonly connections: number
}

/** CPU seconds by process, as the gateway itself says. */
async function cpuByProcess(adminPort: number | undefined): Promise<Map<string, number>> {
  if (adminPort === undefined) return new Map()
  const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()
  const found = new Map<string, number>()
  for (const [, worker, seconds] of text.matchAll(/^headgate_process_cpu_seconds_total\{mode="\w+",worker="(\w+)"\} (\S+)$/gm))
    if (worker !== undefined) found.set(worker, (found.get(worker) ?? 0) + Number(seconds))
  return found
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
const sideCpu = (side: Side): number => sum(side.pids.map(cpuSeconds))

async function round(load: Awaited<ReturnType<typeof startScript>>, side: Side, request: BenchRequest, settings: Settings): Promise<Round> {
  const { port, adminPort } = side
  const [partsBefore, before] = [await cpuByProcess(adminPort), sideCpu(side)]
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${BENCH_KEY}` }
  const { connections, seconds } = settings
  const { completed, p50, p99, ...timed } = await runLoad(load.child, { port, request, headers, connections, seconds })
  const [parts, after] = [await cpuByProcess(adminPort), sideCpu(side)]
  const used = (worker: string): number => (parts.get(worker) ?? 0) - (partsBefore.get(worker) ?? 0)
  const shares = [...parts.keys()].filter((worker) => worker !== 'owner').map(used)
  return {
    perSecond: completed / timed.seconds,
    cpuMicros: ((after - before) / completed) * 1e6,
    ownerMicros: (used('owner') / completed) * 1e6,
    p50,
    p99,
    balance: shares.length > 1 ? Math.max(...shares) / Math.min(...shares) : 1,
  }
}

function figures(scenario: string, { target, workers, pids }: Side, rounds: readonly Round[]): Figures {
  const middle = (of: (round: Round) => number): number => median(rounds.map(of))
  return {
    scenario,
    target,
    workers,
    perSecond: middle((each) => each.perSecond),
    cpuMicros: middle((each) => each.cpuMicros),
    ownerMicros: middle((each) => each.ownerMicros),
    p50: middle((each) => each.p50),
    p99: middle((each) => each.p99),
    balance: middle((each) => each.balance),
    megabytes: sum(pids.map(residentMegabytes)),
    cpuRounds: rounds.map((each) => each.cpuMicros),
  }
}

async function gatewaySide(upstream: number, workers: number): Promise<Side> {
  const gateway = await startGateway(upstream, { args: workers === 0 ? [] : ['--workers', String(workers)] })
  const { port, adminPort, child } = gateway
  return { target: 'gateway', workers, port, adminPort, pids: [child.pid ?? 0], stop: () => gateway.stop() }
}

async function forwarderSide(upstream: number, workers: number): Promise<Side> {
  const port = await freePort()
  const start = () => startScript('baselines/forwarder.ts', [String(upstream), String(port)])
  const children = (await Promise.all(Array.from({ length: workers }, start))).map(({ child }) => child)
  return { target: 'forwarder', workers, port, pids: children.map(({ pid }) => pid ?? 0), stop: () => Promise.all(children.map(stop)) }
}

async function measure(counts: Readonly<Record<Side['target'], readonly number[]>>, settings: Settings): Promise<Figures[]> {
  const mock = await startScript('mock.ts')
  const load = await startScript('load.ts')
  const sides: Side[] = []
  try {
    for (const workers of counts.gateway) sides.push(await gatewaySide(mock.port, workers))
    for (const workers of counts.forwarder) sides.push(await forwarderSide(mock.port, workers))
    const found: Figures[] = []
    for (const [scenario, request] of Object.entries(REQUESTS)) {
      const rounds = new Map<Side, Round[]>(sides.map((side) => [side, []]))
      // Each process is to have had as many requests: one that had half of them compiles while it is measured.
      for (const side of sides) await round(load, side, request, { ...settings, seconds: settings.warmUp * Math.max(1, side.workers) })
      for (let at = 0; at < settings.rounds; at++)
        for (const side of sides) rounds.get(side)?.push(await round(load, side, request, settings))
      for (const side of sides) found.push(figures(scenario, side, rounds.get(side) ?? []))
    }
    return found
  } finally {
    await Promise.all([...sides.map((side) => side.stop()), stop(load.child), stop(mock.child)])
  }
}

function report(found: readonly Figures[], settings: Settings): string {
  const rows = found.map((each) => {
    const alone = found.find(({ scenario, target }) => scenario === each.scenario && target === each.target)
    return [
      each.scenario,
      each.target === 'forwarder' ? `${each.workers} forwarder` : each.workers === 0 ? 'none' : String(each.workers),
      each.perSecond.toFixed(0),
      alone ? (each.perSecond / alone.perSecond).toFixed(2) : '',
      each.cpuMicros.toFixed(0),
      each.ownerMicros === 0 ? '' : each.ownerMicros.toFixed(0),
      each.ownerMicros === 0 ? '' : ((each.cpuMicros - each.ownerMicros) / each.ownerMicros).toFixed(0),
      each.p50.toFixed(1),
      each.p99.toFixed(1),
      each.workers > 1 ? each.balance.toFixed(2) : '',
      each.megabytes.toFixed(0),
    ]
  })
  const head = [
    'scenario',
    'workers',
    'req/s',
    'to none',
    'CPU µs/req',
    'of it owner',
    'owner full at',
    'p50 ms',
    'p99 ms',
    'busiest/idlest',
    'MB',
  ]
  return [
    table(head, rows),
    '',
    `${availableParallelism()} processors, shared by the gateway, the load generator (one process) and the mock upstream (one process).`,
    `${settings.connections} connections, medians of ${settings.rounds} rounds of ${settings.seconds} s each after ${settings.warmUp} s of warm-up for each worker; every round visits all rows of a scenario in turn.`,
    'CPU is user and system time of all processes of the gateway. Where generator and mock fill the processors, workers cannot add requests per second;',
    'then CPU per request says what a worker costs, and the owner column what of it does not spread over workers:',
    'with a processor for each, so many workers as "owner full at" says would keep the owner busy all the time.',
  ].join('\n')
}

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '4' },
    'warm-up': { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '32' },
    workers: { type: 'string', default: '1,2,3' },
    forwarders: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
  },
})
killChildrenOnExit()
const settings: Settings = {
  seconds: Number(values.seconds),
  warmUp: Number(values['warm-up']),
  rounds: Number(values.rounds),
  connections: Number(values.connections),
}
const numbers = (list: string): number[] => (list === '' ? [] : list.split(',').map(Number))
const found = await measure({ gateway: [0, ...numbers(values.workers)], forwarder: numbers(values.forwarders) }, settings)
process.stdout.write(values.json ? `${JSON.stringify(found, null, 2)}\n` : `${report(found, settings)}\n`)
process.exit(0)

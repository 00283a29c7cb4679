/**
 * Mixed traffic: `node bench/mixed.ts [--streams 2000] [--rate 40] [--connections 16] [--seconds 5] [--rounds 3] [--tokens 4] [--targets direct,forwarder,headgate] [--json]`.
 * 70 % small chats, 20 % streamed turns of an agent of 330 KB, 10 % embeddings, beside so many open streams at 20 to 80 tokens per second.
 * Each target gets the mix in an open loop (arrivals by a clock, latency from the moment a request was due) and in a closed one. Printed
 * are latencies over the provider alone, CPU per request of the mix beyond what the open streams cost, memory, and the event loop's delay.
 * The limit of open files has to be above twice the number of streams.
 */
import type { ChildProcess } from 'node:child_process'
import { parseArgs } from 'node:util'
import { positive } from './flags.ts'
import { startGateway } from './gateway.ts'
import { median } from './measure.ts'
import type { MixedJob, MixedSummary } from './mixed/load.ts'
import { KINDS } from './mixed/traffic.ts'
import { cpuSeconds, killChildrenOnExit, residentMegabytes, startScript, stop } from './processes.ts'
import { BENCH_KEY } from './requests.ts'
import { table } from './simulation/table.ts'

const LOOPS = ['open', 'closed'] as const
type Loop = (typeof LOOPS)[number]

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '2000' },
    rate: { type: 'string', default: '40' },
    connections: { type: 'string', default: '16' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    tokens: { type: 'string', default: '4' },
    targets: { type: 'string', default: 'direct,forwarder,headgate' },
    json: { type: 'boolean', default: false },
  },
})
const number = (name: 'rate' | 'connections' | 'seconds' | 'rounds' | 'tokens'): number => positive(name, values[name])
const streams = Number(values.streams)

interface Target {
  readonly name: string
  readonly port: number
  /** Undefined for the provider alone. */
  readonly pid: number | undefined
  readonly adminPort?: number
  stop(): Promise<unknown>
}

async function startTarget(name: string, provider: number): Promise<Target> {
  if (name === 'direct') return { name, port: provider, pid: undefined, stop: async () => undefined }
  if (name === 'forwarder') {
    const { child, port } = await startScript('baselines/forwarder.ts', [String(provider)])
    return { name, port, pid: child.pid, stop: () => stop(child) }
  }
  if (name !== 'headgate') throw new Error(`--targets must be some of direct, forwarder, headgate, got ${name}`)
  const gateway = await startGateway(provider)
  return { name, port: gateway.port, pid: gateway.child.pid, adminPort: gateway.adminPort, stop: () => gateway.stop() }
}

function order<Result>(load: ChildProcess, job: MixedJob): Promise<Result> {
  return new Promise((resolve, reject) => {
    load.once('message', ({ summary, error }: { summary?: Result; error?: string }) =>
      summary === undefined ? reject(new Error(error)) : resolve(summary),
    )
    load.send(job)
  })
}

interface Round extends MixedSummary {
  readonly loop: Loop
  readonly perSecond: number
  /** Beyond what the open streams cost by themselves. */
  readonly cpuMicros: number | undefined
  /** Share of a core that the open streams cost by themselves. */
  readonly streamsCore: number | undefined
  readonly megabytes: number | undefined
  /** Milliseconds at the 99th percentile, and the most. */
  readonly delays: readonly [number, number] | undefined
}

/** The metric counts from one scrape to the next. */
async function loopDelays({ adminPort }: Target): Promise<readonly [number, number] | undefined> {
  if (adminPort === undefined) return undefined
  const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()
  const of = (quantile: string): number =>
    1000 * Number(new RegExp(`^headgate_event_loop_delay_seconds\\{quantile="${quantile}"\\} (\\S+)`, 'm').exec(text)?.[1])
  return [of('0.99'), of('1')]
}

/** The share of a core that a target has used while something ran, in CPU seconds and in seconds of the clock. */
async function used<Result>({ pid }: Target, run: () => Promise<Result>): Promise<{ result: Result; cpu: number; seconds: number }> {
  const [cpu, begun] = [pid === undefined ? 0 : cpuSeconds(pid), performance.now()]
  const result = await run()
  return { result, cpu: pid === undefined ? 0 : cpuSeconds(pid) - cpu, seconds: (performance.now() - begun) / 1000 }
}

async function round(load: ChildProcess, target: Target, loop: Loop, seed: number): Promise<Round> {
  const seconds = number('seconds')
  const alone = await used(target, () => new Promise((resolve) => setTimeout(resolve, seconds * 250)))
  await loopDelays(target)
  const rate = loop === 'open' ? number('rate') : 0
  const mixed = await used(target, () => order<MixedSummary>(load, { do: 'mix', rate, connections: number('connections'), seconds, seed }))
  const core = alone.cpu / alone.seconds
  const own = target.pid !== undefined
  return {
    ...mixed.result,
    loop,
    perSecond: mixed.result.completed / seconds,
    cpuMicros: own ? ((mixed.cpu - core * mixed.seconds) / mixed.result.completed) * 1e6 : undefined,
    streamsCore: own ? core : undefined,
    megabytes: target.pid === undefined ? undefined : residentMegabytes(target.pid),
    delays: await loopDelays(target),
  }
}

async function measure(target: Target, load: ChildProcess): Promise<Round[]> {
  const headers = { authorization: `Bearer ${BENCH_KEY}`, 'content-type': 'application/json' }
  await order(load, { do: 'hold', port: target.port, headers, streams })
  // Until the compiler has seen every kind of request.
  await order(load, { do: 'mix', rate: 0, connections: number('connections'), seconds: number('seconds') / 4, seed: 1 })
  const rounds: Round[] = []
  for (let at = 0; at < number('rounds'); at++) for (const loop of LOOPS) rounds.push(await round(load, target, loop, at + 2))
  await order(load, { do: 'release' })
  return rounds
}

interface Row {
  readonly target: string
  readonly loop: Loop
  readonly rounds: readonly Round[]
}

const middle = (rounds: readonly Round[], of: (round: Round) => number | undefined): number | undefined => {
  const found = rounds.flatMap((one) => of(one) ?? [])
  return found.length === 0 ? undefined : median(found)
}

function cells({ target, loop, rounds }: Row, direct: Row | undefined): string[] {
  const text = (value: number | undefined, digits: number): string => (value === undefined ? '' : value.toFixed(digits))
  const latency = (kind: (typeof KINDS)[number], quantile: 'p50' | 'p99'): string => {
    const of = (list: readonly Round[]): number | undefined =>
      middle(list, ({ kinds }) => (kinds[kind].completed === 0 ? undefined : kinds[kind][quantile]))
    const [own, base] = [of(rounds), target === 'direct' || direct === undefined ? 0 : of(direct.rounds)]
    return text(own === undefined || base === undefined ? undefined : own - base, 1)
  }
  const cpu = rounds.flatMap(({ cpuMicros }) => cpuMicros ?? [])
  return [
    target,
    loop,
    text(
      middle(rounds, ({ perSecond }) => perSecond),
      0,
    ),
    String(rounds.reduce((sum, { refused }) => sum + refused, 0)),
    ...KINDS.flatMap((kind) => [latency(kind, 'p50'), latency(kind, 'p99')]),
    text(
      middle(rounds, ({ cpuMicros }) => cpuMicros),
      0,
    ),
    cpu.length === 0 ? '' : `${Math.min(...cpu).toFixed(0)}–${Math.max(...cpu).toFixed(0)}`,
    text(
      middle(rounds, ({ open }) => open),
      0,
    ),
    text(
      middle(rounds, ({ streamsCore }) => streamsCore),
      2,
    ),
    text(
      middle(rounds, ({ megabytes }) => megabytes),
      0,
    ),
    text(
      middle(rounds, ({ delays }) => delays?.[0]),
      1,
    ),
    text(
      middle(rounds, ({ delays }) => delays?.[1]),
      1,
    ),
    text(
      middle(rounds, ({ late99 }) => late99),
      1,
    ),
  ]
}

const HEAD = [
  ...['target', 'loop', 'req/s', '503'],
  ...KINDS.flatMap((kind) => [`${kind} p50`, `${kind} p99`]),
  ...['CPU µs/req', 'rounds', 'open streams', 'their core', 'MB', 'loop p99', 'loop max', 'sent late p99'],
]

killChildrenOnExit()
const provider = await startScript('mixed/provider.ts', [String(number('tokens'))])
const rows: Row[] = []
for (const name of values.targets.split(',')) {
  const load = await startScript('mixed/load.ts')
  const target = await startTarget(name, provider.port)
  const rounds = await measure(target, load.child)
  for (const loop of LOOPS) rows.push({ target: name, loop, rounds: rounds.filter((one) => one.loop === loop) })
  await Promise.all([target.stop(), stop(load.child)])
}
await stop(provider.child)
if (values.json) console.log(JSON.stringify(rows))
else {
  const direct = (loop: Loop): Row | undefined => rows.find((row) => row.target === 'direct' && row.loop === loop)
  console.log(
    table(
      HEAD,
      rows.map((row) => cells(row, direct(row.loop))),
    ),
  )
  console.log(
    `\nMilliseconds; medians of ${values.rounds} rounds of ${values.seconds} s. Rows of direct show its latencies, the others what they add to these; of an agent the first byte counts.`,
  )
  console.log(
    `Open loop: ${values.rate} requests per second; closed: ${values.connections} connections. CPU beyond that of the open streams, whose share of a core stands beside.`,
  )
}
process.exit(0)

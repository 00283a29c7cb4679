/**
 * Effect of overload: `node bench/overload.ts [--base CHECKOUT] [--seconds 4] [--rounds 5] [--bytes 330000] [--callers 32] [--core 0.5]
 * [--warm-up 20] [--max-wait 2s] [--json]`. The gateway is held to a part of one core (`core-share.ts`), the provider and the load generator
 * share another, so that these can send three times what the gateway carries. Each build warms up at full speed first. A round has three
 * parts: a closed loop of callers with large bodies, whose requests must all be served; a closed loop of the same callers in which every other
 * body is a small one, which is the peak; and three times that peak in an open loop, whether or not replies have come. `--base` names the
 * checkout of another build, which is measured in turn with this one; `--max-wait` is a setting of this one alone. The goals are medians
 * over the rounds, of ratios within one round: so a machine that is slower in one round weighs on both sides. A round whose
 * generator was late, or had no processor time left, measures the generator: it is marked, and left out of the medians. Ends with code 1
 * when this build misses a goal.
 */

import type { ChildProcess } from 'node:child_process'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { coreShare } from './core-share.ts'
import { type Gateway, startGateway } from './gateway.ts'
import { median } from './measure.ts'
import type { OpenJob, OpenSummary } from './open-load.ts'
import { cpuSeconds, killChildrenOnExit, peakMegabytes, startScript, stop } from './processes.ts'
import { buildLauncher } from './program.ts'
import { BENCH_KEY, CHAT } from './requests.ts'
import { table } from './simulation/table.ts'

/** Of the peak, by which the open loop exceeds it; and shares and milliseconds that have to be kept. */
const STORM = 3
const GOAL_SHARE = 0.9
const GOAL_SMALL_MS = 250
const MAX_WAIT_MS = 2_000
/** Resident memory beyond that of the closed loop, megabytes: the default of `server.body_memory`. */
const GOAL_MEGABYTES = 512

/** Milliseconds at the 99th percentile by which requests of a valid round were sent late, and the part of its core that the generator used. */
const MAX_LATE_MS = 50
const MAX_GENERATOR = 0.8

const GATEWAY_CPU = 0
const OTHER_CPU = 1

const { values } = parseArgs({
  options: {
    base: { type: 'string' },
    seconds: { type: 'string', default: '4' },
    'warm-up': { type: 'string', default: '20' },
    rounds: { type: 'string', default: '5' },
    bytes: { type: 'string', default: '330000' },
    callers: { type: 'string', default: '32' },
    core: { type: 'string', default: '0.5' },
    'max-wait': { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})
const seconds = Number(values.seconds)

function proseBody(bytes: number): string {
  const prose = 'The committee met on Tuesday to discuss the plans for the new library, and most members agreed that the roof comes first. '
  const messages = Array.from({ length: 40 }, (_, i) => ({
    role: i % 2 === 0 ? 'user' : 'assistant',
    content: prose.repeat(Math.ceil(bytes / 40 / prose.length)).slice(0, bytes / 40),
  }))
  return JSON.stringify({ model: 'bench/chat', messages: [...messages, { role: 'user', content: 'And then?' }], max_tokens: 512 })
}

/** Replies with status 200 per second, of large and small bodies, and their bytes. */
interface Part {
  readonly summary: OpenSummary
  readonly large: number
  readonly small: number
  readonly bytes: number
  readonly gatewayCpu: number
}

interface Round {
  readonly build: string
  readonly closed: Part
  readonly peak: Part
  readonly storm: Part
  /** The most resident memory so far, before and after the open loop. */
  readonly megabytesBefore: number
  readonly megabytes: number
}

interface Goal {
  readonly goal: string
  readonly of: (round: Round) => number
  readonly met: (found: number) => boolean
}

const all = ({ large, small }: Part): number => large + small

const GOALS: readonly Goal[] = [
  { goal: 'requests refused in the closed loop of large bodies', of: ({ closed }) => refusedIn(closed), met: (found) => found === 0 },
  share('replies', all),
  share('bytes', ({ bytes }) => bytes),
  share('large bodies', ({ large }) => large),
  share('small bodies', ({ small }) => small),
  {
    goal: 'longest time of a large body that was served, ms',
    of: ({ storm }) => storm.summary.served[0]?.most ?? 0,
    met: (ms) => ms <= MAX_WAIT_MS,
  },
  {
    goal: 'memory that the open loop added, MB',
    of: ({ megabytes, megabytesBefore }) => megabytes - megabytesBefore,
    met: (found) => found <= GOAL_MEGABYTES,
  },
  { goal: 'p99 of small bodies, ms', of: ({ storm }) => storm.summary.served[1]?.p99 ?? 0, met: (ms) => ms <= GOAL_SMALL_MS },
]

function share(what: string, of: (part: Part) => number): Goal {
  return {
    goal: `${what} served at ${STORM} times the peak, share of those at the peak`,
    of: ({ peak, storm }) => of(storm) / of(peak),
    met: (found) => found >= GOAL_SHARE,
  }
}

function refusedIn({ summary }: Part): number {
  return Object.entries(summary.byStatus).reduce((sum, [status, count]) => sum + (status === '200' ? 0 : count), 0)
}

async function main(): Promise<void> {
  killChildrenOnExit()
  const mock = await startScript('mock.ts')
  const load = await startScript('open-load.ts')
  const others = coreShare(OTHER_CPU)
  for (const { child } of [mock, load]) others.hold(child)
  const launchers = [
    ...(values.base === undefined ? [] : [{ build: 'other', launcher: buildLauncher(resolve(values.base)) }]),
    { build: 'this', ...(values['max-wait'] === undefined ? {} : { server: `overload: { max_wait: ${values['max-wait']} }` }) },
  ]
  const gateways: { build: string; gateway: Gateway }[] = []
  for (const { build, ...how } of launchers) gateways.push({ build, gateway: await startGateway(mock.port, how) })
  const whole = coreShare(GATEWAY_CPU)
  const share = coreShare(GATEWAY_CPU, Number(values.core))
  for (const { gateway } of gateways) {
    whole.hold(gateway.child)
    await warmUp({ gateway, load: load.child })
    share.hold(gateway.child)
  }
  const rounds: Round[] = []
  for (let round = 0; round < Number(values.rounds); round++)
    for (const { build, gateway } of gateways) rounds.push(await runRound(build, { gateway, load: load.child }))
  for (const each of [others, whole, share]) each.end()
  await Promise.all([...gateways.map(({ gateway }) => gateway.stop()), stop(mock.child), stop(load.child)])
  report(rounds, share.how)
}

interface Process {
  readonly gateway: Gateway
  readonly load: ChildProcess
}

/** At its full speed: until V8 has compiled what it runs, requests and refusals take several times as long. */
async function warmUp(process: Process): Promise<void> {
  const half = Number(values['warm-up']) / 2
  const mixed = await runPart(process, { rate: 0, otherBody: CHAT.body, seconds: half }, 0)
  await runPart(process, { rate: Math.round(all(mixed) * 2), otherBody: CHAT.body, seconds: half }, 0)
}

async function runRound(build: string, process: Process): Promise<Round> {
  const closed = await runPart(process, { rate: 0, seconds }, 1)
  const peak = await runPart(process, { rate: 0, otherBody: CHAT.body, seconds }, 1)
  const megabytesBefore = peakMegabytes(process.gateway.child.pid ?? 0)
  const storm = await runPart(process, { rate: Math.round(all(peak) * STORM), otherBody: CHAT.body, seconds }, 2)
  return { build, closed, peak, storm, megabytesBefore, megabytes: peakMegabytes(process.gateway.child.pid ?? 0) }
}

/** @param warmUp seconds at the beginning that do not count. */
async function runPart({ gateway, load }: Process, job: Pick<OpenJob, 'otherBody' | 'rate' | 'seconds'>, warmUp: number): Promise<Part> {
  const body = proseBody(Number(values.bytes))
  const pid = gateway.child.pid ?? 0
  const [cpu, began] = [cpuSeconds(pid), performance.now()]
  const summary = await readSummary(load, {
    port: gateway.port,
    path: '/v1/chat/completions',
    headers: { authorization: `Bearer ${BENCH_KEY}`, 'content-type': 'application/json' },
    body,
    connections: Number(values.callers),
    warmUp,
    ...job,
  })
  const [large = { count: 0 }, small = { count: 0 }] = summary.served
  const bytes = (large.count * body.length + small.count * CHAT.body.length) / job.seconds
  const gatewayCpu = (cpuSeconds(pid) - cpu) / ((performance.now() - began) / 1000)
  return { summary, large: large.count / job.seconds, small: small.count / job.seconds, bytes, gatewayCpu }
}

function readSummary(load: ChildProcess, job: OpenJob): Promise<OpenSummary> {
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error('the load generator has ended'))
    load.once('message', ({ summary }: { summary: OpenSummary }) => {
      load.off('exit', ended)
      resolve(summary)
    })
    load.once('exit', ended)
    load.send(job)
  })
}

/** False where the generator was what limited a round. */
const isValid = ({ storm: { summary } }: Round): boolean => summary.lateP99 <= MAX_LATE_MS && summary.cpu <= MAX_GENERATOR

const middle = (found: number[]): number => (found.length === 0 ? Number.NaN : median(found))

function report(rounds: readonly Round[], how: string): void {
  const found = GOALS.map(({ goal, of, met }) => {
    const buildMedian = (build: string): number => middle(rounds.filter((round) => round.build === build && isValid(round)).map(of))
    return { goal, other: buildMedian('other'), found: buildMedian('this'), met: met(buildMedian('this')) }
  })
  if (values.json) console.log(JSON.stringify({ rounds, goals: found }))
  else {
    const rows = rounds.flatMap((round) =>
      (['closed', 'peak', 'storm'] as const).map((name) => {
        const { summary, large, small, bytes, gatewayCpu } = round[name]
        const times = summary.served.map(({ p50, p99, most }) => [p50, p99, most].map((ms) => ms.toFixed(0)).join(' / '))
        const others = Object.entries(summary.byStatus).filter(([status]) => status !== '200')
        return [
          round.build,
          name === 'storm' && !isValid(round) ? 'storm (generator late)' : name,
          (summary.sent / seconds).toFixed(0),
          large.toFixed(0),
          small.toFixed(0),
          (bytes / 1e6).toFixed(0),
          others.map(([status, count]) => `${(count / seconds).toFixed(0)} ${status}`).join(', ') || 'none',
          times[0] ?? '',
          times[1] ?? '',
          gatewayCpu.toFixed(2),
          summary.lateP99.toFixed(1),
          summary.cpu.toFixed(2),
          String(summary.mostConnections),
          round.megabytes.toFixed(0),
        ]
      }),
    )
    const head = [
      'build',
      'part',
      'sent/s',
      'large/s',
      'small/s',
      'MB/s',
      'other/s',
      'large p50/p99/most ms',
      'small p50/p99/most ms',
      'gateway core',
      'sent late p99 ms',
      'generator core',
      'connections',
      'MB',
    ]
    console.log(
      `bodies of ${values.bytes} and ${CHAT.body.length} bytes, ${values.callers} callers, the gateway held by ${how}\n\n${table(head, rows)}\n`,
    )
    const digits = (value: number): string => (Number.isNaN(value) ? '' : value.toFixed(2))
    for (const { goal, other, found: own, met } of found)
      console.log(
        `${met ? 'met   ' : 'MISSED'} ${goal}: ${digits(own)}${values.base === undefined ? '' : ` (the other build ${digits(other)})`}`,
      )
  }
  if (found.some(({ met }) => !met)) process.exitCode = 1
}

main().then(
  () => process.exit(),
  (error: unknown) => {
    console.error(`bench: ${error instanceof Error ? error.message : String(error)}`)
    process.exit(1)
  },
)

/** Measures of goals beside the scenarios: other commands of the bench, run one after the other, each in a process of its own. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { LoopRound } from './event-loop.ts'
import { keepTrack } from './processes.ts'

/** One value per round; absent where it was not measured. */
export interface GoalMeasures {
  readonly kilobytesPerStream?: readonly number[]
  readonly loopDelay99?: readonly number[]
  readonly loopDelayMost?: readonly number[]
  /** CPU per request, of neighbouring rounds. */
  readonly twoWorkersToOne?: readonly number[]
  readonly twoWorkersToNone?: readonly number[]
}

export const MEASURES = ['open-streams', 'event-loop', 'workers'] as const
export type MeasureName = (typeof MEASURES)[number]

interface Length {
  readonly seconds: number
  readonly rounds: number
  readonly warmUp: number
}

/** Streams that are open at once: enough that what each takes stands out. */
const STREAMS = 2_000
/** Each of these takes a gateway of its own. */
const MAX_STREAM_ROUNDS = 3

async function runScript(script: string, args: readonly string[]): Promise<unknown> {
  const path = fileURLToPath(new URL(script, import.meta.url))
  const child = keepTrack(spawn(process.execPath, [path, ...args, '--json'], { stdio: ['ignore', 'pipe', 'inherit'] }))
  let text = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (code !== 0) throw new Error(`${script} ended with code ${code}: ${text.slice(-600)}`)
  return JSON.parse(text)
}

async function openStreams({ seconds, rounds }: Length): Promise<GoalMeasures> {
  const kilobytesPerStream: number[] = []
  for (let at = 0; at < Math.min(rounds, MAX_STREAM_ROUNDS); at++) {
    const one = (await runScript('open-streams.ts', ['--streams', String(STREAMS), '--seconds', String(seconds)])) as {
      kilobytesPerStream: number
    }
    kilobytesPerStream.push(one.kilobytesPerStream)
  }
  return { kilobytesPerStream }
}

const lengthArgs = ({ seconds, rounds, warmUp }: Length): string[] => [
  ...['--seconds', String(seconds)],
  ...['--rounds', String(rounds)],
  ...['--warm-up', String(warmUp)],
]

async function eventLoop(length: Length): Promise<GoalMeasures> {
  const rounds = (await runScript('event-loop.ts', lengthArgs(length))) as LoopRound[]
  return { loopDelay99: rounds.map(({ p99 }) => p99), loopDelayMost: rounds.map(({ max }) => max) }
}

async function workers(length: Length): Promise<GoalMeasures> {
  const found = (await runScript('workers.ts', ['--workers', '1,2', ...lengthArgs(length)])) as {
    scenario: string
    workers: number
    cpuRounds: number[]
  }[]
  const of = (count: number): number[] => found.find(({ scenario, workers }) => scenario === 'chat' && workers === count)?.cpuRounds ?? []
  const over = (base: readonly number[]): number[] => of(2).map((micros, at) => micros / (base[at] ?? Number.NaN))
  return { twoWorkersToOne: over(of(1)), twoWorkersToNone: over(of(0)) }
}

const RUNS: Readonly<Record<MeasureName, (length: Length) => Promise<GoalMeasures>>> = {
  'open-streams': openStreams,
  'event-loop': eventLoop,
  workers,
}

/** @throws Error where one of the commands fails. */
export async function measureForGoals(wanted: readonly MeasureName[], length: Length): Promise<GoalMeasures> {
  let all: GoalMeasures = {}
  for (const name of wanted) all = { ...all, ...(await RUNS[name](length)) }
  return all
}

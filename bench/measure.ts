/** Measures one scenario: every target in turn, several short rounds, medians over the rounds. */

import type { ChildProcess } from 'node:child_process'
import { entryAt } from '../src/core/entry-at.ts'
import type { LoadJob, LoadSummary } from './load-jobs.ts'
import { cpuSeconds, peakMegabytes } from './processes.ts'
import { BENCH_KEY, type BenchRequest } from './requests.ts'
import type { Scenario } from './scenarios.ts'
import type { Target, TargetName } from './target.ts'
import { type Ground, startTarget } from './targets.ts'

export interface Settings {
  readonly connections: number
  /** Seconds of load per target and round. */
  readonly seconds: number
  /** Seconds of load before the first round. */
  readonly warmUp: number
  readonly rounds: number
}

/** Medians over the rounds for one target. */
export interface Figures {
  readonly target: TargetName
  readonly requests: number
  readonly perSecond: number
  /** CPU microseconds of the target's process per completed request; undefined for the mock alone. */
  readonly cpuMicros: number | undefined
  /** The same for every round, in order; empty for the mock alone. */
  readonly cpuRounds: readonly number[]
  /** Milliseconds: medians, and each round in order. */
  readonly p50: number
  readonly p99: number
  readonly p50Rounds: readonly number[]
  readonly p99Rounds: readonly number[]
  /** Median milliseconds to the first byte of a stream, 0 without streams. */
  readonly first: number
  /** Megabytes (10^6 bytes). */
  readonly peak: number | undefined
}

interface Round extends LoadSummary {
  readonly cpuMicros: number | undefined
}

/** The middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? entryAt(sorted, middle) : (entryAt(sorted, middle - 1) + entryAt(sorted, middle)) / 2
}

/** CPU per request of one target over another's in each round; undefined when one was not measured. */
export function cpuRatios(of: Figures | undefined, to: Figures | undefined): readonly number[] | undefined {
  if (of === undefined || to === undefined || of.cpuRounds.length === 0 || to.cpuRounds.length === 0) return undefined
  return of.cpuRounds.map((micros, at) => micros / entryAt(to.cpuRounds, at))
}

/** The median of these ratios of neighbours in time, so that a machine that is slower in one round weighs on both. */
export function cpuRatio(of: Figures | undefined, to: Figures | undefined): number | undefined {
  const ratios = cpuRatios(of, to)
  return ratios === undefined ? undefined : median(ratios)
}

/** Puts one job on the load generator's process. @throws Error when a reply was wrong. */
export function runLoad(load: ChildProcess, job: LoadJob): Promise<LoadSummary> {
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error('the load generator has ended'))
    load.once('exit', ended)
    load.once('message', (answer: { summary?: LoadSummary; error?: string }) => {
      load.off('exit', ended)
      if (answer.summary !== undefined) resolve(answer.summary)
      else reject(new Error(answer.error))
    })
    load.send(job)
  })
}

/** The job that puts a request on a target. */
export function jobFor(target: Target, request: BenchRequest, connections: number, seconds: number): LoadJob {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${BENCH_KEY}`, ...target.headers }
  return { port: target.port, request, headers, connections, seconds }
}

async function round(load: ChildProcess, target: Target, job: LoadJob): Promise<Round> {
  const before = target.pid === undefined ? 0 : cpuSeconds(target.pid)
  const summary = await runLoad(load, job).catch((error: Error) => {
    throw new Error(`${target.name}, ${job.request.path}: ${error.message}\n${target.logTail?.() ?? ''}`.trimEnd())
  })
  const cpuMicros = target.pid === undefined ? undefined : ((cpuSeconds(target.pid) - before) / summary.completed) * 1e6
  return { ...summary, cpuMicros }
}

function figures(target: Target, rounds: readonly Round[]): Figures {
  const cpu = rounds.flatMap((one) => (one.cpuMicros === undefined ? [] : [one.cpuMicros]))
  return {
    target: target.name,
    requests: rounds.reduce((sum, one) => sum + one.completed, 0),
    perSecond: median(rounds.map((one) => one.completed / one.seconds)),
    cpuMicros: cpu.length === 0 ? undefined : median(cpu),
    cpuRounds: cpu,
    p50: median(rounds.map((one) => one.p50)),
    p99: median(rounds.map((one) => one.p99)),
    p50Rounds: rounds.map((one) => one.p50),
    p99Rounds: rounds.map((one) => one.p99),
    first: median(rounds.map((one) => one.first)),
    peak: target.pid === undefined ? undefined : peakMegabytes(target.pid),
  }
}

/**
 * Runs one scenario with freshly started targets.
 * Rounds go over all targets in turn, so that a slow minute of the machine hits all alike.
 * @throws Error at the first wrong reply.
 */
export async function measure(scenario: Scenario, settings: Settings, ground: Ground, load: ChildProcess): Promise<Figures[]> {
  const chosen = [...scenario.targets]
  if (scenario.peers) for (const name of ground.peers.keys()) chosen.push({ name, request: entryAt(chosen, 0).request })
  const connections = scenario.connections ?? settings.connections
  const running: { target: Target; request: BenchRequest; rounds: Round[] }[] = []
  try {
    for (const { name, request } of chosen) running.push({ target: await startTarget(name, ground), request, rounds: [] })
    for (const { target, request } of running) await round(load, target, jobFor(target, request, connections, settings.warmUp))
    for (let at = 0; at < settings.rounds; at++) {
      for (const { target, request, rounds } of running) {
        rounds.push(await round(load, target, jobFor(target, request, connections, settings.seconds)))
      }
    }
    const all = running.map(({ target, rounds }) => figures(target, rounds))
    for (const [at, { target }] of running.entries()) await target.check(entryAt(all, at).requests)
    return all
  } finally {
    await Promise.all(running.map(({ target }) => target.stop()))
  }
}

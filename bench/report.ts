/** Writes what a run measured as Markdown tables, which also read well on a terminal. */

import { spawnSync } from 'node:child_process'
import { cpus, loadavg, totalmem } from 'node:os'
import { entryAt } from '../src/core/entry-at.ts'
import { type Goal, goals, type Measured } from './goals.ts'
import { cpuRatio, type Figures, type Settings } from './measure.ts'
import { AGENT_TURNS, PAIRS, SCENARIOS } from './scenarios.ts'
import { table } from './simulation/table.ts'

/** Place and time of a run. */
export interface Circumstances {
  readonly date: string
  readonly commit: string
  readonly node: string
  readonly machine: string
  readonly load: string
}

/** @param loadBefore the one-minute load average before the run. */
export function circumstances(now: Date, loadBefore: number): Circumstances {
  const git = (...args: string[]): string => spawnSync('git', args, { encoding: 'utf8' }).stdout?.trim() ?? ''
  const changed = git('status', '--porcelain', '--untracked-files=no') === '' ? '' : ' with uncommitted changes'
  const processors = cpus()
  return {
    date: now.toISOString().slice(0, 10),
    commit: `${git('rev-parse', '--short', 'HEAD') || 'unknown'}${changed}`,
    node: process.version,
    machine: `${processors.length} cores (${processors[0]?.model.trim() ?? 'unknown'}), ${(totalmem() / 1e9).toFixed(0)} GB`,
    load: `${loadBefore.toFixed(2)} before, ${entryAt(loadavg(), 0).toFixed(2)} after`,
  }
}

const times = (value: number | undefined): string => (value === undefined ? '' : `${value.toFixed(2)}×`)

const ratio = (value: number | undefined, base: number | undefined): string =>
  value === undefined || base === undefined || base <= 0 ? '' : times(value / base)

const fixed = (value: number | undefined, digits: number): string => (value === undefined ? '' : value.toFixed(digits))

function figureRow(one: Figures, direct: Figures | undefined, base: Figures | undefined): string[] {
  const added = (value: number, from: number | undefined): number | undefined =>
    one === direct || from === undefined ? undefined : value - from
  const p50 = added(one.p50, direct?.p50)
  const p99 = added(one.p99, direct?.p99)
  const measured = one === direct ? undefined : one
  return [
    one.target,
    one.requests.toFixed(0),
    one.perSecond.toFixed(0),
    ratio(measured?.perSecond, base?.perSecond),
    fixed(one.cpuMicros, 0),
    one.cpuRounds.length === 0 ? '' : `${Math.min(...one.cpuRounds).toFixed(0)}–${Math.max(...one.cpuRounds).toFixed(0)}`,
    times(cpuRatio(one, base)),
    one.p50.toFixed(2),
    fixed(p50, 2),
    base !== undefined && direct !== undefined ? ratio(p50, base.p50 - direct.p50) : '',
    fixed(p99, 2),
    base !== undefined && direct !== undefined ? ratio(p99, base.p99 - direct.p99) : '',
    one.first === 0 ? '' : one.first.toFixed(2),
    fixed(one.peak, 0),
    ratio(one.peak, base?.peak),
  ]
}

const HEAD = [
  'target',
  'requests',
  'req/s',
  'to fwd',
  'CPU µs/req',
  'rounds',
  'to fwd',
  'p50 ms',
  'added p50',
  'to fwd',
  'added p99',
  'to fwd',
  'first byte',
  'peak MB',
  'to fwd',
]

/** One scenario as a heading and a table. */
export function scenarioText(name: string, figures: readonly Figures[]): string {
  const about = [...SCENARIOS, ...PAIRS, ...AGENT_TURNS].find((one) => one.name === name)?.about ?? ''
  const direct = figures.find((one) => one.target === 'direct')
  const base = figures.find((one) => one.target === 'forwarder')
  return `### ${name}\n\n${about}\n\n${table(
    HEAD,
    figures.map((one) => figureRow(one, direct, base)),
  )}\n`
}

function goalsText(list: readonly Goal[]): string {
  const rows = list.map((goal) => [goal.what, goal.wanted, goal.stretch, goal.found, goal.spread, goal.state])
  return `## Goals\n\n${table(['goal', 'wanted', 'stretch', 'found', 'spread of the rounds', ''], rows)}\n`
}

/** The whole report. @param peers the table of peers, empty without them. */
export function reportText(measured: Measured, settings: Settings, where: Circumstances, peers: string): string {
  const scenarios = [...measured.scenarios].map(([name, figures]) => scenarioText(name, figures))
  return `${[
    `# Benchmark of ${where.date}\n`,
    `- commit: ${where.commit}\n- node: ${where.node}\n- machine: ${where.machine}; one-minute load ${where.load}`,
    `- ${settings.connections} connections; ${settings.rounds} rounds of ${settings.seconds} s per target in turn after ${settings.warmUp} s of warm-up; medians over the rounds`,
    '- load generator, mock upstream and target are processes of their own on the same machine; nothing is pinned\n',
    goalsText(goals(measured)),
    ...(peers === '' ? [] : [peers]),
    '## Scenarios\n',
    '“to fwd” is the ratio of the column before it to the bare forwarder. Times in milliseconds; “added” is over the mock alone.\n',
    ...scenarios,
  ].join('\n')}`
}

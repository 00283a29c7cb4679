/**
 * Compares the CPU ratios of a run with kept ones: `--keep FILE` writes them, `--gate FILE` compares with them. What counts as noise is
 * derived from the rounds of both, and printed beside each comparison.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { entryAt } from '../src/core/entry-at.ts'
import type { Measured } from './goals.ts'
import { cpuRatios, median, type Settings } from './measure.ts'
import type { Circumstances } from './report.ts'
import { table } from './simulation/table.ts'

/** CPU per request of one target over another's, of each round, by names such as `chat: headgate to forwarder`. */
export type Ratios = Readonly<Record<string, readonly number[]>>

export interface Kept extends Circumstances, Settings {
  readonly ratios: Ratios
}

export interface Compared {
  readonly name: string
  /** Medians over the rounds. */
  readonly before: number
  readonly now: number
  /** Share by which the ratio grew; negative where it shrank. */
  readonly growth: number
  /** Share up to which growth may be chance. */
  readonly noise: number
  readonly spreads: { readonly before: readonly [number, number]; readonly now: readonly [number, number] }
  readonly verdict: 'slower' | 'faster' | 'within noise'
}

/** Fewer rounds have no spread to derive noise from. */
const MIN_ROUNDS = 3
/** The median absolute deviation of a normal distribution times this is its standard deviation. */
const DEVIATION = 1.4826
/** The standard error of a median of n normal values is this times the standard deviation over √n. */
const OF_MEDIAN = 1.2533
/** Standard errors of the difference that count as noise: of 1,000 comparisons without a change about one is called slower. */
const SIGMAS = 3
/** CPU time is read in ticks of 10 ms: so a second of load is known to about a percent, however alike the rounds are. */
const MIN_NOISE = 0.01

/** Comparisons: the gateway over the yardstick, and a guarded gateway over a plain one. */
const BASES = { headgate: 'forwarder', guarded: 'headgate' } as const

/** The ratios of a run, with all its rounds. */
export function measuredRatios(measured: Measured): Ratios {
  const ratios: Record<string, readonly number[]> = {}
  for (const [scenario, figures] of measured.scenarios) {
    for (const [of, to] of Object.entries(BASES)) {
      const found = cpuRatios(
        figures.find(({ target }) => target === of),
        figures.find(({ target }) => target === to),
      )
      if (found !== undefined) ratios[`${scenario}: ${of} to ${to}`] = found
    }
  }
  return ratios
}

/** The standard error of the median, as a share of it. */
function medianError(rounds: readonly number[]): number {
  const middle = median(rounds)
  const deviation = DEVIATION * median(rounds.map((one) => Math.abs(one - middle)))
  return (OF_MEDIAN * deviation) / Math.sqrt(rounds.length) / middle
}

const spread = (rounds: readonly number[]): readonly [number, number] => [Math.min(...rounds), Math.max(...rounds)]

/** Compares one ratio. @throws Error where one side has too few rounds. */
export function compare(name: string, before: readonly number[], now: readonly number[]): Compared {
  const fewest = Math.min(before.length, now.length)
  if (fewest < MIN_ROUNDS) throw new Error(`${name}: ${fewest} rounds have no spread; expected at least ${MIN_ROUNDS} on both sides`)
  const middles = { before: median(before), now: median(now) }
  const growth = middles.now / middles.before - 1
  const noise = Math.max(MIN_NOISE, SIGMAS * Math.hypot(medianError(before), medianError(now)))
  const verdict = growth > noise ? 'slower' : growth < -noise ? 'faster' : 'within noise'
  return { name, ...middles, growth, noise, spreads: { before: spread(before), now: spread(now) }, verdict }
}

export interface GateResult {
  readonly compared: readonly Compared[]
  /** Kept ratios that this run did not measure, and ratios of this run that are not kept. */
  readonly missing: readonly string[]
  readonly added: readonly string[]
}

/** @throws Error where nothing can be compared. */
export function gate(kept: Ratios, now: Ratios): GateResult {
  const names = Object.keys(kept).filter((name) => now[name] !== undefined)
  if (names.length === 0) throw new Error('the run measured nothing that the kept file has')
  return {
    compared: names.map((name) => compare(name, kept[name] ?? [], now[name] ?? [])),
    missing: Object.keys(kept).filter((name) => now[name] === undefined),
    added: Object.keys(now).filter((name) => kept[name] === undefined),
  }
}

const percent = (share: number): string => `${share >= 0 ? '+' : ''}${(share * 100).toFixed(1)} %`

/** The comparison as a table, with what the kept file says of its own run. */
export function gateText({ compared, missing, added }: GateResult, kept: Kept): string {
  const range = ([low, high]: readonly [number, number]): string => `${low.toFixed(2)}–${high.toFixed(2)}`
  const rows = compared.map(({ name, before, now, growth, noise, spreads, verdict }) => [
    name,
    `${before.toFixed(3)}×`,
    range(spreads.before),
    `${now.toFixed(3)}×`,
    range(spreads.now),
    percent(growth),
    `± ${(noise * 100).toFixed(1)} %`,
    verdict === 'slower' ? 'SLOWER' : verdict,
  ])
  return [
    '## Gate\n',
    `Kept: ${kept.date}, commit ${kept.commit}, node ${kept.node}, ${kept.machine}, load ${kept.load}; ${kept.rounds} rounds of ${kept.seconds} s.\n`,
    table(['ratio', 'kept', 'spread', 'now', 'spread', 'change', 'noise', ''], rows),
    `\nNoise: ${SIGMAS} standard errors of the difference of the medians, by the median deviations of the rounds of both; at least ${MIN_NOISE * 100} %.`,
    ...(missing.length > 0 ? [`Kept, but not measured now: ${missing.join('; ')}.`] : []),
    ...(added.length > 0 ? [`Measured now, but not kept: ${added.join('; ')}.`] : []),
  ].join('\n')
}

export function keep(file: string, kept: Kept): void {
  writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`)
}

/** @throws Error where the file is none that `--keep` has written. */
export function readKept(file: string): Kept {
  const kept = JSON.parse(readFileSync(file, 'utf8')) as Partial<Kept> | null
  const ratios = Object.entries(kept?.ratios ?? {})
  const bad = ratios.find(([, rounds]) => !Array.isArray(rounds) || rounds.some((one) => !(Number.isFinite(one) && one > 0)))
  if (ratios.length === 0 || bad)
    throw new Error(`${file}: ${bad ? `the ratio "${entryAt(bad, 0)}"` : 'ratios'} must be lists of numbers above 0`)
  return kept as Kept
}

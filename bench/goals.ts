/** Goals of the project for its own cost, and the verdict of a run on them. */
import type { GoalMeasures } from './goal-measures.ts'
import { cpuRatios, type Figures, median } from './measure.ts'
import { AGENT_TURNS, isTranslated, PAIRS } from './scenarios.ts'
import type { StartUp } from './startup.ts'
import type { TargetName } from './target.ts'

/** Everything that a run measured. */
export interface Measured {
  readonly scenarios: ReadonlyMap<string, readonly Figures[]>
  readonly startUp: StartUp | undefined
  readonly measures: GoalMeasures
}

/** One value per round, and what it was measured on where a goal covers several scenarios. */
interface Found {
  readonly rounds: readonly number[]
  readonly note?: string
  /** False where only some of the scenarios were measured: then the goal may be missed, but is not met yet. */
  readonly complete?: boolean
}

interface Promised {
  readonly what: string
  readonly unit: '×' | ' ms' | ' MB' | ' KB'
  readonly bar: number
  readonly stretch?: number
  /** The value has to be at least the bar; without it at most. */
  readonly least?: boolean
  find(measured: Measured): Found | undefined
}

export interface Goal {
  readonly what: string
  readonly wanted: string
  readonly stretch: string
  /** The median over the rounds. */
  readonly found: string
  /** The lowest and the highest round, and how many there were. */
  readonly spread: string
  readonly state: 'stretch met' | 'met' | 'NOT MET' | 'not measured' | 'not all measured'
}

const measuredFigures = ({ scenarios }: Measured, scenario: string, target: TargetName): Figures | undefined =>
  scenarios.get(scenario)?.find((one) => one.target === target)

const found = (rounds: readonly number[] | undefined): Found | undefined =>
  rounds === undefined || rounds.length === 0 ? undefined : { rounds }

/** CPU per request of one target over another's. */
const ratio =
  (scenario: string, of: TargetName, to: TargetName) =>
  (measured: Measured): Found | undefined =>
    found(cpuRatios(measuredFigures(measured, scenario, of), measuredFigures(measured, scenario, to)))

/** The scenario with the highest ratio to the forwarder. */
const worst =
  (names: readonly string[]) =>
  (measured: Measured): Found | undefined => {
    const all = names.flatMap((name) => {
      const rounds = ratio(name, 'headgate', 'forwarder')(measured)?.rounds
      return rounds === undefined ? [] : [{ name, rounds, middle: median(rounds) }]
    })
    if (all.length === 0) return undefined
    const [first] = all.sort((a, b) => b.middle - a.middle)
    return { rounds: first?.rounds ?? [], note: `${first?.name}, the highest of ${all.length}`, complete: all.length === names.length }
  }

/** Milliseconds over the mock alone. */
const added =
  (quantile: 'p50Rounds' | 'p99Rounds') =>
  (measured: Measured): Found | undefined => {
    const direct = measuredFigures(measured, 'chat-alone', 'direct')
    const own = measuredFigures(measured, 'chat-alone', 'headgate')
    if (direct === undefined || own === undefined) return undefined
    return found(own[quantile].map((ms, at) => ms - (direct[quantile][at] ?? 0)))
  }

const peak = (measured: Measured): Found | undefined => {
  const megabytes = measuredFigures(measured, 'chat', 'headgate')?.peak
  return megabytes === undefined ? undefined : { rounds: [megabytes] }
}

const start =
  (what: 'launcherMs' | 'npmMs' | 'idleMegabytes') =>
  ({ startUp }: Measured): Found | undefined =>
    startUp === undefined ? undefined : found([...startUp[what]])

const measure =
  (what: keyof GoalMeasures) =>
  ({ measures }: Measured): Found | undefined =>
    found(measures[what])

const names = (list: readonly { readonly name: string }[]): string[] => list.map(({ name }) => name)
const passed = names(AGENT_TURNS.filter(({ name }) => !isTranslated(name)))
const translatedTurns = names(AGENT_TURNS.filter(({ name }) => isTranslated(name)))
const translatedPairs = names(PAIRS.filter(({ name }) => isTranslated(name)))

const TO_FORWARDER = 'CPU per request to the bare forwarder'
const OF_SMALL = 'CPU per request to headgate'

/** The table of the issue, in its order. */
const TABLE: readonly Promised[] = [
  { what: `chat, one JSON reply: ${TO_FORWARDER}`, unit: '×', bar: 1.5, stretch: 1.35, find: ratio('chat', 'headgate', 'forwarder') },
  {
    what: `stream of 100 events, pass lane: ${TO_FORWARDER}`,
    unit: '×',
    bar: 1.15,
    stretch: 1.05,
    find: ratio('chat-stream', 'headgate', 'forwarder'),
  },
  { what: `the same translated between any two wires: ${TO_FORWARDER}`, unit: '×', bar: 1.5, stretch: 1.3, find: worst(translatedPairs) },
  { what: `agent turn of 330 KB, pass lane: ${TO_FORWARDER}`, unit: '×', bar: 1.4, stretch: 1.2, find: worst(passed) },
  { what: `the same translated: ${TO_FORWARDER}`, unit: '×', bar: 2, stretch: 1.6, find: worst(translatedTurns) },
  {
    what: 'chat of 2 KB with all recognisers: CPU per request to without',
    unit: '×',
    bar: 1.1,
    stretch: 1.05,
    find: ratio('guardrails', 'guarded', 'headgate'),
  },
  {
    what: `GoModel with its usage rows, chat: ${OF_SMALL}`,
    unit: '×',
    bar: 3.5,
    least: true,
    find: ratio('chat', 'gomodel-usage', 'headgate'),
  },
  {
    what: `GoModel with its usage rows, stream: ${OF_SMALL}`,
    unit: '×',
    bar: 2.5,
    least: true,
    find: ratio('chat-stream', 'gomodel-usage', 'headgate'),
  },
  { what: 'most resident memory in the chat scenario (32 connections)', unit: ' MB', bar: 150, stretch: 110, find: peak },
  { what: 'memory per idle open stream', unit: ' KB', bar: 12, stretch: 8, find: measure('kilobytesPerStream') },
  { what: 'idle memory after a few requests', unit: ' MB', bar: 90, stretch: 70, find: start('idleMegabytes') },
  { what: 'latency added at one connection, p50 over direct', unit: ' ms', bar: 0.25, find: added('p50Rounds') },
  { what: 'latency added at one connection, p99 over direct', unit: ' ms', bar: 0.6, find: added('p99Rounds') },
  {
    what: 'event-loop delay p99 while 400 KB bodies and 2 MB embedding replies pass',
    unit: ' ms',
    bar: 10,
    find: measure('loopDelay99'),
  },
  { what: 'event-loop delay at most, the same', unit: ' ms', bar: 60, find: measure('loopDelayMost') },
  { what: 'two workers: CPU per request to one worker', unit: '×', bar: 1.1, stretch: 1.05, find: measure('twoWorkersToOne') },
]

/** Goals beside it, by the README and by what a fair yardstick needs. */
const BESIDE: readonly Promised[] = [
  { what: 'two workers: CPU per request to no worker', unit: '×', bar: 1.1, stretch: 1.05, find: measure('twoWorkersToNone') },
  {
    what: 'the bare forwarder is a fair yardstick: its CPU per request to http-proxy-3 blind',
    unit: '×',
    bar: 0.55,
    find: ratio('chat', 'forwarder', 'blind-proxy'),
  },
  { what: 'chat: CPU per request to http-proxy-3 blind', unit: '×', bar: 1, find: ratio('chat', 'headgate', 'blind-proxy') },
  { what: `Portkey's gateway, chat: ${OF_SMALL}`, unit: '×', bar: 8, least: true, find: ratio('chat', 'portkey', 'headgate') },
  { what: 'from `node bin/headgate.js serve` to the first answer', unit: ' ms', bar: 1000, find: start('launcherMs') },
  { what: 'from `npm start` to the first answer', unit: ' ms', bar: 1000, find: start('npmMs') },
]

const digits = (unit: Promised['unit']): number => (unit === '×' || unit === ' ms' ? 3 : 1)

function goalState({ bar, stretch, least }: Promised, value: number, complete: boolean): Goal['state'] {
  const reaches = (limit: number): boolean => (least ? value >= limit : value <= limit)
  if (!reaches(bar)) return 'NOT MET'
  if (!complete) return 'not all measured'
  return stretch !== undefined && reaches(stretch) ? 'stretch met' : 'met'
}

function measureGoal(promised: Promised, measured: Measured): Goal {
  const { what, unit, bar, stretch, least } = promised
  const sign = least ? '≥' : '≤'
  const wanted = { what, wanted: `${sign} ${bar}${unit}`, stretch: stretch === undefined ? '' : `${sign} ${stretch}${unit}` }
  const seen = promised.find(measured)
  if (seen === undefined) return { ...wanted, found: '', spread: '', state: 'not measured' }
  const value = median(seen.rounds)
  const text = (number: number): string => number.toFixed(digits(unit))
  const spread =
    seen.rounds.length === 1
      ? 'one round'
      : `${text(Math.min(...seen.rounds))}–${text(Math.max(...seen.rounds))}, ${seen.rounds.length} rounds`
  return {
    ...wanted,
    found: `${text(value)}${unit}${seen.note === undefined ? '' : ` (${seen.note})`}`,
    spread,
    state: goalState(promised, value, seen.complete ?? true),
  }
}

/** Every goal, and what this run shows of it. */
export const goals = (measured: Measured): Goal[] => [...TABLE, ...BESIDE].map((one) => measureGoal(one, measured))

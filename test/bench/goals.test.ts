/** The table of goals on made-up figures: medians, spreads, and what was not measured. */
import t from 'tap'
import { readFlags } from '../../bench/flags.ts'
import { type Goal, goals, type Measured } from '../../bench/goals.ts'
import type { Figures } from '../../bench/measure.ts'
import { AGENT_TURNS, isTranslated, PAIRS } from '../../bench/scenarios.ts'
import type { TargetName } from '../../bench/target.ts'
import { every } from '../support/every.ts'

const figures = (target: TargetName, cpuRounds: readonly number[], more: Partial<Figures> = {}): Figures => ({
  target,
  requests: 100,
  perSecond: 10,
  cpuMicros: cpuRounds[0],
  cpuRounds,
  p50: 0,
  p99: 0,
  p50Rounds: [],
  p99Rounds: [],
  first: 0,
  peak: 100,
  ...more,
})

const measured = (scenarios: Record<string, Figures[]>, more: Partial<Measured> = {}): Measured => ({
  scenarios: new Map(Object.entries(scenarios)),
  startUp: undefined,
  measures: {},
  ...more,
})

const find = (list: readonly Goal[], start: string): Goal | undefined => list.find(({ what }) => what.startsWith(start))

t.test('a ratio is the median of neighbouring rounds, with their spread', async (t) => {
  const own = figures('headgate', [140, 280, 150])
  const list = goals(measured({ chat: [figures('forwarder', [100, 200, 100]), own] }))
  t.match(find(list, 'chat, one JSON reply'), {
    wanted: '≤ 1.5×',
    stretch: '≤ 1.35×',
    found: '1.400×',
    spread: '1.400–1.500, 3 rounds',
    state: 'met',
  })
})

t.test('a bar is reached, missed, or reached with its stretch', async (t) => {
  const state = (ratio: number): Goal['state'] | undefined =>
    find(goals(measured({ chat: [figures('forwarder', [100]), figures('headgate', [100 * ratio])] })), 'chat, one JSON')?.state
  t.equal(state(1.35), 'stretch met')
  t.equal(state(1.5), 'met')
  t.equal(state(1.51), 'NOT MET')
})

t.test('a peer has to cost at least so much', async (t) => {
  const list = goals(measured({ chat: [figures('headgate', [100, 100]), figures('gomodel-usage', [300, 320])] }))
  t.match(find(list, 'GoModel with its usage rows, chat'), { wanted: '≥ 3.5×', found: '3.100×', state: 'NOT MET' })
  t.match(find(list, 'GoModel with its usage rows, stream'), { found: '', state: 'not measured' })
})

t.test('of several scenarios the one with the highest ratio counts', async (t) => {
  const pair = (ratio: number): Figures[] => [figures('forwarder', [100]), figures('headgate', [100 * ratio])]
  const some = goals(measured({ 'pair-chat-gemini': pair(1.2), 'pair-messages-chat': pair(1.25) }))
  t.match(find(some, 'the same translated between any two'), {
    found: '1.250× (pair-messages-chat, the highest of 2)',
    state: 'not all measured',
  })
  const names = PAIRS.map(({ name }) => name).filter(isTranslated)
  const all = goals(measured(Object.fromEntries(names.map((name) => [name, pair(1.2)]))))
  t.equal(find(all, 'the same translated between any two')?.state, 'stretch met')
  const missed = goals(measured({ 'agent-chat-gemini': pair(2.1), 'agent-responses-chat': pair(1.3) }))
  t.equal(find(missed, 'the same translated:')?.state, 'NOT MET', 'one scenario is enough to miss it')
})

t.test('three of twelve pairs of wires are not translated', async (t) => {
  for (const list of [PAIRS, AGENT_TURNS]) {
    t.same(
      list.filter(({ name }) => !isTranslated(name)).map(({ name }) => name.slice(name.indexOf('-') + 1)),
      ['chat-chat', 'responses-responses', 'messages-anthropic'],
    )
  }
})

t.test('latency is counted over the mock alone, in each round', async (t) => {
  const direct = figures('direct', [], { p50Rounds: [1, 2], p99Rounds: [3, 3] })
  const own = figures('headgate', [1, 1], { p50Rounds: [1.2, 2.3], p99Rounds: [3.5, 3.9] })
  const list = goals(measured({ 'chat-alone': [direct, own] }))
  t.match(find(list, 'latency added at one connection, p50'), { found: '0.250 ms', spread: '0.200–0.300, 2 rounds', state: 'met' })
  t.match(find(list, 'latency added at one connection, p99'), { found: '0.700 ms', state: 'NOT MET' })
})

t.test('measures and starts have their rows', async (t) => {
  const startUp = { launcherMs: [400], npmMs: [1200], idleMegabytes: [88, 91, 92] }
  const measures = { kilobytesPerStream: [7.5], loopDelay99: [11], loopDelayMost: [40], twoWorkersToOne: [1.04], twoWorkersToNone: [1.2] }
  const list = goals(measured({}, { startUp, measures }))
  t.match(find(list, 'memory per idle open stream'), { found: '7.5 KB', spread: 'one round', state: 'stretch met' })
  t.match(find(list, 'idle memory'), { found: '91.0 MB', state: 'NOT MET' })
  t.match(find(list, 'event-loop delay p99'), { found: '11.000 ms', state: 'NOT MET' })
  t.match(find(list, 'event-loop delay at most'), { state: 'met' })
  t.match(find(list, 'two workers: CPU per request to one'), { found: '1.040×', state: 'stretch met' })
  t.match(find(list, 'from `npm start`'), { state: 'NOT MET' })
})

t.test('the goals count ten rounds, and measure all that they need', async (t) => {
  const flags = readFlags(['--goals'])
  t.equal(flags.settings.rounds, 10)
  t.equal(readFlags(['--rounds', '10']).settings.rounds, 10)
  t.same(flags.measures, ['open-streams', 'event-loop', 'workers'])
  t.ok(flags.startUp)
  const names = flags.scenarios.map(({ name }) => name)
  await every(t, 'every scenario of the table is among them', async (t) => {
    for (const name of [
      'chat',
      'chat-alone',
      'chat-stream',
      'guardrails',
      'pair-messages-gemini',
      'agent-chat-chat',
      'agent-responses-gemini',
    ])
      t.ok(names.includes(name), name)
  })
  const targets = (scenario: string): string[] | undefined =>
    flags.scenarios.find(({ name }) => name === scenario)?.targets.map(({ name }) => name)
  t.same(targets('chat-alone'), ['direct', 'headgate'])
  t.same(targets('agent-chat-gemini'), ['forwarder', 'headgate'])
  t.throws(() => readFlags(['--scenario', 'none']), /--scenario must be one of chat, /)
  t.same(readFlags(['--peer', 'nginx']).peers, ['nginx'])
  t.same(readFlags(['--peers']).peers, ['gomodel', 'litellm', 'portkey', 'nginx'])
  t.same(readFlags([]).peers, [])
  t.throws(() => readFlags(['--peer', 'none']), /--peer must be one of gomodel, /)
  t.throws(() => readFlags(['--rounds', '0']), /--rounds must be a number above 0, got 0/)
})

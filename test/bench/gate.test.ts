/** The comparison of kept ratios with those of a run, on made-up figures. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { compare, gate, gateText, type Kept, keep, measuredRatios, readKept } from '../../bench/gate.ts'
import type { Figures } from '../../bench/measure.ts'
import { seededChance } from '../../bench/simulation/chance.ts'

/** Rounds about a middle with a spread on both sides. */
const about = (middle: number, spread: number): number[] => [-2, -1.5, -1, -0.5, 0, 0, 0.5, 1, 1.5, 2].map((at) => middle + at * spread)

t.test('the noise comes from the spread of both sides', async (t) => {
  const quiet = compare('chat', about(1.5, 0.01), about(1.56, 0.01))
  t.equal(quiet.verdict, 'slower')
  t.ok(quiet.noise < 0.02, `${quiet.noise}`)
  t.ok(Math.abs(quiet.growth - 0.04) < 1e-9)
  t.equal(compare('chat', about(1.5, 0.05), about(1.56, 0.01)).verdict, 'within noise', 'the kept run was loud')
  t.equal(compare('chat', about(1.5, 0.01), about(1.56, 0.05)).verdict, 'within noise', 'this run was loud')
  t.equal(compare('chat', about(1.5, 0.01), about(1.4, 0.01)).verdict, 'faster')
  t.equal(compare('chat', about(1.5, 0.05), about(2, 0.05)).verdict, 'slower', 'a large change is beyond the noise of loud runs')
})

t.test('one slow round is no regression', async (t) => {
  const rounds = about(1.5, 0.01)
  t.equal(compare('chat', rounds, [...rounds.slice(1), 9]).verdict, 'within noise')
})

t.test('rounds that are all alike leave the tick of the clock as noise', async (t) => {
  const [before, same, more] = [1.5, 1.51, 1.53].map((value) => Array.from({ length: 10 }, () => value))
  t.equal(compare('chat', before ?? [], same ?? []).verdict, 'within noise')
  t.equal(compare('chat', before ?? [], more ?? []).verdict, 'slower')
})

t.test('of runs without a change few are called slower', async (t) => {
  const chance = seededChance(7)
  /** Roughly normal, one tenth wide. */
  const round = (): number => 1.5 * (1 + 0.05 * ([0, 0, 0, 0, 0, 0].reduce((sum) => sum + chance(), 0) - 3))
  const ten = (): number[] => Array.from({ length: 10 }, round)
  const slower = Array.from({ length: 1000 }, () => compare('chat', ten(), ten())).filter(({ verdict }) => verdict === 'slower').length
  t.ok(slower < 30, `${slower} of 1,000`)
})

t.test('too few rounds cannot be compared', async (t) => {
  t.throws(
    () => compare('chat: headgate to forwarder', [1, 1], about(1, 0.1)),
    /chat: headgate to forwarder: 2 rounds have no spread; expected at least 3/,
  )
})

t.test('what only one side has is named', async (t) => {
  const { compared, missing, added } = gate({ a: about(1, 0.1), b: about(1, 0.1) }, { a: about(1, 0.1), c: about(1, 0.1) })
  t.same(
    compared.map(({ name }) => name),
    ['a'],
  )
  t.same([missing, added], [['b'], ['c']])
  t.throws(() => gate({ a: about(1, 0.1) }, { b: about(1, 0.1) }), /measured nothing that the kept file has/)
})

const figures = (target: Figures['target'], cpuRounds: readonly number[]): Figures => ({
  target,
  requests: 1,
  perSecond: 1,
  cpuMicros: cpuRounds[0],
  cpuRounds,
  p50: 0,
  p99: 0,
  p50Rounds: [],
  p99Rounds: [],
  first: 0,
  peak: undefined,
})

t.test('ratios of neighbouring rounds are kept', async (t) => {
  const chat = [
    figures('direct', []),
    figures('forwarder', [100, 200]),
    figures('blind-proxy', [300, 300]),
    figures('headgate', [150, 400]),
  ]
  const guarded = [figures('headgate', [100, 100]), figures('guarded', [110, 120])]
  const scenarios = new Map([
    ['chat', chat],
    ['guardrails', guarded],
  ])
  t.same(measuredRatios({ scenarios, startUp: undefined, measures: {} }), {
    'chat: headgate to forwarder': [1.5, 2],
    'guardrails: guarded to headgate': [1.1, 1.2],
  })
})

t.test('a kept file is read as it was written, and nothing else is', async (t) => {
  const file = join(t.testdir(), 'kept.json')
  const kept: Kept = {
    ...{ date: '2026-11-26', commit: 'abc', node: 'v24', machine: '2 cores', load: '0.1 before' },
    ...{ connections: 32, seconds: 1, warmUp: 2, rounds: 10 },
    ratios: { 'chat: headgate to forwarder': about(1.5, 0.01) },
  }
  keep(file, kept)
  t.same(readKept(file), kept)
  const text = gateText(gate(kept.ratios, { 'chat: headgate to forwarder': about(1.7, 0.01) }), kept)
  t.match(text, /commit abc/)
  t.match(text, /chat: headgate to forwarder \| 1\.500× \| 1\.48–1\.52 \| 1\.700× \| 1\.68–1\.72 \| \+13\.3 % \| ± 1\.\d % \| SLOWER/)
  writeFileSync(file, '{"ratios":{"chat":["1"]}}')
  t.throws(() => readKept(file), /the ratio "chat" must be lists of numbers above 0/)
  writeFileSync(file, '{}')
  t.throws(() => readKept(file), /ratios must be/)
})

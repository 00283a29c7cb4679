/** The growth of costs on made-up curves: exponents, flatness, the chart and the page. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { growthAxes } from '../../bench/growth/axes.ts'
import { chartSvg, short, ticks } from '../../bench/growth/chart.ts'
import { judge, type Point, verdictText } from '../../bench/growth/curve.ts'
import { sizesUpTo } from '../../bench/growth/measure.ts'
import { figuresText, withSection } from '../../bench/growth/page.ts'
import { every } from '../support/every.ts'

/** Rounds within a percent of the cost. */
const curve = (sizes: readonly number[], cost: (size: number) => number): Point[] =>
  sizes.map((size) => ({ size, rounds: [0.99, 1, 1, 1, 1.01].map((share) => share * cost(size)) }))

const SIZES = [1_000, 4_000, 16_000, 64_000, 256_000]

t.test('a cost in proportion, with a fixed part, is not above linear', async (t) => {
  const fixed = judge(
    curve(SIZES, (size) => 100 + size / 10),
    'linear',
  )
  t.ok(fixed.met)
  t.ok(Math.abs(fixed.value - 1) < 0.01, `${fixed.value}`)
  const flat = judge(
    curve(SIZES, () => 100),
    'linear',
  )
  t.ok(flat.met && flat.value === 0)
  t.equal(verdictText(flat, 'linear'), 'nothing is seen to grow beyond noise')
})

t.test('a cost that grows with the square is above linear, also behind a fixed part', async (t) => {
  const square = judge(
    curve(SIZES, (size) => size ** 2),
    'linear',
  )
  t.notOk(square.met)
  t.ok(Math.abs(square.value - 2) < 0.2, `${square.value}`)
  const late = judge(
    curve(SIZES, (size) => 5_000 + size / 100 + (size / 2_000) ** 2),
    'linear',
  )
  t.notOk(late.met, `${late.value}`)
  t.match(verdictText(late, 'linear'), /^ABOVE LINEAR: the steepest exponent is 1\.\d\d ± 0\.\d\d, at most 1\.05$/)
})

t.test('what may be chance is not called above linear', async (t) => {
  const loud = SIZES.map((size, at) => ({ size, rounds: [0.7, 0.9, 1, 1.2, 1.3].map((share) => share * size * (at === 4 ? 1.4 : 1)) }))
  const verdict = judge(loud, 'linear')
  t.ok(verdict.met, `${verdict.value} ± ${verdict.noise}`)
})

t.test('a look-up is flat, or it is not', async (t) => {
  const flat = judge(
    curve([1, 1_000, 1_000_000], (size) => 100 + Math.log10(size)),
    'flat',
  )
  t.ok(flat.met)
  t.match(verdictText(flat, 'flat'), /^flat: the largest costs 1\.06 ± 0\.\d\d times the smallest$/)
  const grows = judge(
    curve([0, 1_000, 1_000_000], (size) => 100 + size / 10_000),
    'flat',
  )
  t.notOk(grows.met)
  t.match(verdictText(grows, 'flat'), /^NOT FLAT: the largest costs 2\.00 /)
})

t.test('one size says nothing', async (t) => {
  const one = curve([1], () => 1)
  t.throws(() => judge(one, 'flat'), /at least two sizes/)
  t.throws(() => judge(one, 'linear'), /at least two sizes/)
})

t.test('the chart is one whole SVG for light and dark pages', async (t) => {
  const points = curve([0, 10, 100, 1_000], (size) => 100 + size)
  const svg = chartSvg({ title: 'Tools & <more>', sizes: 'tools', bound: 'linear', points })
  t.match(svg, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" viewBox="0 0 680 340"/)
  t.match(svg, /prefers-color-scheme: dark/)
  t.match(svg, />Tools &amp; &lt;more&gt;<\/text>/)
  t.equal(svg.match(/<circle /g)?.length, 4)
  t.notMatch(svg, /NaN|Infinity|undefined/)
  const numbers = [...svg.matchAll(/ (?:c?x|c?y|[xy][12])="(-?[\d.]+)"/g)].map(([, value]) => Number(value))
  t.ok(
    numbers.every((value) => value >= 0 && value <= 680),
    'nothing is drawn outside',
  )
  t.match(chartSvg({ title: 'Keys', sizes: 'keys', bound: 'flat', points }), /dashed: flat/)
})

t.test('numbers on the axes are round and few', async (t) => {
  t.same([short(999), short(1_000), short(256_000), short(4_000_000), short(0)], ['999', '1k', '256k', '4M', '0'])
  t.same(ticks(90, 1_100), [100, 200, 500, 1_000])
  t.same(ticks(9, 110_000), [10, 100, 1_000, 10_000, 100_000])
})

t.test('the page keeps what stands outside the marks', async (t) => {
  const points = curve([1, 1_000], () => 100)
  const section = { name: 'keys', title: 'Keys', sizes: 'keys', bound: 'flat' as const, points, where: '2026-11-26' }
  const page = 'before\n\n<!-- growth: keys -->\nold\n<!-- end of growth: keys -->\n\nafter\n'
  const written = withSection(page, section)
  t.match(written, /^before\n\n<!-- growth: keys -->\n\n!\[Keys\]\(benchmarks\/keys\.svg\)\n\nFlat: the largest/)
  t.match(written, /<!-- end of growth: keys -->\n\nafter\n$/)
  t.notMatch(written, /old/)
  t.equal(withSection(written, section), written, 'a second time changes nothing')
  t.throws(() => withSection('none', section), /no marks/)
  const figures = figuresText({ sizes: 'keys', points: points.map((point) => ({ ...point, startSeconds: 1.25, megabytes: 130 })) })
  t.match(figures, /\| keys\s+\| CPU µs\/req \|\s+rounds \| start, s \|\s+MB \|/)
  t.match(figures, /\| 1,000\s+\|\s+100 \|\s+99–101 \|\s+1\.3 \| 130 \|/)
})

t.test('every axis of the issue has its marks on the page', async (t) => {
  const axes = growthAxes('ledger.db')
  t.same(
    axes.map(({ name }) => name),
    ['body', 'events', 'tools', 'streams', 'keys', 'models', 'rows', 'guardrails'],
  )
  const page = readFileSync(new URL('../../docs/benchmarks.md', import.meta.url), 'utf8')
  await every(t, 'marks', async (t) => {
    for (const { name } of axes) {
      t.ok(page.includes(`<!-- growth: ${name} -->`), name)
      t.ok(page.includes(`<!-- end of growth: ${name} -->`), name)
    }
  })
  const last = (name: string): number | undefined => axes.find((axis) => axis.name === name)?.at.at(-1)
  t.same([last('keys'), last('models'), last('rows'), last('body')], [1_000_000, 10_000, 10_000_000, 4_000_000])
  const [body] = axes
  t.same(body && sizesUpTo(body, 20_000), [1_000, 4_000, 16_000])
  t.same(body && sizesUpTo(body, 1), [1_000, 4_000], 'two sizes at least')
})

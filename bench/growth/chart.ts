/** A chart of one curve as SVG text: both axes logarithmic, readable on light and dark pages. */
import { entryAt } from '../../src/core/entry-at.ts'
import { median } from '../measure.ts'
import type { Bound, Point } from './curve.ts'

export interface Chart {
  readonly title: string
  /** Unit of the sizes. */
  readonly sizes: string
  readonly bound: Bound
  readonly points: readonly Point[]
}

const WIDTH = 680
const HEIGHT = 340
const FRAME = { left: 76, right: 24, top: 44, bottom: 52 }
const STEPS = [1, 2, 5]
/** More labels than this run into each other. */
const MAX_TICKS = 7

const STYLE = `text { font: 13px system-ui, sans-serif; fill: #1f2328 } .title { font-weight: 600; font-size: 15px }
.grid { stroke: #d1d9e0 } .curve { fill: none; stroke: #0969da; stroke-width: 2 } .point { fill: #0969da } .spread { stroke: #0969da; stroke-opacity: .5; stroke-width: 2 }
.bound { stroke: #9a6700; stroke-dasharray: 5 5; stroke-width: 1.5 } .boundtext { fill: #9a6700 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .grid { stroke: #3d444d } .curve, .spread { stroke: #4493f8 } .point { fill: #4493f8 } .bound { stroke: #d29922 } .boundtext { fill: #d29922 } }`

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** 1,000 as 1k, 4,000,000 as 4M. */
export function short(value: number): string {
  for (const [from, unit] of [
    [1e6, 'M'],
    [1e3, 'k'],
  ] as const)
    if (value >= from) return `${Number((value / from).toPrecision(3))}${unit}`
  return String(Number(value.toPrecision(3)))
}

/** Round numbers within a range, few enough to be read. */
export function ticks(low: number, high: number): number[] {
  const all: number[] = []
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
    for (const step of STEPS) all.push(Number((step * 10 ** power).toPrecision(1)))
  const within = all.filter((value) => value >= low && value <= high)
  const decades = within.filter((value) => Math.abs(Math.log10(value) % 1) < 1e-9)
  return within.length > MAX_TICKS && decades.length > 1 ? decades : within
}

interface Scale {
  readonly low: number
  readonly high: number
  at(value: number): number
}

function logarithmic(low: number, high: number, from: number, to: number): Scale {
  const span = Math.log(high / low)
  return { low, high, at: (value) => from + ((to - from) * Math.log(value / low)) / span }
}

/** A size of 0 stands a decade before the first one: it has no logarithm. */
function chartScales(points: readonly Point[]): { x: Scale; y: Scale; place(size: number): number } {
  const sizes = points.map(({ size }) => size).filter((size) => size > 0)
  const least = Math.min(...sizes)
  const zero = points.some(({ size }) => size === 0)
  const x = logarithmic(zero ? least / 10 : least, Math.max(...sizes) * 1.0001, FRAME.left, WIDTH - FRAME.right)
  const costs = points.flatMap(({ rounds }) => rounds)
  const y = logarithmic(Math.min(...costs) / 1.6, Math.max(...costs) * 1.6, HEIGHT - FRAME.bottom, FRAME.top)
  return { x, y, place: (size) => x.at(size === 0 ? x.low : size) }
}

function boundLine({ bound, points }: Chart, { x, y, place }: ReturnType<typeof chartScales>): string {
  const [first, last] = [entryAt(points, 0), entryAt(points, points.length - 1)]
  const line = (x1: number, y1: number, x2: number, y2: number): string =>
    `<line class="bound" x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}"/>`
  if (bound === 'flat') {
    const level = y.at(median(first.rounds))
    return line(place(first.size), level, place(last.size), level)
  }
  // In proportion to the size, through the last point, down to the lower edge.
  const cost = median(last.rounds)
  const from = Math.max(x.low, (last.size * y.low) / cost)
  return line(x.at(from), y.at((cost * from) / last.size), place(last.size), y.at(cost))
}

/** The whole file. @param chart with at least two points. */
export function chartSvg(chart: Chart): string {
  const { points } = chart
  const scales = chartScales(points)
  const { y, place } = scales
  const bottom = HEIGHT - FRAME.bottom
  const grid = ticks(y.low, y.high).map((value) => {
    const at = y.at(value).toFixed(1)
    return `<line class="grid" x1="${FRAME.left}" y1="${at}" x2="${WIDTH - FRAME.right}" y2="${at}"/><text x="${FRAME.left - 8}" y="${at}" dy="4" text-anchor="end">${short(value)}</text>`
  })
  const labels = points.map(
    ({ size }) => `<text x="${place(size).toFixed(1)}" y="${bottom + 20}" text-anchor="middle">${short(size)}</text>`,
  )
  const centres = points.map((point) => [place(point.size).toFixed(1), y.at(median(point.rounds)).toFixed(1)] as const)
  const dots = points.map(({ rounds }, at) => {
    const [cx, cy] = entryAt(centres, at)
    const [high, low] = [y.at(Math.max(...rounds)).toFixed(1), y.at(Math.min(...rounds)).toFixed(1)]
    return `<line class="spread" x1="${cx}" y1="${low}" x2="${cx}" y2="${high}"/><circle class="point" cx="${cx}" cy="${cy}" r="4"/>`
  })
  const title = escaped(chart.title)
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="${title}">`,
    `<style>${STYLE}</style>`,
    `<text class="title" x="${FRAME.left}" y="24">${title}</text>`,
    ...grid,
    ...labels,
    boundLine(chart, scales),
    `<polyline class="curve" points="${centres.map((centre) => centre.join(',')).join(' ')}"/>`,
    ...dots,
    `<text x="${(FRAME.left + WIDTH - FRAME.right) / 2}" y="${HEIGHT - 12}" text-anchor="middle">${escaped(chart.sizes)}</text>`,
    `<text transform="translate(18 ${(FRAME.top + bottom) / 2}) rotate(-90)" text-anchor="middle">CPU µs per request</text>`,
    `<text class="boundtext" x="${WIDTH - FRAME.right}" y="24" text-anchor="end">${chart.bound === 'flat' ? 'dashed: flat' : 'dashed: in proportion'}</text>`,
    '</svg>',
  ].join('\n')}\n`
}

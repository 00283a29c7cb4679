/** The parts of docs/benchmarks.md that the bench writes: for each axis the chart, what it says, and its figures. */
import { median } from '../measure.ts'
import { table } from '../simulation/table.ts'
import { type Bound, judge, type Point, verdictText } from './curve.ts'

export interface Section {
  readonly name: string
  readonly title: string
  readonly sizes: string
  readonly bound: Bound
  readonly points: readonly Point[]
  /** Date, commit and machine of the run. */
  readonly where: string
}

const marks = (name: string): readonly [string, string] => [`<!-- growth: ${name} -->`, `<!-- end of growth: ${name} -->`]

/** The figures of one axis, which also read well on a terminal. */
export function figuresText({ sizes, points }: Pick<Section, 'sizes' | 'points'>): string {
  const own = points.some(({ startSeconds }) => startSeconds !== undefined)
  const rows = points.map(({ size, rounds, startSeconds, megabytes }) => [
    size.toLocaleString('en'),
    median(rounds).toFixed(0),
    `${Math.min(...rounds).toFixed(0)}–${Math.max(...rounds).toFixed(0)}`,
    ...(own ? [startSeconds?.toFixed(1) ?? '', megabytes?.toFixed(0) ?? ''] : []),
  ])
  return table([sizes, 'CPU µs/req', 'rounds', ...(own ? ['start, s', 'MB'] : [])], rows)
}

/** Text between the marks. */
export function sectionText(section: Section): string {
  const { name, title, bound, points, where } = section
  const verdict = verdictText(judge(points, bound), bound)
  const sentence = `${verdict.charAt(0).toUpperCase()}${verdict.slice(1)} (${where}).`
  return `![${title}](benchmarks/${name}.svg)\n\n${sentence}\n\n${figuresText(section)}`
}

/** The page with one axis written anew. @throws Error where the page has no marks for it. */
export function withSection(page: string, section: Section): string {
  const [begin, end] = marks(section.name)
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from === -1 || to < from) throw new Error(`docs/benchmarks.md has no marks ${begin} and ${end}`)
  return `${page.slice(0, from + begin.length)}\n\n${sectionText(section)}\n\n${page.slice(to)}`
}

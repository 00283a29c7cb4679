/**
 * Growth of the cost of a request: `node bench/growth.ts [--axis NAME]… [--most N] [--seconds 0.5] [--rounds 5] [--warm-up 1] [--connections 8] [--ledger FILE] [--write] [--json]`.
 * For each axis CPU per request at several sizes, whether the curve is above linear, and whether look-ups are flat; code 1 where not.
 * `--write` draws the charts into docs/benchmarks/ and the figures into docs/benchmarks.md. `--most` leaves out sizes above it. `--ledger`
 * is an SQLite file with 10 million rows, as `node bench/ledger-lists.ts --file FILE` makes it; without it rows end at a million.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { entryAt } from '../src/core/entry-at.ts'
import { positive } from './flags.ts'
import { growthAxes } from './growth/axes.ts'
import { chartSvg } from './growth/chart.ts'
import { judge, verdictText } from './growth/curve.ts'
import { type Length, measureAxis, sizesUpTo } from './growth/measure.ts'
import { figuresText, type Section, withSection } from './growth/page.ts'
import { killChildrenOnExit, startScript, stop } from './processes.ts'
import { circumstances } from './report.ts'

const PAGE = new URL('../docs/benchmarks.md', import.meta.url)
const FOLDER = new URL('../docs/benchmarks/', import.meta.url)

const { values } = parseArgs({
  options: {
    axis: { type: 'string', multiple: true },
    most: { type: 'string', default: 'Infinity' },
    seconds: { type: 'string', default: '0.5' },
    rounds: { type: 'string', default: '5' },
    'warm-up': { type: 'string', default: '1' },
    connections: { type: 'string', default: '8' },
    ledger: { type: 'string' },
    write: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})

function write(section: Section): void {
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(new URL(`${section.name}.svg`, FOLDER), chartSvg(section))
  writeFileSync(PAGE, withSection(readFileSync(PAGE, 'utf8'), section))
}

/** @returns whether every curve keeps its bound. */
async function main(): Promise<boolean> {
  killChildrenOnExit()
  const all = growthAxes(values.ledger)
  const unknown = values.axis?.find((name) => all.every((axis) => axis.name !== name))
  if (unknown !== undefined) throw new Error(`--axis must be one of ${all.map(({ name }) => name).join(', ')}, got ${unknown}`)
  const most = Number(values.most)
  if (!(most > 0)) throw new Error(`--most must be a number above 0, got ${values.most}`)
  const length: Length = {
    seconds: positive('seconds', values.seconds),
    rounds: positive('rounds', values.rounds),
    warmUp: positive('warm-up', values['warm-up']),
    connections: positive('connections', values.connections),
  }
  const before = entryAt(loadavg(), 0)
  const provider = await startScript('growth/provider.ts')
  const sections: (Section & { met: boolean })[] = []
  for (const axis of all.filter(({ name }) => values.axis?.includes(name) ?? true)) {
    const points = await measureAxis(axis, sizesUpTo(axis, most), length, provider.port)
    const verdict = judge(points, axis.bound)
    const { date, commit, machine, load } = circumstances(new Date(), before)
    const { name, title, sizes, bound } = axis
    const section = { name, title, sizes, bound, points, where: `${date}, commit ${commit}, ${machine}, load ${load}` }
    sections.push({ ...section, met: verdict.met })
    if (!values.json) console.log(`### ${title}\n\n${figuresText(section)}\n\n${verdictText(verdict, bound)}\n`)
    if (values.write) write(section)
  }
  await stop(provider.child)
  if (values.json) console.log(JSON.stringify(sections))
  return sections.every(({ met }) => met)
}

main().then(
  (met) => process.exit(met ? 0 : 1),
  (error: unknown) => {
    console.error(`bench: ${error instanceof Error ? error.message : String(error)}`)
    process.exit(1)
  },
)

/** Sums of kept rows by what stands apart, in two passes: first what all groups have used, then the times of those that may be listed. */
import { Fault } from '../../core/faults.ts'
import { TICKS } from '../../core/ids.ts'
import { Pace } from '../pace.ts'
import { Durations } from './durations.ts'
import type { RowBlock } from './kept-rows.ts'
import { rowFilter, timeBounds } from './slice-filter.ts'
import { AT, BUCKET_SHIFT, type ColumnNames, FAILED, Names, WIDTH } from './slice-rows.ts'
import type { SliceGroup, SliceMeasure, SliceQuery, SliceSum } from './slice-types.ts'

const NANO = 1_000_000_000n
/** Groups of one list. */
const MAX_GROUPS = 200_000
/** Groups whose times are looked at: where a list is ordered by one of them, those with the most requests. */
const MAX_TIMED = 2_000
/** Rows between two looks at the clock. */
const STEP = 4_096

export interface SliceSums {
  readonly sums: readonly SliceSum[]
  readonly total: SliceSum
  readonly groups: number
  readonly points: readonly SliceSum[]
}

/** Sums of one group. */
interface Sum {
  readonly names: readonly string[]
  requests: number
  failed: number
  dollars: number
  nano: number
  input: number
  output: number
  cached: number
  firstAt: number
  lastAt: number
}

const noSum = (names: readonly string[]): Sum => ({
  ...{ names, requests: 0, failed: 0, dollars: 0, nano: 0, input: 0, output: 0, cached: 0, firstAt: 0, lastAt: 0 },
})

/** @throws Fault 400 where there are too many groups. */
export async function sumRows(blocks: readonly RowBlock[], names: ColumnNames, query: SliceQuery): Promise<SliceSums> {
  const scan = new RowScan(blocks, names, query)
  const failed = FAILED.map((status) => names.status.find(status))
  const groups = new Groups(query, names)
  const total = noSum([])
  const points = Array.from({ length: query.points }, () => noSum([]))
  const width = (query.until - query.from) / Math.max(1, query.points)
  await scan.each((rows, row, at) => {
    const hasFailed = failed.includes(rows[row + AT.status])
    addRow(total, rows, row, at, hasFailed)
    addRow(groups.sum(rows, row), rows, row, at, hasFailed)
    const point = points[Math.floor((at - query.from) / width)]
    if (point) addRow(point, rows, row, at, hasFailed)
  })
  const candidates = groups.candidates(query)
  const places = new Map(candidates.map((sum, place) => [sum, place]))
  // Behind the groups stand all together, then the points.
  const timed = candidates.length + 1 + points.length
  const [whole, first] = [new Durations(timed), new Durations(timed)]
  await scan.each((rows, row, at) => {
    const both = rows[row + AT.buckets] ?? 0
    const [hasWhole, hasFirst] = [(rows[row + AT.whole] ?? 0) > 0, (rows[row + AT.first] ?? 0) > 0]
    if (!hasWhole && !hasFirst) return
    const add = (place: number): void => {
      if (hasWhole) whole.add(place, both % BUCKET_SHIFT)
      if (hasFirst) first.add(place, Math.floor(both / BUCKET_SHIFT))
    }
    const place = places.get(groups.sum(rows, row))
    if (place !== undefined) add(place)
    add(candidates.length)
    if (points.length > 0) add(candidates.length + 1 + Math.min(points.length - 1, Math.floor((at - query.from) / width)))
  })
  const finished = (sum: Sum, place: number): SliceSum => shown(sum, whole.percentiles(place), first.percentiles(place))
  const sums = candidates.map(finished)
  return {
    sums: inOrder(sums, query.order, query.ascending).slice(0, query.limit),
    total: finished(total, candidates.length),
    groups: groups.count,
    points: points.map((point, at) => finished(point, candidates.length + 1 + at)),
  }
}

/** Goes through the rows of a range that are sought, with rests. */
class RowScan {
  private readonly blocks: readonly RowBlock[]
  private readonly query: SliceQuery
  private readonly isSought: ReturnType<typeof rowFilter>

  constructor(blocks: readonly RowBlock[], names: ColumnNames, query: SliceQuery) {
    this.blocks = blocks
    this.query = query
    this.isSought = rowFilter(query.filter, names)
  }

  /** @param take is given the place of a row in its block, and its admission. */
  async each(take: (rows: Uint32Array, row: number, at: number) => void): Promise<void> {
    const { isSought } = this
    if (isSought === undefined) return
    const pace = Pace.ofList()
    let left = STEP
    for (const block of this.blocks) {
      const { rows } = block
      const { first, end } = timeBounds(block, this.query)
      for (let row = 0; row < rows.length; row += WIDTH) {
        const sequence = rows[row + AT.sequence] ?? 0
        if (sequence < first || sequence >= end || !isSought(rows, row)) continue
        take(rows, row, block.at + Math.floor(sequence / TICKS))
      }
      left -= rows.length / WIDTH + 1
      if (left > 0) continue
      left = STEP
      if (pace.over) await pace.rest()
    }
  }
}

/** Groups by what stands apart, found by the numbers of their names. */
class Groups {
  private readonly sums: Sum[] = []
  private readonly columns: readonly Column[]
  /** Of one column, by the number of the name; of two by both in one. */
  private readonly byNumber: (Sum | undefined)[] = []
  private readonly byBoth = new Map<number, Sum>()

  constructor({ by, keyNames }: SliceQuery, names: ColumnNames) {
    this.columns = by.map((group) => groupColumn(group, names, keyNames))
  }

  get count(): number {
    return this.sums.length
  }

  /** @throws Fault 400 where there are too many. */
  sum(rows: Uint32Array, row: number): Sum {
    const [one, two] = this.columns
    const first = one ? one.number(rows[row + one.at] ?? 0) : 0
    if (!two) return (this.byNumber[first] ??= this.make(one ? [one.names.text(first)] : []))
    const second = two.number(rows[row + two.at] ?? 0)
    const both = first * 0x1_00_00_00_00 + second
    let sum = this.byBoth.get(both)
    if (!sum) {
      sum = this.make([one?.names.text(first) ?? '', two.names.text(second)])
      this.byBoth.set(both, sum)
    }
    return sum
  }

  /** Groups that may be listed. */
  candidates({ order, ascending, limit }: SliceQuery): Sum[] {
    const plain = PLAIN[order as keyof typeof PLAIN] as ((sum: Sum) => number) | undefined
    const sorted = plain ? sortBy(this.sums, plain, ascending) : sortBy(this.sums, ({ requests }) => requests, false)
    return sorted.slice(0, plain ? limit : MAX_TIMED)
  }

  private make(names: readonly string[]): Sum {
    if (this.sums.length >= MAX_GROUPS)
      throw new Fault('bad_request', {
        message: `since: the period has more than ${MAX_GROUPS} groups: name a shorter one, or a filter`,
        metadata: { field: 'since' },
      })
    const sum = noSum(names)
    this.sums.push(sum)
    return sum
  }
}

interface Column {
  readonly at: number
  readonly names: Names
  /** Number of the name that stands apart, of that of the row. */
  number(own: number): number
}

function groupColumn(group: SliceGroup, names: ColumnNames, keyNames: SliceQuery['keyNames']): Column {
  const own = names[group]
  if (group !== 'key' || keyNames === undefined) return { at: AT[group], names: own, number: (number) => number }
  const labels = new Names()
  const numbers: (number | undefined)[] = []
  const number = (key: number): number => (numbers[key] ??= labels.number(keyNames.get(own.text(key)) ?? ''))
  return { at: AT.key, names: labels, number }
}

function addRow(sum: Sum, rows: Uint32Array, row: number, at: number, hasFailed: boolean): void {
  sum.requests++
  if (hasFailed) sum.failed++
  sum.dollars += rows[row + AT.dollars] ?? 0
  sum.nano += rows[row + AT.nano] ?? 0
  sum.input += rows[row + AT.input] ?? 0
  sum.output += rows[row + AT.output] ?? 0
  sum.cached += rows[row + AT.cached] ?? 0
  if (at > sum.lastAt) sum.lastAt = at
  if (sum.firstAt === 0 || at < sum.firstAt) sum.firstAt = at
}

/** Sums of at most a million and a half rows: nano-dollars of a group are far below 2 to the 53rd. */
function shown({ dollars, nano, ...sum }: Sum, whole: SliceSum['whole'], first: SliceSum['first']): SliceSum {
  return { ...sum, cost: BigInt(dollars) * NANO + BigInt(nano), whole, first }
}

type Plain = Pick<Sum, 'requests' | 'failed' | 'input' | 'output' | 'cached' | 'lastAt'>

const counted = {
  requests: ({ requests }: Plain) => requests,
  failed: ({ failed }: Plain) => failed,
  failed_share: ({ failed, requests }: Plain) => (requests === 0 ? 0 : failed / requests),
  prompt: ({ input }: Plain) => input,
  completion: ({ output }: Plain) => output,
  cached: ({ cached }: Plain) => cached,
  last: ({ lastAt }: Plain) => lastAt,
}

/** Measures that the first pass knows. */
const PLAIN = { ...counted, usage: ({ dollars, nano }: Sum) => dollars * 1e9 + nano }

function inOrder(sums: readonly SliceSum[], order: SliceMeasure, ascending: boolean): SliceSum[] {
  if (order === 'usage') return sortBy(sums, ({ cost }) => Number(cost), ascending)
  const plain = Object.hasOwn(counted, order) ? counted[order as keyof typeof counted] : undefined
  if (plain) return sortBy(sums, plain, ascending)
  const [time, share] = order.split('_') as ['whole' | 'first', 'p50' | 'p95' | 'p99']
  // Groups without an answered request come last either way.
  const isMissing = (sum: SliceSum): number => (sum[time] === null ? 1 : 0)
  return sortBy(sums, (sum) => sum[time]?.[share] ?? 0, ascending).sort((a, b) => isMissing(a) - isMissing(b))
}

function sortBy<T extends { readonly names: readonly string[] }>(all: readonly T[], measure: (one: T) => number, ascending: boolean): T[] {
  const sign = ascending ? 1 : -1
  return all.toSorted((a, b) => sign * (measure(a) - measure(b)) || (a.names.join('\n') < b.names.join('\n') ? -1 : 1))
}

/**
 * Sums of kept rows by what stands apart, in two passes: first what all groups have used, then the times of those that may be listed. Rows come
 * the newest first.
 */
import { TICKS } from '../../core/ids.ts'
import { Pace } from '../pace.ts'
import { Durations } from './durations.ts'
import { BLOCK_MS, type RowBlock } from './kept-rows.ts'
import { rowFilter, timeBounds } from './slice-filter.ts'
import { SliceGroups } from './slice-groups.ts'
import { AT, BUCKET_SHIFT, type ColumnNames, FAILED, WIDTH } from './slice-rows.ts'
import type { SliceMeasure, SliceQuery, SliceSum } from './slice-types.ts'
import { type PlainMeasure, SumColumns } from './sum-columns.ts'

/** Groups whose times are looked at: where a list is ordered by one of them, those with the most requests. */
const MAX_TIMED = 2_000
/** Rows between two looks at the clock. */
const STEP = 8_192
/** Group of a row that is not sought. */
const NONE = -1

export interface SliceSums {
  readonly sums: readonly SliceSum[]
  readonly total: SliceSum
  readonly groups: number
  readonly points: readonly SliceSum[]
}

/** Rows of a block that are sought, with the group of each. */
interface Grouped {
  readonly block: RowBlock
  readonly groups: Int32Array
}

/** @throws Fault 400 where there are too many groups. */
export async function sumRows(blocks: readonly RowBlock[], names: ColumnNames, query: SliceQuery): Promise<SliceSums> {
  const isSought = rowFilter(query.filter, names)
  const groups = new SliceGroups(query, names)
  const sums = new SumColumns()
  const points = new SumColumns(query.points)
  const [failed, unknown] = FAILED.map((status) => names.status.find(status) ?? NONE)
  const grouped: Grouped[] = []
  await inSteps(isSought ? blocks : [], (block) => {
    const { rows } = block
    const { first, end } = timeBounds(block, query)
    const common = commonPoint(block, query)
    const numbers = new Int32Array(rows.length / WIDTH)
    for (let row = 0, at = 0; row < rows.length; row += WIDTH, at++) {
      const sequence = rows[row + AT.sequence] ?? 0
      const isWanted = sequence >= first && sequence < end && isSought?.(rows, row)
      const group = isWanted ? groups.number(rows, row) : NONE
      numbers[at] = group
      if (group === NONE) continue
      const status = rows[row + AT.status]
      const hasFailed = status === failed || status === unknown ? 1 : 0
      const moment = block.at + Math.floor(sequence / TICKS)
      sums.add(group, rows, row, hasFailed, moment)
      if (query.points > 0) points.add(common ?? pointAt(moment, query), rows, row, hasFailed, moment)
    }
    grouped.push({ block, groups: numbers })
    return numbers.length
  })
  const listed = candidates(sums, groups.count, query)
  const times = new Times(listed, groups.count, query)
  await inSteps(grouped, (each) => times.add(each))
  const found = listed.map((group, place) => ({ ...sums.sum(group, groups.names(group)), ...times.at(place) }))
  return {
    sums: inOrder(found, query).slice(0, query.limit),
    total: { ...sums.total(groups.count), ...times.at(times.all) },
    groups: groups.count,
    points: Array.from({ length: query.points }, (_, point) => ({ ...points.sum(point, []), ...times.at(times.all + 1 + point) })),
  }
}

/** Goes on with other work of the process between some thousands of rows. @param work returns how many it has looked at. */
async function inSteps<T>(all: readonly T[], work: (one: T) => number): Promise<void> {
  const pace = Pace.ofList()
  let due = STEP
  for (const one of all) {
    due -= work(one) + 1
    if (due > 0) continue
    due = STEP
    if (pace.over) await pace.rest()
  }
}

const pointAt = (moment: number, { from, until, points }: SliceQuery): number =>
  Math.min(points - 1, Math.floor(((moment - from) * points) / (until - from)))

/** The point of all rows of a block; undefined where it has those of several. */
function commonPoint({ at }: RowBlock, query: SliceQuery): number | undefined {
  if (query.points === 0) return undefined
  const [first, last] = [pointAt(Math.max(at, query.from), query), pointAt(at + BLOCK_MS - 1, query)]
  return first === last ? first : undefined
}

const isTime = (order: SliceMeasure): boolean => /_p\d\d$/.test(order)

/** Groups that may be listed, by their numbers. */
function candidates(sums: SumColumns, count: number, { order, ascending, limit }: SliceQuery): number[] {
  const byTime = isTime(order)
  const measure = sums.measure(byTime ? 'requests' : (order as PlainMeasure))
  const values = Float64Array.from({ length: count }, (_, group) => measure(group))
  const sign = ascending && !byTime ? 1 : -1
  const groups = Array.from({ length: count }, (_, group) => group)
  groups.sort((a, b) => sign * ((values[a] ?? 0) - (values[b] ?? 0)) || a - b)
  return groups.slice(0, byTime ? MAX_TIMED : limit)
}

/** Times of the groups that may be listed, of all rows together, and of the points. */
class Times {
  /** Place of all together: behind the groups, and before the points. */
  readonly all: number
  private readonly places: Int32Array
  private readonly whole: Durations
  private readonly first: Durations
  private readonly query: SliceQuery

  constructor(listed: readonly number[], groups: number, query: SliceQuery) {
    this.all = listed.length
    this.query = query
    this.places = new Int32Array(groups).fill(NONE)
    for (const [place, group] of listed.entries()) this.places[group] = place
    const length = listed.length + 1 + query.points
    this.whole = new Durations(length)
    this.first = new Durations(length)
  }

  /** @returns how many rows it has looked at. */
  add({ block, groups }: Grouped): number {
    const { all, places, query } = this
    const { at: begins, rows } = block
    const common = commonPoint(block, query)
    for (let row = 0, at = 0; row < rows.length; row += WIDTH, at++) {
      const group = groups[at] ?? NONE
      if (group === NONE) continue
      const place = places[group] ?? NONE
      const moment = begins + Math.floor((rows[row + AT.sequence] ?? 0) / TICKS)
      const point = query.points === 0 ? NONE : all + 1 + (common ?? pointAt(moment, query))
      const both = rows[row + AT.buckets] ?? 0
      if ((rows[row + AT.whole] ?? 0) > 0) addTo(this.whole, both % BUCKET_SHIFT, place, all, point)
      if ((rows[row + AT.first] ?? 0) > 0) addTo(this.first, Math.floor(both / BUCKET_SHIFT), place, all, point)
    }
    return groups.length
  }

  at(place: number): Pick<SliceSum, 'whole' | 'first'> {
    return { whole: this.whole.percentiles(place), first: this.first.percentiles(place) }
  }
}

function addTo(durations: Durations, bucket: number, place: number, all: number, point: number): void {
  if (place !== NONE) durations.add(place, bucket)
  durations.add(all, bucket)
  if (point !== NONE) durations.add(point, bucket)
}

/** Candidates are in the order of what the first pass knows. */
function inOrder(sums: readonly SliceSum[], { order, ascending }: SliceQuery): readonly SliceSum[] {
  if (!isTime(order)) return sums
  const [time, share] = order.split('_') as ['whole' | 'first', 'p50' | 'p95' | 'p99']
  // Groups without an answered request come last either way.
  const missing = ascending ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
  const value = (sum: SliceSum): number => sum[time]?.[share] ?? missing
  return sums.toSorted((a, b) => (value(a) === value(b) ? 0 : ascending === value(a) < value(b) ? -1 : 1))
}

/** Groups of kept rows by what stands apart: each has a number, found by the numbers of its names without making any text. */
import { Fault } from '../../core/faults.ts'
import { AT, type ColumnNames, Names } from './slice-rows.ts'
import type { SliceGroup, SliceQuery } from './slice-types.ts'

/** Groups of one list. */
const MAX_GROUPS = 200_000
/** Pairs of names up to which a table has a place for each of them. */
const MAX_TABLE = 1_000_000
const NO_COLUMN = 0

export class SliceGroups {
  /** Names of the groups, as numbers of the names of one column or of both. */
  private readonly firsts: number[] = []
  private readonly seconds: number[] = []
  private readonly one: Column | undefined
  private readonly two: Column | undefined
  /** One more than the number of the group, by the number of its name or pair. */
  private readonly table: Uint32Array | undefined
  private readonly pairs = new Map<number, number>()
  private readonly width: number

  constructor({ by: [one, two], keyNames }: Pick<SliceQuery, 'by' | 'keyNames'>, names: ColumnNames) {
    this.one = one && groupColumn(one, names, keyNames)
    this.two = two && groupColumn(two, names, keyNames)
    this.width = this.two?.names.list.length ?? 1
    const size = (this.one?.names.list.length ?? 1) * this.width
    this.table = size <= MAX_TABLE ? new Uint32Array(size) : undefined
  }

  get count(): number {
    return this.firsts.length
  }

  /** The number of the group of a row. @throws Fault 400 where there are too many. */
  number(rows: Uint32Array, row: number): number {
    const { one, two, table } = this
    const first = one === undefined ? NO_COLUMN : nameNumber(one, rows[row + one.at] ?? 0)
    const second = two === undefined ? NO_COLUMN : nameNumber(two, rows[row + two.at] ?? 0)
    const pair = first * this.width + second
    if (table !== undefined && pair < table.length) {
      const known = table[pair] ?? 0
      if (known > 0) return known - 1
      const made = this.make(first, second)
      table[pair] = made + 1
      return made
    }
    // A name that has come while the rows are added up has no place in the table.
    const key = first * 0x1_00_00_00_00 + second
    const known = this.pairs.get(key)
    if (known !== undefined) return known
    const made = this.make(first, second)
    this.pairs.set(key, made)
    return made
  }

  names(group: number): string[] {
    const { one, two } = this
    return [one?.names.text(this.firsts[group] ?? 0), two?.names.text(this.seconds[group] ?? 0)].filter((name) => name !== undefined)
  }

  private make(first: number, second: number): number {
    if (this.count >= MAX_GROUPS)
      throw new Fault('bad_request', {
        message: `since: the period has more than ${MAX_GROUPS} groups: name a shorter one, or a filter`,
        metadata: { field: 'since' },
      })
    this.seconds.push(second)
    return this.firsts.push(first) - 1
  }
}

interface Column {
  readonly at: number
  readonly names: Names
  /** Number of the name that stands apart, by that of the row; undefined where they are the same. */
  readonly others: Uint32Array | undefined
}

const nameNumber = ({ others }: Column, own: number): number => (others === undefined ? own : (others[own] ?? 0))

function groupColumn(group: SliceGroup, names: ColumnNames, keyNames: SliceQuery['keyNames']): Column {
  const own = names[group]
  if (group !== 'key' || keyNames === undefined) return { at: AT[group], names: own, others: undefined }
  const others = new Names()
  const numbers = Uint32Array.from(own.list, (key) => others.number(keyNames.get(key) ?? ''))
  return { at: AT.key, names: others, others: numbers }
}

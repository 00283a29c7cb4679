/** Sums of many groups in one array of numbers: what a million rows are added to has to be small and flat. */
import { AT } from './slice-rows.ts'
import type { SliceMeasure, SliceSum } from './slice-types.ts'

const NANO = 1_000_000_000n
const WIDTH = 9
const PLACE = { requests: 0, failed: 1, dollars: 2, nano: 3, input: 4, output: 5, cached: 6, firstAt: 7, lastAt: 8 } as const

/** Sums without percentiles. */
export type PlainSum = Omit<SliceSum, 'whole' | 'first'>
export type PlainMeasure = Exclude<SliceMeasure, `${string}_p${number}`>

export class SumColumns {
  private values: Float64Array

  constructor(groups = 256) {
    this.values = new Float64Array(groups * WIDTH)
  }

  /** Adds a row to a group. Rows come the newest first. @param at its admission. @param failed 0 or 1. */
  add(group: number, rows: Uint32Array, row: number, failed: number, at: number): void {
    const place = group * WIDTH
    if (place >= this.values.length) this.grow(group)
    const { values } = this
    if (values[place] === 0) values[place + PLACE.lastAt] = at
    values[place] = (values[place] ?? 0) + 1
    values[place + PLACE.failed] = (values[place + PLACE.failed] ?? 0) + failed
    values[place + PLACE.dollars] = (values[place + PLACE.dollars] ?? 0) + (rows[row + AT.dollars] ?? 0)
    values[place + PLACE.nano] = (values[place + PLACE.nano] ?? 0) + (rows[row + AT.nano] ?? 0)
    values[place + PLACE.input] = (values[place + PLACE.input] ?? 0) + (rows[row + AT.input] ?? 0)
    values[place + PLACE.output] = (values[place + PLACE.output] ?? 0) + (rows[row + AT.output] ?? 0)
    values[place + PLACE.cached] = (values[place + PLACE.cached] ?? 0) + (rows[row + AT.cached] ?? 0)
    values[place + PLACE.firstAt] = at
  }

  private grow(group: number): void {
    const larger = new Float64Array(Math.max(group + 1, (2 * this.values.length) / WIDTH) * WIDTH)
    larger.set(this.values)
    this.values = larger
  }

  private value(group: number, name: keyof typeof PLACE): number {
    return this.values[group * WIDTH + PLACE[name]] ?? 0
  }

  sum(group: number, names: readonly string[]): PlainSum {
    return {
      names,
      requests: this.value(group, 'requests'),
      failed: this.value(group, 'failed'),
      // Of a million and a half rows both parts stay far below 2 to the 53rd.
      cost: BigInt(this.value(group, 'dollars')) * NANO + BigInt(this.value(group, 'nano')),
      input: this.value(group, 'input'),
      output: this.value(group, 'output'),
      cached: this.value(group, 'cached'),
      firstAt: this.value(group, 'firstAt'),
      lastAt: this.value(group, 'lastAt'),
    }
  }

  /** Of all groups together. */
  total(groups: number): PlainSum {
    let all: PlainSum = { names: [], requests: 0, failed: 0, cost: 0n, input: 0, output: 0, cached: 0, firstAt: 0, lastAt: 0 }
    for (let group = 0; group < groups; group++) {
      const one = this.sum(group, [])
      all = {
        names: [],
        requests: all.requests + one.requests,
        failed: all.failed + one.failed,
        cost: all.cost + one.cost,
        input: all.input + one.input,
        output: all.output + one.output,
        cached: all.cached + one.cached,
        firstAt: all.firstAt === 0 ? one.firstAt : Math.min(all.firstAt, one.firstAt),
        lastAt: Math.max(all.lastAt, one.lastAt),
      }
    }
    return all
  }

  /** Reads the value of a group by which it is put in order. */
  measure(measure: PlainMeasure): (group: number) => number {
    if (measure === 'usage') return (group) => this.value(group, 'dollars') * 1e9 + this.value(group, 'nano')
    if (measure === 'failed_share') return (group) => this.value(group, 'failed') / Math.max(1, this.value(group, 'requests'))
    const name = ({ prompt: 'input', completion: 'output', last: 'lastAt' } as const)[measure as 'prompt'] ?? measure
    return (group) => this.value(group, name as keyof typeof PLACE)
  }
}

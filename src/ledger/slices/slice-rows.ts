/**
 * A generation as slices know it: sixteen numbers. Names stand for their place in a list, since a ledger has few of them and many rows;
 * a million rows are 64 MB outside of the heap, which no collection looks at.
 */
import { asString, type Json, type JsonObject } from '../../core/json.ts'
import { parseFacts } from '../facts.ts'
import { chargedNano } from '../generation.ts'
import type { GenerationRecord, SettleStatus } from '../types.ts'
import { textOr } from '../use.ts'
import { durationBucket } from './durations.ts'
import { SLICE_GROUPS, type SliceGroup } from './slice-types.ts'

export const WIDTH = 16
/** Places of a row. The first ones are those of `SLICE_GROUPS`, in their order. */
export const AT = {
  ...{ key: 0, model: 1, provider: 2, status: 3, error: 4, user: 5, app: 6 },
  ...{ input: 7, output: 8, cached: 9, dollars: 10, nano: 11 },
  /** Milliseconds, one more than they are; 0 where there is none. */
  ...{ whole: 12, first: 13 },
  /** Buckets of both: `first` times `BUCKET_SHIFT` and `whole`. */
  buckets: 14,
  /** The sequence, from that of the first moment of the row's block on. */
  sequence: 15,
} as const satisfies Record<SliceGroup, number> & Record<string, number>

export const BUCKET_SHIFT = 4_096
const NANO = 1_000_000_000
const MOST = 0xff_ff_ff_ff

/** Different names that are kept of one column; all further ones are one. */
const MAX_NAMES = 500_000
const REST = '(more)'

/** The names of a column. The first one is '': no value. */
export class Names {
  readonly list: string[] = ['']
  private readonly numbers = new Map<string, number>([['', 0]])

  number(name: string): number {
    const known = this.numbers.get(name)
    if (known !== undefined) return known
    if (this.list.length > MAX_NAMES) return this.numbers.get(REST) ?? 0
    const number = this.list.push(this.list.length === MAX_NAMES ? REST : name) - 1
    this.numbers.set(this.list[number] ?? name, number)
    return number
  }

  /** Undefined for a name that no row has. */
  find(name: string): number | undefined {
    return this.numbers.get(name)
  }

  text(number: number): string {
    return this.list[number] ?? ''
  }
}

export type ColumnNames = Readonly<Record<SliceGroup, Names>>

export function columnNames(): ColumnNames {
  return Object.fromEntries(SLICE_GROUPS.map((group) => [group, new Names()])) as Record<SliceGroup, Names>
}

/** Outcomes of requests that were answered: their times count. */
const ANSWERED: readonly SettleStatus[] = ['completed', 'incomplete']
export const FAILED: readonly SettleStatus[] = ['failed', 'unknown']

/** Writes a settled generation into a row. @param start the sequence from which that of the row counts. */
export function writeRow(to: Uint32Array, at: number, record: GenerationRecord, names: ColumnNames, start: number): void {
  const { hold, settled } = record
  if (!settled) return
  const facts = readFacts(settled)
  const values: Record<SliceGroup, string> = {
    key: hold.key,
    model: textOr(facts.model, hold.model),
    provider: asString(facts.provider) ?? '',
    status: settled.status,
    error: asString(facts.fault) ?? '',
    user: asString(facts.user) ?? '',
    app: asString(facts.app_title) ?? '',
  }
  for (const group of SLICE_GROUPS) to[at + AT[group]] = names[group].number(values[group])
  to[at + AT.input] = Math.min(MOST, settled.input)
  to[at + AT.output] = Math.min(MOST, settled.output)
  to[at + AT.cached] = Math.min(MOST, settled.cached)
  const cost = chargedNano(settled.cost, facts)
  to[at + AT.dollars] = Math.min(MOST, Math.floor(cost / NANO))
  to[at + AT.nano] = cost % NANO
  const { first, whole } = ANSWERED.includes(settled.status) ? times(facts) : NO_TIMES
  to[at + AT.first] = first === undefined ? 0 : Math.min(MOST, Math.round(first) + 1)
  to[at + AT.whole] = whole === undefined ? 0 : Math.min(MOST, Math.round(whole) + 1)
  to[at + AT.buckets] = durationBucket(first ?? 0) * BUCKET_SHIFT + durationBucket(whole ?? 0)
  to[at + AT.sequence] = hold.seq - start
}

const NO_TIMES = { first: undefined, whole: undefined }

/** Milliseconds from the admission: to the first content, and to the end. */
function times({ latency, generation_time: end }: JsonObject): { first: number | undefined; whole: number | undefined } {
  return { first: duration(latency), whole: duration(end) }
}

const duration = (value: Json | undefined): number | undefined => (typeof value === 'number' && value >= 0 ? value : undefined)

/** Of earlier programs some are no JSON. */
function readFacts(settled: NonNullable<GenerationRecord['settled']>): JsonObject {
  try {
    return parseFacts(settled)
  } catch {
    return {}
  }
}

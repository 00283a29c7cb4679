/** Rows of sums of use, as SQLite returns them and as they stand in memory. */
import type { SQLOutputValue } from 'node:sqlite'
import { BY_DAY } from '../core/ledger-counts.ts'
import { dayCountsAt, dayCountsFrom } from '../core/row-counts.ts'
import type { UseRow } from '../ledger/types.ts'
import { DAY_MS, HOUR_MS, NANO } from './rows.ts'
import { integer, text } from './sqlite.ts'
import type { UseSum } from './sqlite-rollups.ts'

type Row = Readonly<Record<string, SQLOutputValue>>

function joinCost(dollars: number, nano: number): bigint {
  const cost = dollars * NANO + nano
  return Number.isSafeInteger(cost) ? BigInt(cost) : BigInt(dollars) * BigInt(NANO) + BigInt(nano)
}

/** Names that are read next come in one piece with those before: of the thousands of sums of a day each has the same few. */
const MAX_NAMES = 1_000
const names = new Map<string, string>()

function columnName(value: SQLOutputValue | undefined): string {
  const name = text(value)
  const known = names.get(name)
  if (known !== undefined) return known
  if (names.size >= MAX_NAMES) names.clear()
  names.set(name, name)
  return name
}

/** Column in which the counts begin, in a row of `keyUseFrom`. */
const FIRST_COUNT = 10

/**
 * Thousands of rows are lists of values: objects of names take five times the memory, which V8 copies while they live.
 * @param row key, day, model, endpoint, provider, answered, failed (or null), requests, dollars, nano, the counts by day, saved.
 */
export function keyUseFrom(row: readonly (SQLOutputValue | undefined)[]): UseRow {
  const [key, day, model, endpoint, provider, answered, failed, requests, dollars, nano] = row
  const use: { -readonly [Name in keyof UseRow]: UseRow[Name] } = {
    ...dayCountsAt(row, FIRST_COUNT, integer),
    key: columnName(key),
    day: integer(day) * DAY_MS,
    model: columnName(model),
    endpoint: columnName(endpoint),
    provider: columnName(provider),
    answered: answered === 1,
    requests: integer(requests),
    cost: joinCost(integer(dollars), integer(nano)),
    cacheSaved: Number(row[FIRST_COUNT + BY_DAY.length]),
  }
  if (typeof failed === 'number') use.failed = failed
  return use
}

/** @param row with `key` where keys stand apart. */
export function useFrom(row: Row): UseRow {
  const { key } = row
  return {
    ...dayCountsFrom(row, integer),
    ...(key === undefined ? {} : { key: columnName(key) }),
    day: integer(row.day) * DAY_MS,
    model: columnName(row.model),
    endpoint: columnName(row.endpoint),
    provider: columnName(row.provider),
    answered: row.answered === 1,
    requests: integer(row.requests),
    cost: joinCost(integer(row.dollars), integer(row.nano)),
    cacheSaved: Number(row.saved),
  }
}

/** @param byKey with the key. */
export function toUseRow(sum: UseSum, byKey = false): UseRow {
  const { hour, key, model, endpoint, provider, status, count, dollars, nano, saved } = sum
  const cost = BigInt(dollars) * BigInt(NANO) + BigInt(nano)
  const answered = status !== 'failed' && status !== 'unknown'
  const day = Math.floor((hour * HOUR_MS) / DAY_MS) * DAY_MS
  return {
    ...dayCountsFrom(sum, Number),
    ...(byKey ? { key } : {}),
    ...{ day, model, endpoint, provider, answered, requests: count, cost, cacheSaved: saved },
  }
}

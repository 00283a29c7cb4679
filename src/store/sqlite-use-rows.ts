/** Rows of sums of use, as SQLite returns them and as they stand in memory. */
import type { SQLOutputValue } from 'node:sqlite'
import type { UseRow } from '../ledger/types.ts'
import { DAY_MS, HOUR_MS, NANO } from './rows.ts'
import { integer, text } from './sqlite.ts'
import type { UseSum } from './sqlite-rollups.ts'

type Row = Readonly<Record<string, SQLOutputValue>>

function costOf(row: Row): bigint {
  const [dollars, nano] = [integer(row.dollars), integer(row.nano)]
  const cost = dollars * NANO + nano
  return Number.isSafeInteger(cost) ? BigInt(cost) : BigInt(dollars) * BigInt(NANO) + BigInt(nano)
}

/** Names that are read next come in one piece with those before: of the thousands of sums of a day each has the same few. */
const MOST_NAMES = 1_000
const names = new Map<string, string>()

function nameOf(value: SQLOutputValue | undefined): string {
  const name = text(value)
  const known = names.get(name)
  if (known !== undefined) return known
  if (names.size >= MOST_NAMES) names.clear()
  names.set(name, name)
  return name
}

/** @param row with `failed` where it joins generations that failed with others, with `key` where keys stand apart. */
export function useFrom(row: Row): UseRow {
  const { failed, key } = row
  return {
    ...(key === undefined ? {} : { key: nameOf(key) }),
    day: integer(row.day) * DAY_MS,
    model: nameOf(row.model),
    endpoint: nameOf(row.endpoint),
    provider: nameOf(row.provider),
    answered: row.answered === 1,
    requests: integer(row.requests),
    cost: costOf(row),
    input: integer(row.input),
    output: integer(row.output),
    reasoning: integer(row.reasoning),
    cacheSaved: Number(row.saved),
    ...(failed === undefined ? {} : { failed: integer(failed) }),
  }
}

/** @param byKey with the key. */
export function useOf(sum: UseSum, byKey = false): UseRow {
  const { hour, key, model, endpoint, provider, status, count, dollars, nano, input, output, reasoning, saved } = sum
  const cost = BigInt(dollars) * BigInt(NANO) + BigInt(nano)
  const answered = status !== 'failed' && status !== 'unknown'
  const day = Math.floor((hour * HOUR_MS) / DAY_MS) * DAY_MS
  return {
    ...(byKey ? { key } : {}),
    ...{ day, model, endpoint, provider, answered, requests: count, cost, input, output, reasoning, cacheSaved: saved },
  }
}

/** GET /v1/activity: the last 30 full UTC days by model, endpoint and provider, from the ledger. */

import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { BY_DAY } from '../core/ledger-counts.ts'
import { usd } from '../core/money.ts'
import { WORKSPACE } from '../core/workspace.ts'
import type { LedgerLists } from '../ledger/reader.ts'
import type { ByokUseQuery, UseRow } from '../ledger/types.ts'
import { addUse, DAY_MS } from '../ledger/use.ts'
import { type ByokSum, plus } from './byok-use.ts'
import { shownCounts } from './count-fields.ts'
import { allKeys, type KeySource } from './key-entry.ts'
import { choice, keyHash, type QueryParameter, text } from './parameters.ts'
import { type ApiReply, ok } from './reply.ts'

export interface ActivitySource extends KeySource {
  readonly scans: LedgerLists
}

const DAYS = 30

/** A UTC day: its start, milliseconds since the epoch. @param expected what an error says. */
export function day(name: string, description: string, expected = 'expected a UTC day such as 2027-01-31'): QueryParameter<number> {
  const read = (query: URLSearchParams): number | undefined => {
    const text = query.get(name)
    if (text === null || text === '') return undefined
    const found = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN
    if (!(found >= 0) || isoDay(found) !== text) throw badField(name, expected)
    return found
  }
  return { name, in: 'query', description, schema: { type: 'string', format: 'date' }, read }
}

const LAST_DAYS = `expected a day such as 2027-01-31, one of the last ${DAYS} that are over (UTC)`
const date = day('date', 'Only this UTC day.', LAST_DAYS)
const ofKey = keyHash('Only this key.')
const ofUser = text('user_id', 'Only keys made for this user.')
const groupBy = choice('group_by', 'Adds the workspace to each row.', ['workspace'], 'workspace')
const workspace = text('workspace_id', 'Only this workspace.')
export const ACTIVITY_QUERY = [date, ofKey, ofUser, groupBy, workspace]

/**
 * One row for each day (of the admission, UTC), model, endpoint and provider; the latest day first.
 * Requests that are still open are left out. Figures of the last two days, and of single keys, may be five minutes old.
 * @param query with `ACTIVITY_QUERY`. @throws Fault 400 naming the query parameter.
 */
export async function readActivity(query: URLSearchParams, source: ActivitySource): Promise<ApiReply> {
  const { from, until } = wantedDays(query, source.clock.now())
  const byWorkspace = groupBy.read(query) !== undefined
  const keys = await keyFilter(query, source)
  const here = (workspace.read(query) ?? WORKSPACE) === WORKSPACE
  const sums = here ? merged(await source.scans.use({ from, until, ...(keys ? { keys } : {}) })) : []
  const byok = here ? await byokByRow({ from, until, keys }, source) : NO_ROWS
  sums.sort(([a, one], [b, other]) => other.day - one.day || (a < b ? -1 : 1))
  return ok({
    data: sums.map(([, row]) => ({ ...dayEntry(row, byok.get(useRowName(row))), ...(byWorkspace ? { workspace_id: WORKSPACE } : {}) })),
  })
}

/** Sums of keys of teams; each row of activity has those of its day, model, endpoint and provider. */
interface ByokRow extends ByokSum {
  readonly requests: number
}

const NO_ROWS: ReadonlyMap<string, ByokRow> = new Map()

async function byokByRow(query: ByokUseQuery, { ledger }: ActivitySource): Promise<ReadonlyMap<string, ByokRow>> {
  const sums = new Map<string, ByokRow>()
  for (const row of (await ledger?.byokUse(query)) ?? []) {
    // A query by key is one of the key itself, not of those that it has issued.
    if (query.keys && !query.keys.includes(row.key)) continue
    const sum = sums.get(useRowName(row)) ?? { upstream: 0n, counted: 0n, requests: 0 }
    sums.set(useRowName(row), { ...plus(sum, row), requests: sum.requests + row.requests })
  }
  return sums
}

const useRowName = ({ day, model, endpoint, provider }: Pick<UseRow, 'day' | 'model' | 'endpoint' | 'provider'>): string =>
  [day, model, endpoint, provider].join('\n')

/** Each sum with its name. Requests that failed count as well. */
function merged(rows: readonly UseRow[]): [string, UseRow][] {
  const sums = new Map<string, UseRow>()
  for (const row of rows) {
    const name = useRowName(row)
    const sum = sums.get(name)
    sums.set(name, sum ? addUse(sum, row) : row)
  }
  return [...sums]
}

function dayEntry(row: UseRow, byok: ByokRow | undefined): JsonObject {
  return {
    date: isoDay(row.day),
    model: row.model,
    model_permaslug: row.model,
    endpoint_id: row.endpoint,
    provider_name: row.provider,
    usage: usd(row.cost - (byok?.counted ?? 0n)),
    byok_usage_inference: usd(byok?.upstream ?? 0n),
    requests: row.requests,
    byok_requests: byok?.requests ?? 0,
    ...shownCounts(BY_DAY, row),
    cache_discount: usd(row.cacheSaved),
  }
}

/** Today is not over, so it is left out. */
function wantedDays(query: URLSearchParams, now: number): { from: number; until: number } {
  const today = Math.floor(now / DAY_MS) * DAY_MS
  const oldest = today - DAYS * DAY_MS
  const from = date.read(query)
  if (from === undefined) return { from: oldest, until: today }
  if (!(from >= oldest && from < today)) throw badField('date', LAST_DAYS)
  return { from, until: from + DAY_MS }
}

/** The day that was written last: lists have thousands of rows of one. */
let written = { day: 0, text: '1970-01-01' }

export function isoDay(day: number): string {
  if (day !== written.day) written = { day, text: new Date(day).toISOString().slice(0, 10) }
  return written.text
}

/** @returns identities, or undefined for all keys. */
async function keyFilter(query: URLSearchParams, source: ActivitySource): Promise<string[] | undefined> {
  const hash = ofKey.read(query)
  const user = ofUser.read(query)
  if (!hash && !user) return undefined
  const keys = await allKeys(source)
  const made = user ? keys.filter((key) => 'creator' in key && key.creator === user).map((key) => key.identity) : undefined
  if (!hash) return made
  // A key that is gone is known by the hash that it was made with.
  const identity = keys.find((key) => key.hash === hash)?.identity ?? hash
  return made && !made.includes(identity) ? [] : [identity]
}

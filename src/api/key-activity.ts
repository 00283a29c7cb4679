/** GET /v1/activity/keys: who has spent what, by key and day, model and provider. */

import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { BY_DAY } from '../core/ledger-counts.ts'
import { usd } from '../core/money.ts'
import { Ordered } from '../ledger/ordered.ts'
import { Pace } from '../ledger/pace.ts'
import type { UseGroup, UseQuery, UseRow } from '../ledger/types.ts'
import { DAY_MS } from '../ledger/use.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import { type ActivitySource, day, isoDay } from './activity.ts'
import { shownCounts } from './count-fields.ts'
import type { DescribedParameter } from './described-operation.ts'
import { allKeys } from './key-entry.ts'
import { integer, keyHash, list, position, text } from './parameters.ts'
import { type ApiReply, ok } from './reply.ts'

/** Days of a period: the usual number with today, and the most. */
const USUAL_DAYS = 30
const MAX_DAYS = 31
export const MAX_SUMS = 10_000
const USUAL_ROWS = 1_000
/** Rows that `offset` may skip: they are read. */
const MAX_SKIPPED = 10_000
/** Characters; names of models and providers are far shorter. */
const MAX_CURSOR_LENGTH = 4_000
/** Sums that are wanted of one reading, which takes more days where these have few. */
const READING = 5_000
/** Rows of the reply that are made at once. */
const SLICE = 500
const GROUPS: readonly UseGroup[] = ['day', 'model', 'provider']

const since = day('since', 'The first day; 30 days with the last one without it, 31 at most.')
const until = day('until', 'The last day; today without it.')
const hash = keyHash('Only this key.')
const model = text('model', 'Only this model.')
const provider = text('provider', 'Only the provider of this name.')
const grouping = 'Some of day, model and provider, separated by commas; all without it. Keys always stand apart.'
const groupBy = list('group_by', grouping, 'day,model')
const skipped = integer('offset', 'Rows to skip, at most 10,000: further pages are read with `cursor`.', { example: 0 })
const rows = integer('limit', 'Rows at most; 1000 without it.', { least: 1, most: MAX_SUMS, example: USUAL_ROWS })
export const KEY_ACTIVITY_QUERY: readonly DescribedParameter[] = [
  ...[since, until, hash, model, provider, groupBy, position],
  // More are refused with the way to read on.
  { ...skipped, schema: { ...skipped.schema, maximum: MAX_SKIPPED } },
  rows,
]

/**
 * The sums of settled requests by the day of their admission, the latest day first and on each day the most spent first.
 * @param query with `KEY_ACTIVITY_QUERY`. @throws Fault 400 naming the query parameter.
 */
export async function readKeyActivity(query: URLSearchParams, source: ActivitySource): Promise<ApiReply> {
  const { from, until } = wantedPeriod(query, source.clock.now())
  const groups = wantedGroups(query)
  const offset = offsetIn(query)
  const limit = rows.read(query) ?? USUAL_ROWS
  const after = positionIn(query)
  const named = hash.read(query)
  const keys = await allKeys(source)
  // A key that is gone is known by the hash that it was made with.
  const wanted = named === undefined ? undefined : [keys.find((key) => key.hash === named)?.identity ?? named]
  const sought = { model: model.read(query), provider: provider.read(query) }
  const use = {
    from,
    until,
    byKey: true,
    apart: GROUPS.filter((group) => groups.has(group)),
    ...(wanted ? { keys: wanted } : {}),
    ...sought,
  }
  const pace = Pace.ofList()
  // One more than is shown, so that it is known whether there are more.
  const shown = await listSums({ use, after, offset, most: limit + 1 }, source.scans, pace)
  const byIdentity = new Map(keys.map((key) => [key.identity, key]))
  const data: JsonObject[] = []
  for (let at = 0; at < Math.min(limit, shown.length); at += SLICE) {
    for (const sum of shown.slice(at, Math.min(limit, at + SLICE))) data.push(sumEntry(sum, groups, byIdentity.get(sum.key ?? '')))
    if (pace.over) await pace.rest()
  }
  const last = shown.length > limit ? shown.at(-2) : undefined
  return ok({
    data,
    has_more: last !== undefined,
    next: last ? encodePosition(last) : null,
    since: isoDay(from),
    until: isoDay(until - DAY_MS),
  })
}

interface Listing {
  readonly use: UseQuery & { readonly apart: readonly UseGroup[] }
  readonly after: Position | undefined
  readonly offset: number
  readonly most: number
}

/** The sums of a page in their order. Days are read as far as the page needs them. */
async function listSums({ use, after, offset, most }: Listing, scans: ActivitySource['scans'], pace: Pace): Promise<UseRow[]> {
  const { from, until, apart, keys } = use
  const shown: UseRow[] = []
  let before = 0
  // A day of all keys may have thousands of sums, all days of one key have few. Days come in the order of the reply.
  const inParts = apart.includes('day') && !keys
  let days = inParts ? 1 : (until - from) / DAY_MS
  for (let end = inParts && after ? Math.min(until, after.day + DAY_MS) : until; end > from && shown.length < most; ) {
    const begin = Math.max(from, end - days * DAY_MS)
    const sums = await scans.use({ ...use, from: begin, until: end })
    pace.waited()
    // To look for a position costs less than to sort what lies before it.
    const behind = after ? sums.filter((sum) => order(after, sum) < 0) : sums
    // Without days all have the day 0.
    for (const [, ofDay] of [...Map.groupBy(behind, ({ day }) => day)].sort(([a], [b]) => b - a)) {
      if (pace.over) await pace.rest()
      const ordered = new Ordered(ofDay, costIn, order)
      shown.push(...ordered.slice({ offset: Math.max(0, offset - before), limit: most - shown.length }))
      before += ofDay.length
    }
    const wanted = Math.min(READING, offset + most - before)
    days = Math.max(1, Math.min(2 * days, Math.floor((wanted * days) / Math.max(1, sums.length))))
    end = begin
    if (pace.over) await pace.rest()
  }
  return shown
}

/** @throws Fault 400. */
function offsetIn(query: URLSearchParams): number {
  const offset = skipped.read(query) ?? 0
  if (offset > MAX_SKIPPED) throw badField('offset', `expected at most ${MAX_SKIPPED}: read on with \`cursor\`, the \`next\` of a reply`)
  return offset
}

type Position = Pick<UseRow, 'day' | 'cost' | 'key' | 'model' | 'provider'>

const encodePosition = ({ day, cost, key, model, provider }: Position): string =>
  Buffer.from(JSON.stringify([day, String(cost), key, model, provider])).toString('base64url')

/** @throws Fault 400: a position that the caller has changed may be anywhere, but must be one. */
function positionIn(query: URLSearchParams): Position | undefined {
  const text = position.read(query)
  if (text === undefined) return undefined
  const found = text.length > MAX_CURSOR_LENGTH ? undefined : positionFrom(Buffer.from(text, 'base64url').toString())
  if (found === undefined) throw badField('cursor', 'expected the `next` of an earlier reply')
  return found
}

function positionFrom(text: string): Position | undefined {
  try {
    const [day, cost, key, model, provider] = JSON.parse(text) as unknown[]
    // Only whole days have sums.
    if (!Number.isSafeInteger(day) || Number(day) % DAY_MS !== 0 || typeof cost !== 'string' || !/^-?\d{1,30}$/.test(cost)) return undefined
    if (typeof key !== 'string' || typeof model !== 'string' || typeof provider !== 'string') return undefined
    return { day: Number(day), cost: BigInt(cost), key, model, provider }
  } catch {
    return undefined
  }
}

const costIn = ({ cost }: UseRow): number => Number(cost)

const positionText = ({ key, model, provider }: Position): string => `${key ?? ''}\n${model}\n${provider}`

/** Below 0 where `a` comes first: the latest day does, and of a day the most spent. */
function order(a: Position, b: Position): number {
  if (a.day !== b.day) return b.day - a.day
  if (a.cost !== b.cost) return a.cost < b.cost ? 1 : -1
  const [left, right] = [positionText(a), positionText(b)]
  return left < right ? -1 : left > right ? 1 : 0
}

function sumEntry(sum: UseRow, groups: ReadonlySet<UseGroup>, key: Pick<ApiKey, 'hash' | 'name'> | undefined): JsonObject {
  return {
    ...(groups.has('day') ? { date: isoDay(sum.day) } : {}),
    ...(groups.has('model') ? { model: sum.model } : {}),
    ...(groups.has('provider') ? { provider_name: sum.provider } : {}),
    usage: usd(sum.cost),
    requests: sum.requests,
    failed_requests: sum.failed ?? 0,
    ...shownCounts(BY_DAY, sum),
    cache_discount: usd(sum.cacheSaved),
    api_key_hash: key?.hash ?? sum.key ?? '',
    api_key_name: key?.name ?? null,
  }
}

/** Days that are named are counted both. */
function wantedPeriod(query: URLSearchParams, now: number): { from: number; until: number } {
  const today = Math.floor(now / DAY_MS) * DAY_MS
  const last = until.read(query) ?? today
  const from = since.read(query) ?? last - (USUAL_DAYS - 1) * DAY_MS
  if (from > last || last - from >= MAX_DAYS * DAY_MS)
    throw badField('since', `expected a day not after \`until\`, ${MAX_DAYS} days at most`)
  return { from, until: last + DAY_MS }
}

function wantedGroups(query: URLSearchParams): ReadonlySet<UseGroup> {
  const named = groupBy.read(query)
  if (!named) return new Set(GROUPS)
  return new Set(
    named.map((name) => {
      const group = GROUPS.find((one) => one === name)
      if (!group) throw badField('group_by', `expected some of: ${GROUPS.join(', ')}`)
      return group
    }),
  )
}

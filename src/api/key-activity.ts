/** GET /v1/activity/keys: who has spent what, by key and day, model and provider. */
import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { usd } from '../core/money.ts'
import { Ordered } from '../ledger/ordered.ts'
import { Pace } from '../ledger/pace.ts'
import type { UseGroup, UseRow } from '../ledger/types.ts'
import { addUse, DAY_MS } from '../ledger/use.ts'
import { type ActivitySource, dayOf, isoDay } from './activity.ts'
import { allKeys } from './key-entry.ts'
import { integerOf, listOf } from './query.ts'
import { type ApiReply, ok } from './reply.ts'

/** Days of a period: the usual number with today, and the most. */
const USUAL_DAYS = 30
const MOST_DAYS = 31
const MOST_ROWS = 10_000
const USUAL_ROWS = 1_000
/** Rows that `offset` may skip: they are read. */
const MOST_SKIPPED = 10_000
/** Characters; names of models and providers are far shorter. */
const LONGEST_CURSOR = 4_000
/** Sums of the ledger that are added up at once. */
const SLICE = 1_000
const GROUPS: readonly UseGroup[] = ['day', 'model', 'provider']

/**
 * The sums of settled requests by the day of their admission, the latest day first and on each day the most spent first.
 * @param query with `since`, `until`, `api_key_hash`, `model`, `provider`, `group_by`, `cursor`, `offset`, `limit`.
 * @throws Fault 400 naming the query parameter.
 */
export async function readKeyActivity(query: URLSearchParams, source: ActivitySource): Promise<ApiReply> {
  const { from, until } = periodOf(query, source.clock.now())
  const groups = groupsOf(query)
  const offset = offsetIn(query)
  const limit = integerOf(query, 'limit', 1, MOST_ROWS) ?? USUAL_ROWS
  const after = positionIn(query)
  const hash = query.get('api_key_hash') || undefined
  if (hash !== undefined && !/^[0-9a-f]{64}$/.test(hash)) throw badField('api_key_hash', 'expected 64 hexadecimal digits in lower case')
  const keys = await allKeys(source)
  // A key that is gone is known by the hash that it was made with.
  const wanted = hash === undefined ? undefined : [keys.find((key) => key.hash === hash)?.identity ?? hash]
  const filter = { groups, model: query.get('model') || undefined, provider: query.get('provider') || undefined }
  const apart = GROUPS.filter((group) => groups.has(group) || (group !== 'day' && filter[group] !== undefined))
  const shown: UseRow[] = []
  let before = 0
  const pace = Pace.ofList()
  // A day of all keys may have thousands of sums, all days of one key have few.
  const step = wanted || !groups.has('day') ? until - from : DAY_MS
  // Days come in the order of the reply.
  const first = after && step === DAY_MS ? Math.min(until, after.day + DAY_MS) : until
  for (let end = first; end > from && shown.length <= limit; end -= step) {
    const rows = await source.scans.use({ from: end - step, until: end, byKey: true, apart, ...(wanted ? { keys: wanted } : {}) })
    const sums = apart.every((group) => groups.has(group)) ? rows.filter((row) => isWanted(row, filter)) : await sumsOf(rows, filter, pace)
    // To look for a position costs less than to sort what lies before it.
    const behind = after ? sums.filter((sum) => order(after, sum) < 0) : sums
    if (pace.over) await pace.rest()
    const ordered = new Ordered(behind, groups.has('day') && step > DAY_MS ? dayIn : costIn, order)
    // One more than is shown, so that it is known whether there are more.
    shown.push(...ordered.slice({ offset: Math.max(0, offset - before), limit: limit + 1 - shown.length }))
    before += behind.length
    if (pace.over) await pace.rest()
  }
  const byIdentity = new Map(keys.map((key) => [key.identity, key]))
  const data = shown.slice(0, limit).map((sum) => {
    const key = byIdentity.get(sum.key ?? '')
    return { ...entryOf(sum, groups), api_key_hash: key?.hash ?? sum.key ?? '', api_key_name: key?.name ?? null }
  })
  // To write the reply is work of its own.
  if (pace.over) await pace.rest()
  const last = shown.length > limit ? shown.at(-2) : undefined
  return ok({
    data,
    has_more: last !== undefined,
    next: last ? positionOf(last) : null,
    since: isoDay(from),
    until: isoDay(until - DAY_MS),
  })
}

/** @throws Fault 400. */
function offsetIn(query: URLSearchParams): number {
  const offset = integerOf(query, 'offset', 0, Number.MAX_SAFE_INTEGER) ?? 0
  if (offset > MOST_SKIPPED) throw badField('offset', `expected at most ${MOST_SKIPPED}: read on with \`cursor\`, the \`next\` of a reply`)
  return offset
}

type Position = Pick<UseRow, 'day' | 'cost' | 'key' | 'model' | 'provider'>

const positionOf = ({ day, cost, key, model, provider }: Position): string =>
  Buffer.from(JSON.stringify([day, String(cost), key, model, provider])).toString('base64url')

/** @throws Fault 400: a position that the caller has changed may be anywhere, but must be one. */
function positionIn(query: URLSearchParams): Position | undefined {
  const text = query.get('cursor')
  if (text === null || text === '') return undefined
  const position = text.length > LONGEST_CURSOR ? undefined : positionFrom(Buffer.from(text, 'base64url').toString())
  if (position === undefined) throw badField('cursor', 'expected the `next` of an earlier reply')
  return position
}

function positionFrom(text: string): Position | undefined {
  try {
    const [day, cost, key, model, provider] = JSON.parse(text) as unknown[]
    // Only whole days have sums.
    if (!Number.isSafeInteger(day) || Number(day) % DAY_MS !== 0 || typeof cost !== 'string' || !/^\d{1,30}$/.test(cost)) return undefined
    if (typeof key !== 'string' || typeof model !== 'string' || typeof provider !== 'string') return undefined
    return { day: Number(day), cost: BigInt(cost), key, model, provider }
  } catch {
    return undefined
  }
}

type Filter = { readonly groups: ReadonlySet<UseGroup>; readonly model: string | undefined; readonly provider: string | undefined }

const isWanted = (row: UseRow, { model, provider }: Filter): boolean =>
  (model === undefined || row.model === model) && (provider === undefined || row.provider === provider)

/** The sums of the reply, where the rows stand apart by what it does not show. */
async function sumsOf(rows: readonly UseRow[], filter: Filter, pace: Pace): Promise<UseRow[]> {
  const sums = new Map<string, UseRow>()
  for (let at = 0; at < rows.length; at += SLICE) {
    for (const row of rows.slice(at, at + SLICE)) if (isWanted(row, filter)) addSum(sums, row, filter.groups)
    if (pace.over) await pace.rest()
  }
  return [...sums.values()]
}

function addSum(sums: Map<string, UseRow>, row: UseRow, groups: ReadonlySet<UseGroup>): void {
  const of = {
    ...row,
    day: groups.has('day') ? row.day : 0,
    model: groups.has('model') ? row.model : '',
    provider: groups.has('provider') ? row.provider : '',
  }
  const name = `${of.day}\n${textOf(of)}`
  const sum = sums.get(name)
  sums.set(name, sum ? addUse(sum, of) : of)
}

const dayIn = ({ day }: UseRow): number => day
const costIn = ({ cost }: UseRow): number => Number(cost)

const textOf = ({ key, model, provider }: Position): string => `${key ?? ''}\n${model}\n${provider}`

/** Below 0 where `a` comes first: the latest day does, and of a day the most spent. */
function order(a: Position, b: Position): number {
  if (a.day !== b.day) return b.day - a.day
  if (a.cost !== b.cost) return a.cost < b.cost ? 1 : -1
  const [left, right] = [textOf(a), textOf(b)]
  return left < right ? -1 : left > right ? 1 : 0
}

function entryOf(sum: UseRow, groups: ReadonlySet<UseGroup>): JsonObject {
  return {
    ...(groups.has('day') ? { date: isoDay(sum.day) } : {}),
    ...(groups.has('model') ? { model: sum.model } : {}),
    ...(groups.has('provider') ? { provider_name: sum.provider } : {}),
    usage: usd(sum.cost),
    requests: sum.requests,
    failed_requests: sum.failed ?? 0,
    prompt_tokens: sum.input,
    completion_tokens: sum.output,
    reasoning_tokens: sum.reasoning,
    cache_discount: usd(sum.cacheSaved),
  }
}

/** Days that are named are counted both. */
function periodOf(query: URLSearchParams, now: number): { from: number; until: number } {
  const today = Math.floor(now / DAY_MS) * DAY_MS
  const last = dayOf(query, 'until') ?? today
  const from = dayOf(query, 'since') ?? last - (USUAL_DAYS - 1) * DAY_MS
  if (from > last || last - from >= MOST_DAYS * DAY_MS)
    throw badField('since', `expected a day not after \`until\`, ${MOST_DAYS} days at most`)
  return { from, until: last + DAY_MS }
}

function groupsOf(query: URLSearchParams): ReadonlySet<UseGroup> {
  const named = listOf(query, 'group_by')
  if (!named) return new Set(GROUPS)
  return new Set(
    named.map((name) => {
      const group = GROUPS.find((one) => one === name)
      if (!group) throw badField('group_by', `expected some of: ${GROUPS.join(', ')}`)
      return group
    }),
  )
}

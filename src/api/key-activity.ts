/** GET /v1/activity/keys: who has spent what, by key and day, model and provider. */
import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { usd } from '../core/money.ts'
import { Pace } from '../ledger/pace.ts'
import type { UseRow } from '../ledger/types.ts'
import { DAY_MS } from '../ledger/use.ts'
import { type ActivitySource, dayOf, isoDay } from './activity.ts'
import { allKeys } from './key-entry.ts'
import { integerOf, listOf } from './query.ts'
import { type ApiReply, ok } from './reply.ts'

/** Days of a period: the usual number with today, and the most. */
const USUAL_DAYS = 30
const MOST_DAYS = 31
const MOST_ROWS = 10_000
/** Sums that are made at once: those of one day, or of the whole period where days do not stand apart. About 50 MB. */
const MOST_SUMS = 200_000
const USUAL_ROWS = 1_000
/** Sums of the ledger that are added up at once. */
const SLICE = 1_000
const GROUPS = ['day', 'model', 'provider'] as const
type Group = (typeof GROUPS)[number]

interface Sum {
  readonly key: string
  readonly day: number
  readonly model: string
  readonly provider: string
  requests: number
  failed: number
  cost: bigint
  input: number
  output: number
  reasoning: number
  cacheSaved: number
}

/**
 * The sums of settled requests by the day of their admission, the latest day first and on each day the most spent first.
 * @param query with `since`, `until`, `api_key_hash`, `model`, `provider`, `group_by`, `offset`, `limit`.
 * @throws Fault 400 naming the query parameter.
 */
export async function readKeyActivity(query: URLSearchParams, source: ActivitySource): Promise<ApiReply> {
  const { from, until } = periodOf(query, source.clock.now())
  const groups = groupsOf(query)
  const offset = integerOf(query, 'offset', 0, Number.MAX_SAFE_INTEGER) ?? 0
  const limit = integerOf(query, 'limit', 1, MOST_ROWS) ?? USUAL_ROWS
  const hash = query.get('api_key_hash') || undefined
  if (hash !== undefined && !/^[0-9a-f]{64}$/.test(hash)) throw badField('api_key_hash', 'expected 64 hexadecimal digits in lower case')
  const keys = await allKeys(source)
  // A key that is gone is known by the hash that it was made with.
  const wanted = hash === undefined ? undefined : [keys.find((key) => key.hash === hash)?.identity ?? hash]
  const filter = { groups, model: query.get('model') || undefined, provider: query.get('provider') || undefined }
  const sums = new Map<string, Sum>()
  const found: Sum[] = []
  const pace = new Pace()
  // One more than is shown, so that it is known whether there are more.
  // A day of all keys may have thousands of sums, all days of one key have few.
  const step = wanted ? until - from : DAY_MS
  for (let end = until; end > from && found.length <= offset + limit; end -= step) {
    const rows = await source.scans.use({ from: end - step, until: end, byKey: true, ...(wanted ? { keys: wanted } : {}) })
    for (let at = 0; at < rows.length; at += SLICE) {
      addSums(sums, rows.slice(at, at + SLICE), filter)
      if (pace.over) await pace.rest()
    }
    if (sums.size > MOST_SUMS)
      throw badField('since', `the period has more than ${MOST_SUMS} sums: name a shorter one, a key, or fewer groups`)
    // Days come in the order of the reply.
    if (!groups.has('day') && end - step > from) continue
    found.push(...inOrder(sums))
    sums.clear()
  }
  const byIdentity = new Map(keys.map((key) => [key.identity, key]))
  const data = found.slice(offset, offset + limit).map((sum) => {
    const key = byIdentity.get(sum.key)
    return { ...entryOf(sum, groups), api_key_hash: key?.hash ?? sum.key, api_key_name: key?.name ?? null }
  })
  return ok({ data, has_more: found.length > offset + limit, since: isoDay(from), until: isoDay(until - DAY_MS) })
}

function addSums(
  sums: Map<string, Sum>,
  rows: readonly UseRow[],
  { groups, model, provider }: { groups: ReadonlySet<Group>; model: string | undefined; provider: string | undefined },
): void {
  for (const row of rows) {
    if ((model !== undefined && row.model !== model) || (provider !== undefined && row.provider !== provider)) continue
    const of = {
      key: row.key ?? '',
      day: groups.has('day') ? row.day : 0,
      model: groups.has('model') ? row.model : '',
      provider: groups.has('provider') ? row.provider : '',
    }
    const name = `${of.key}\n${of.day}\n${of.model}\n${of.provider}`
    let sum = sums.get(name)
    if (!sum) {
      sum = { ...of, requests: 0, failed: 0, cost: 0n, input: 0, output: 0, reasoning: 0, cacheSaved: 0 }
      sums.set(name, sum)
    }
    sum.requests += row.requests
    if (!row.answered) sum.failed += row.requests
    sum.cost += row.cost
    sum.input += row.input
    sum.output += row.output
    sum.reasoning += row.reasoning
    sum.cacheSaved += row.cacheSaved
  }
}

/** The latest day first, and of a day the most spent. */
function inOrder(sums: ReadonlyMap<string, Sum>): Sum[] {
  const textOf = ({ key, model, provider }: Sum): string => `${key}\n${model}\n${provider}`
  return [...sums.values()].sort(
    (a, b) => b.day - a.day || (a.cost === b.cost ? (textOf(a) < textOf(b) ? -1 : 1) : a.cost < b.cost ? 1 : -1),
  )
}

function entryOf(sum: Sum, groups: ReadonlySet<Group>): JsonObject {
  return {
    ...(groups.has('day') ? { date: isoDay(sum.day) } : {}),
    ...(groups.has('model') ? { model: sum.model } : {}),
    ...(groups.has('provider') ? { provider_name: sum.provider } : {}),
    usage: usd(sum.cost),
    requests: sum.requests,
    failed_requests: sum.failed,
    prompt_tokens: sum.input,
    completion_tokens: sum.output,
    reasoning_tokens: sum.reasoning,
    cache_discount: usd(sum.cacheSaved),
  }
}

/** Days that are named are counted both. */
export function periodOf(query: URLSearchParams, now: number): { from: number; until: number } {
  const today = Math.floor(now / DAY_MS) * DAY_MS
  const last = dayOf(query, 'until') ?? today
  const from = dayOf(query, 'since') ?? last - (USUAL_DAYS - 1) * DAY_MS
  if (from > last || last - from >= MOST_DAYS * DAY_MS)
    throw badField('since', `expected a day not after \`until\`, ${MOST_DAYS} days at most`)
  return { from, until: last + DAY_MS }
}

export function groupsOf(query: URLSearchParams): ReadonlySet<Group> {
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

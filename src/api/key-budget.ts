/** GET /v1/keys/{hash}/budget: what a key may spend, has spent day by day, and when it will have spent it all. */
import { Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { usd } from '../core/money.ts'
import { windowEnd, windowStarts } from '../core/windows.ts'
import { DAY_MS } from '../ledger/use.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import { type ActivitySource, isoDay } from './activity.ts'
import { allKeys, amountsOf } from './key-entry.ts'
import { type ApiReply, ok } from './reply.ts'

/** Days that are shown, with today, and those whose pace the forecast goes by. */
const DAYS = 31
const PACE_DAYS = 7
/** Milliseconds: a limit that lasts longer than ten years has no end worth a date. */
const LONGEST_FORECAST = 3_650 * DAY_MS

/**
 * Amounts are USD. The spending of keys that it issued through sign-in counts as its own; that of issued keys which are gone is in
 * `used` and in no day. @throws Fault 404.
 */
export async function readKeyBudget(hash: string, source: ActivitySource): Promise<ApiReply> {
  const keys = await allKeys(source)
  const key = keys.find((each) => each.hash === hash)
  if (!key) throw new Fault('not_found', { message: 'No such key' })
  const now = source.clock.now()
  const { identity, issuer, limitReset } = key
  await source.credit.refresh?.(issuer ? [identity, issuer.identity] : [identity])
  const account = source.credit.account(identity, issuer?.identity)
  const used = account.counted(limitReset)
  const { limit, limit_remaining: remaining } = amountsOf(key, source.credit)
  const issued = keys.filter(({ consent }) => consent?.by === identity).map((each) => each.identity)
  const days = await daysOf([identity, ...issued], now, source)
  const window = limitReset ? { start: windowStarts(now)[limitReset], end: windowEnd(limitReset, now) } : undefined
  return ok({
    data: {
      hash,
      name: key.name,
      limit: limit ?? null,
      limit_reset: limitReset,
      window: { start: isoTime(window?.start), end: isoTime(window?.end) },
      used: usd(used),
      held: usd(account.held),
      remaining: remaining ?? null,
      days: days.map(({ day, cost, requests }) => ({ date: isoDay(day), usage: usd(cost), requests })),
      forecast: forecastOf({ key, used, days, now, end: window?.end }),
    },
  })
}

const isoTime = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString())

interface Day {
  readonly day: number
  cost: bigint
  requests: number
}

/** The oldest first, days without a request among them. */
async function daysOf(keys: string[], now: number, { scans }: ActivitySource): Promise<Day[]> {
  const until = Math.floor(now / DAY_MS) * DAY_MS + DAY_MS
  const from = until - DAYS * DAY_MS
  const days = Array.from({ length: DAYS }, (_, at): Day => ({ day: from + at * DAY_MS, cost: 0n, requests: 0 }))
  for (const { day, cost, requests } of await scans.use({ from, until, keys, byKey: true })) {
    const sum = days[(day - from) / DAY_MS]
    if (!sum) continue
    sum.cost += cost
    sum.requests += requests
  }
  return days
}

interface Spending {
  readonly key: ApiKey
  readonly used: bigint
  readonly days: readonly Day[]
  readonly now: number
  /** Of the window that the limit counts. */
  readonly end: number | undefined
}

/** Goes on at the pace of the last seven days, or of those since the first request where it is younger; one day at least. */
function forecastOf({ key, used, days, now, end }: Spending): JsonObject {
  const recent = days.slice(-PACE_DAYS)
  const first = recent.find(({ requests }) => requests > 0)
  const basis = first ? Math.max(1, (now - first.day) / DAY_MS) : 0
  let spent = 0n
  for (const { cost } of recent) spent += cost
  const perDay = basis === 0 ? 0 : Number(spent) / basis
  const left = key.limit === null ? undefined : key.limit - Number(used)
  const runsOut = left === undefined ? undefined : left <= 0 ? now : perDay === 0 ? undefined : now + (left / perDay) * DAY_MS
  const inTime = runsOut !== undefined && runsOut < (end ?? now + LONGEST_FORECAST)
  return {
    per_day: usd(Math.round(perDay)),
    basis_days: Math.round(basis * 100) / 100,
    used_at_end: end === undefined ? null : usd(Math.round(Number(used) + (perDay * (end - now)) / DAY_MS)),
    runs_out_at: inTime ? new Date(runsOut).toISOString() : null,
  }
}

/**
 * Forecast of when a key reaches its limit at the pace of its last days: one computation for the budget of a key and for the list of keys.
 */

import { asFault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { usd } from '../core/money.ts'
import { windowEnd } from '../core/windows.ts'
import { keyPayer } from '../ledger/payer.ts'
import { DAY_MS } from '../ledger/use.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { ActivitySource } from './activity.ts'

/** Days by whose pace it goes, with today. */
const PACE_DAYS = 7
/** Milliseconds: a limit that lasts longer than ten years has no end worth a date. */
const MAX_FORECAST_MS = 3_650 * DAY_MS
/** Keys whose days are read at once by their names; the days of more are read with those of all keys. */
const MAX_NAMED = 500
/** Keys with a limit that a list forecasts: seven sums for each of them. */
const MAX_FORECAST = 20_000

export interface Day {
  readonly day: number
  cost: bigint
  requests: number
}

/** The last days of each key, the oldest first, days without a request among them, and today last. What issued keys spent is their issuer's. */
export async function sumDays(
  keys: readonly ApiKey[],
  all: readonly ApiKey[],
  count: number,
  { clock, scans }: Pick<ActivitySource, 'clock' | 'scans'>,
): Promise<(key: ApiKey) => readonly Day[]> {
  const until = Math.floor(clock.now() / DAY_MS) * DAY_MS + DAY_MS
  const from = until - count * DAY_MS
  const none = (): Day[] => Array.from({ length: count }, (_, at) => ({ day: from + at * DAY_MS, cost: 0n, requests: 0 }))
  const days = new Map(keys.map(({ identity }) => [identity, none()]))
  const issuers = new Map(all.flatMap(({ identity, consent }) => (consent && days.has(consent.by) ? [[identity, consent.by]] : [])))
  const named = [...new Set([...days.keys(), ...issuers.keys()])]
  const use = await scans.use({ from, until, byKey: true, apart: ['day'], ...(named.length <= MAX_NAMED ? { keys: named } : {}) })
  for (const { key = '', day, cost, requests } of use)
    for (const identity of [key, issuers.get(key)]) {
      const sum = identity === undefined ? undefined : days.get(identity)?.[(day - from) / DAY_MS]
      if (!sum) continue
      sum.cost += cost
      sum.requests += requests
    }
  return ({ identity }) => days.get(identity) ?? none()
}

/** The forecast of each key that has a limit; empty where more have one than a list forecasts, or the ledger cannot be read at present. */
export async function forecasts(
  keys: readonly ApiKey[],
  all: readonly ApiKey[],
  source: Pick<ActivitySource, 'clock' | 'scans' | 'credit'>,
): Promise<ReadonlyMap<ApiKey, JsonObject>> {
  const limited = keys.filter(({ limit }) => limit !== null)
  if (limited.length === 0 || limited.length > MAX_FORECAST) return new Map()
  const of = await sumDays(limited, all, PACE_DAYS, source).catch((thrown: unknown) => {
    // The list is there without them: a limit has to be changed just then.
    if (asFault(thrown).code === 'unavailable') return undefined
    throw thrown
  })
  return new Map(of && limited.map((key) => [key, keyForecast(key, of(key), source)]))
}

/**
 * Goes on at the pace of the last seven days, or of those since the first request where it is younger; one day at least.
 * @param days the last ones, the oldest first and today last.
 */
export function keyForecast(key: ApiKey, days: readonly Day[], { clock, credit }: Pick<ActivitySource, 'clock' | 'credit'>): JsonObject {
  const now = clock.now()
  const used = credit.account(key.identity, keyPayer(key)).counted(key.limitReset)
  const end = key.limitReset ? windowEnd(key.limitReset, now) : undefined
  const recent = days.slice(-PACE_DAYS)
  const first = recent.find(({ requests }) => requests > 0)
  const basis = first ? Math.max(1, (now - first.day) / DAY_MS) : 0
  let spent = 0n
  for (const { cost } of recent) spent += cost
  const perDay = basis === 0 ? 0 : Number(spent) / basis
  const left = key.limit === null ? undefined : key.limit - Number(used)
  const runsOut = left === undefined ? undefined : left <= 0 ? now : perDay === 0 ? undefined : now + (left / perDay) * DAY_MS
  const inTime = runsOut !== undefined && runsOut < (end ?? now + MAX_FORECAST_MS)
  return {
    per_day: usd(Math.round(perDay)),
    basis_days: Math.round(basis * 100) / 100,
    used_at_end: end === undefined ? null : usd(Math.round(Number(used) + (perDay * (end - now)) / DAY_MS)),
    runs_out_at: inTime ? new Date(runsOut).toISOString() : null,
  }
}

/** GET /v1/keys/{hash}/budget: what a key may spend, has spent day by day, and when it will have spent it all. */
import { Fault } from '../core/faults.ts'
import { usd } from '../core/money.ts'
import { windowEnd, windowStarts } from '../core/windows.ts'
import { accountsOf, payerOf } from '../ledger/payer.ts'
import { type ActivitySource, isoDay } from './activity.ts'
import { allKeys, amountsOf } from './key-entry.ts'
import { daysOf, forecastOf } from './key-forecast.ts'
import { type ApiReply, ok } from './reply.ts'

/** Days that are shown, with today. */
const DAYS = 31

/**
 * Amounts are USD. The spending of keys that it issued through sign-in counts as its own; that of issued keys which are gone is in
 * `used` and in no day. @throws Fault 404.
 */
export async function readKeyBudget(hash: string, source: ActivitySource): Promise<ApiReply> {
  const keys = await allKeys(source)
  const key = keys.find((each) => each.hash === hash)
  if (!key) throw new Fault('not_found', { message: 'No such key' })
  const now = source.clock.now()
  const { identity, limitReset } = key
  await source.credit.refresh?.(accountsOf(key))
  const account = source.credit.account(identity, payerOf(key))
  const used = account.counted(limitReset)
  const { limit, limit_remaining: remaining } = amountsOf(key, source.credit)
  const days = (await daysOf([key], keys, DAYS, source))(key)
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
      forecast: forecastOf(key, days, source),
    },
  })
}

const isoTime = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString())

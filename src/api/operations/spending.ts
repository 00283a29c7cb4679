/** Spending by key. */
import { Type } from 'typebox'
import { Fault } from '../../core/faults.ts'
import { BY_DAY } from '../../core/ledger-counts.ts'
import { usd } from '../../core/money.ts'
import { WINDOWS, windowEnd, windowStarts } from '../../core/windows.ts'
import { keyAccounts, keyPayer } from '../../ledger/payer.ts'
import { type ActivitySource, isoDay } from '../activity.ts'
import { countFields } from '../count-fields.ts'
import { KEY_COLUMNS, USE_COLUMNS } from '../csv.ts'
import { KEY_ACTIVITY_QUERY, MAX_SUMS, readKeyActivity } from '../key-activity.ts'
import { allKeys, keyAmounts } from '../key-entry.ts'
import { keyForecast, sumDays } from '../key-forecast.ts'
import { hashIn } from '../keys.ts'
import { type Operation, operation } from '../operation.ts'
import { type ApiReply, ok } from '../reply.ts'
import { amount, count, forecast, maybe } from '../schemas.ts'
import { HASH } from './keys.ts'

const keyActivity = Type.Object({
  data: Type.Array(
    Type.Object({
      date: Type.Optional(Type.String({ description: 'A UTC day; absent where the sums are not by day, as the next two are.' })),
      model: Type.Optional(Type.String()),
      provider_name: Type.Optional(Type.String()),
      api_key_hash: Type.String(),
      api_key_name: maybe(Type.String({ description: 'Null for a key that is gone.' })),
      usage: amount('USD.'),
      requests: count(),
      failed_requests: count(),
      ...countFields(BY_DAY, () => count()),
      cache_discount: amount('USD that caches of the providers have saved; negative where writing to them cost more.'),
    }),
  ),
  has_more: Type.Boolean({ description: 'True where more sums follow.' }),
  next: maybe(Type.String({ description: 'The `cursor` of the next page; null at the end.' })),
  since: Type.String(),
  until: Type.String(),
})

const budget = Type.Object({
  data: Type.Object({
    hash: Type.String(),
    name: Type.String(),
    limit: maybe(amount('USD.')),
    limit_reset: maybe(Type.Enum([...WINDOWS])),
    window: Type.Object(
      { start: maybe(Type.String()), end: maybe(Type.String()) },
      { description: 'What the limit counts; null where it counts everything.' },
    ),
    used: amount('USD that the limit counts.'),
    held: amount('USD that open requests have reserved.'),
    remaining: maybe(amount('USD that may still be reserved; null without a limit.')),
    days: Type.Array(Type.Object({ date: Type.String(), usage: amount('USD.'), requests: count() }), {
      description: 'The last 31 UTC days, the oldest first and today last.',
    }),
    forecast,
  }),
})

/** Days that are shown, with today. */
const DAYS = 31

/**
 * Amounts are USD. The spending of keys that it issued through sign-in counts as its own; that of issued keys which are gone is in
 * `used` and in no day. @throws Fault 404.
 */
async function readKeyBudget(hash: string, source: ActivitySource): Promise<ApiReply> {
  const keys = await allKeys(source)
  const key = keys.find((each) => each.hash === hash)
  if (!key) throw new Fault('not_found', { message: 'No such key' })
  const now = source.clock.now()
  const { identity, limitReset } = key
  await source.credit.refresh?.(keyAccounts(key))
  const account = source.credit.account(identity, keyPayer(key))
  const used = account.counted(limitReset)
  const { limit, limit_remaining: remaining } = keyAmounts(key, source.credit)
  const days = (await sumDays([key], keys, DAYS, source))(key)
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
      forecast: keyForecast(key, days, source),
    },
  })
}

const isoTime = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString())

export const spendingOperations: readonly Operation[] = [
  operation('GET /activity/keys', {
    id: 'listKeyActivity',
    tag: 'Records',
    roles: ['viewer', 'billing'],
    summary: 'List spending by key, day, model and provider',
    description: 'Settled requests by the UTC day of their admission, the latest day first, and on each day the most spent first.',
    parameters: KEY_ACTIVITY_QUERY,
    reply: { description: 'Sums.', schema: keyActivity },
    faults: ['bad_request', 'unavailable'],
    csv: {
      name: 'activity-keys',
      columns: [...KEY_COLUMNS, 'date', 'model', 'provider_name', 'usage', 'requests', 'failed_requests', ...USE_COLUMNS],
      paging: { by: 'cursor', most: MAX_SUMS },
    },
    handle: ({ query }, source) => readKeyActivity(query, source),
  }),
  operation('GET /keys/{hash}/budget', {
    tag: 'Keys',
    roles: ['viewer', 'billing'],
    id: 'getKeyBudget',
    summary: 'Get the budget of a key',
    description: 'What it may spend, has spent day by day, and when it will have spent it all at its pace.',
    parameters: [{ ...HASH, description: 'Hash of the key.' }],
    reply: { description: 'The budget.', schema: budget },
    faults: ['not_found', 'unavailable'],
    handle: ({ path }, source) => readKeyBudget(hashIn(path), source),
  }),
]

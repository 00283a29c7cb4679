/** Spending by key. */
import { Type } from 'typebox'
import { Fault } from '../../core/faults.ts'
import { BY_DAY } from '../../core/ledger-counts.ts'
import { usd } from '../../core/money.ts'
import { WINDOWS, windowEnd, windowStarts } from '../../core/windows.ts'
import { keyAccounts, keyPayer } from '../../ledger/payer.ts'
import { type ActivitySource, isoDay } from '../activity.ts'
import { CHARGEBACK_CSV, CHARGEBACK_QUERY, readChargeback } from '../chargeback.ts'
import { countFields } from '../count-fields.ts'
import { KEY_COLUMNS, USE_COLUMNS } from '../csv.ts'
import { KEY_ACTIVITY_QUERY, MAX_SUMS, readKeyActivity } from '../key-activity.ts'
import { allKeys, keyAmounts } from '../key-entry.ts'
import { keyForecast, sumDays } from '../key-forecast.ts'
import { hashIn, keyNamed } from '../keys.ts'
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

const maybeText = (description: string) => Type.Optional(maybe(Type.String({ description })))

const charges = Type.Object({
  data: Type.Array(
    Type.Object({
      kind: Type.Enum(['usage', 'correction', 'refund', 'write_off'], { description: 'Requests, or an entry of the ledger.' }),
      date: Type.Optional(Type.String({ description: 'A UTC day; this and the next ones where they stand apart.' })),
      parent: maybeText('Shared budget that the key draws on now; null for none, and for a key that is gone.'),
      creator_user_id: maybeText('User for whom the key was made.'),
      api_key_hash: Type.Optional(Type.String({ description: 'Of a caller with a token: its identity.' })),
      api_key_name: maybeText('Null for a key that is gone, and for a caller with a token.'),
      app_title: maybeText('As the application has named itself; null for none, and for entries.'),
      session_id: maybeText('Null for none, and for entries.'),
      external_user: maybeText('As requests have named it; null for none, and for entries.'),
      model: maybeText('Null of entries without a generation.'),
      provider_name: maybeText('Null of entries without a generation.'),
      amount: Type.String({ description: 'USD as an exact decimal; below zero: given back.' }),
      amount_nano: Type.String({ description: 'The same in nano-dollars.' }),
      requests: count(),
      failed_requests: count(),
      ...countFields(BY_DAY, () => count()),
      entry_id: Type.Optional(Type.String()),
      entry_amount: Type.Optional(Type.String({ description: 'USD of the entry itself: a write-off moves none of them.' })),
      entry_created_at: Type.Optional(Type.String()),
      generation_id: maybeText('The generation that the entry is about.'),
      actor: Type.Optional(Type.String({ description: 'Who has made the entry.' })),
      reason: Type.Optional(Type.String()),
    }),
  ),
  total: Type.Object({
    amount: Type.String({ description: 'USD: the sum of all lines.' }),
    amount_nano: Type.String(),
    usage_nano: Type.String({ description: 'The part of requests.' }),
    entries_nano: Type.String({ description: 'The part of entries.' }),
    requests: count(),
  }),
  since: Type.String(),
  until: Type.String(),
})

/** Days that are shown, with today. */
const DAYS = 31

/**
 * Amounts are USD. The spending of keys that it issued through sign-in counts as its own; that of issued keys which are gone is in
 * `used` and in no day. @throws Fault 404.
 */
async function readKeyBudget(hash: string, source: ActivitySource): Promise<ApiReply> {
  const keys = await allKeys(source)
  const named = await keyNamed(hash, source)
  const key = keys.find((each) => each.hash === named)
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
  operation('GET /chargeback', {
    id: 'getChargeback',
    tag: 'Records',
    roles: ['viewer', 'billing'],
    summary: 'Get a charge-back of a period',
    description:
      'Who is to pay what, exact to the nano-dollar: sums of the requests that were admitted in the period, and a line for each correction, refund and write-off that counts in it. All lines are of one moment.',
    parameters: CHARGEBACK_QUERY,
    reply: { description: 'Lines in the order of their groups, and their sum.', schema: charges },
    faults: ['bad_request', 'unavailable'],
    csv: CHARGEBACK_CSV,
    handle: ({ query }, source) => readChargeback(query, source),
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

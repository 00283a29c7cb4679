/** Who spends what, described. */

import { type TSchema, Type } from 'typebox'
import { BY_DAY } from '../core/ledger-counts.ts'
import { countFields } from './count-fields.ts'
import type { DescribedOperation, DescribedParameter } from './openapi.ts'
import { forecast } from './openapi-schemas.ts'

const count = Type.Integer({ minimum: 0 })
const amount = (description = 'USD.') => Type.Number({ description })
const maybe = (schema: TSchema) => Type.Union([schema, Type.Null()])

const keyActivity = Type.Object({
  data: Type.Array(
    Type.Object({
      date: Type.Optional(Type.String({ description: 'A UTC day; absent where the sums are not by day, as the next two are.' })),
      model: Type.Optional(Type.String()),
      provider_name: Type.Optional(Type.String()),
      api_key_hash: Type.String(),
      api_key_name: maybe(Type.String({ description: 'Null for a key that is gone.' })),
      usage: amount(),
      requests: count,
      failed_requests: count,
      ...countFields(BY_DAY, () => count),
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
    limit: maybe(amount()),
    limit_reset: maybe(Type.Enum(['daily', 'weekly', 'monthly'])),
    window: Type.Object(
      { start: maybe(Type.String()), end: maybe(Type.String()) },
      { description: 'What the limit counts; null where it counts everything.' },
    ),
    used: amount('USD that the limit counts.'),
    held: amount('USD that open requests have reserved.'),
    remaining: maybe(amount('USD that may still be reserved; null without a limit.')),
    days: Type.Array(Type.Object({ date: Type.String(), usage: amount(), requests: count }), {
      description: 'The last 31 UTC days, the oldest first and today last.',
    }),
    forecast,
  }),
})

const day = (name: string, description: string) => ({ name, in: 'query' as const, description, schema: { type: 'string', format: 'date' } })
const hash = { type: 'string', pattern: '^[0-9a-f]{64}$' }

/** Of lists that are also sent as CSV. */
export const FORMAT: DescribedParameter = {
  name: 'format',
  in: 'query',
  description:
    '`csv` for a file of comma-separated values (RFC 4180) with all rows, or as many as `limit` says; `Accept: text/csv` does the same.',
  schema: { type: 'string', enum: ['json', 'csv'] },
  example: 'json',
}

export function spendingOperations(): DescribedOperation[] {
  return [
    {
      method: 'get',
      path: '/activity/keys',
      id: 'listKeyActivity',
      tag: 'Records',
      key: 'management',
      summary: 'List spending by key, day, model and provider',
      description: 'Settled requests by the UTC day of their admission, the latest day first, and on each day the most spent first.',
      parameters: [
        day('since', 'The first day; 30 days with the last one without it, 31 at most.'),
        day('until', 'The last day; today without it.'),
        { name: 'api_key_hash', in: 'query', description: 'Only this key.', schema: hash },
        { name: 'model', in: 'query', description: 'Only this model.', schema: { type: 'string' } },
        { name: 'provider', in: 'query', description: 'Only the provider of this name.', schema: { type: 'string' } },
        {
          name: 'group_by',
          in: 'query',
          description: 'Some of day, model and provider, separated by commas; all without it. Keys always stand apart.',
          schema: { type: 'string' },
          example: 'day,model',
        },
        { name: 'cursor', in: 'query', description: '`next` of an earlier reply.', schema: { type: 'string' } },
        {
          name: 'offset',
          in: 'query',
          description: 'Rows to skip, at most 10,000: further pages are read with `cursor`.',
          schema: { type: 'integer', minimum: 0, maximum: 10_000 },
          example: 0,
        },
        {
          name: 'limit',
          in: 'query',
          description: 'Rows at most; 1000 without it.',
          schema: { type: 'integer', minimum: 1, maximum: 10_000 },
          example: 1000,
        },
        FORMAT,
      ],
      reply: { description: 'Sums.', schema: keyActivity },
      faults: ['bad_request', 'unavailable'],
    },
    {
      method: 'get',
      path: '/keys/{hash}/budget',
      id: 'getKeyBudget',
      tag: 'Keys',
      key: 'management',
      summary: 'Get the budget of a key',
      description: 'What it may spend, has spent day by day, and when it will have spent it all at its pace.',
      parameters: [
        { name: 'hash', in: 'path', description: 'Hash of the key.', schema: hash, required: true, example: '0123456789abcdef'.repeat(4) },
      ],
      reply: { description: 'The budget.', schema: budget },
      faults: ['not_found', 'unavailable'],
    },
  ]
}

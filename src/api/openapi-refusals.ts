/** Requests that the gateway itself has refused, described. */
import { Type } from 'typebox'
import { FAULTS } from '../core/faults.ts'
import { KEY_REASONS } from '../store/refusals.ts'
import type { DescribedOperation, DescribedParameter } from './openapi.ts'
import { FORMAT } from './openapi-spending.ts'
import { MOST_REFUSALS } from './refusals.ts'

const orNull = <T extends ReturnType<typeof Type.String>>(schema: T) => Type.Union([schema, Type.Null()])
const count = Type.Integer({ minimum: 1 })

/** A caller who leaves is not refused, nor is one by a gateway that stops. */
const REASONS = [...Object.keys(FAULTS).filter((code) => code !== 'client_gone' && code !== 'shutdown'), ...KEY_REASONS]

/** As in `metadata.limit` of errors. */
const limit = {
  scope: orNull(Type.String({ description: 'Whose limit it was: `key`, `guardrail`, ….' })),
  kind: orNull(Type.String({ description: '`requests`, `tokens`, `streams`, `bytes`, `usd` or `models`.' })),
  per: orNull(Type.String({ description: '`minute`, `day`, `week` or `month`.' })),
}

const refusal = Type.Object(
  {
    api_key_hash: orNull(Type.String({ description: 'Null where the request had no key that is known.' })),
    api_key_name: orNull(Type.String()),
    minute: Type.String({ format: 'date-time', description: 'The minute that is counted.' }),
    reason: Type.Enum(REASONS, {
      description: 'Code of the error. `key_disabled` and `key_expired` are read by the caller as an unknown key.',
    }),
    status: Type.Integer({ minimum: 400, maximum: 599, description: 'HTTP status.' }),
    error_type: Type.String({ description: 'As in `error.metadata.error_type` of the reply.' }),
    count: Type.Integer({ ...count, description: 'Requests that were refused so at one process.' }),
    last_at: Type.String({ format: 'date-time' }),
    limits: Type.Array(Type.Object({ ...limit, count }), {
      description: 'How many of them each limit has refused; empty where the error names none.',
    }),
    latest: Type.Array(
      Type.Object({
        generation_id: orNull(Type.String({ description: 'As in the header `X-Generation-Id` of the reply.' })),
        at: Type.String({ format: 'date-time' }),
        operation: Type.String({ description: 'The format of the caller, or `pass-through`.' }),
        model: orNull(Type.String({ description: 'As the caller named it; null where the request was not read.' })),
        field: orNull(Type.String({ description: 'The field at fault.' })),
        message: Type.String({ description: 'What the caller read, at most 500 characters.' }),
        limit: Type.Union([Type.Object(limit), Type.Null()]),
      }),
      {
        description:
          'The last ones in full, at most 5, the newest first; of requests without a known key at most 20, with the usual message of the reason in place of their own texts.',
      },
    ),
  },
  { description: 'The refusals of one minute, one key and one reason at one process.' },
)

const query = (name: string, description: string, schema: DescribedParameter['schema'], example?: string | number): DescribedParameter => ({
  name,
  in: 'query',
  description,
  schema,
  ...(example === undefined ? {} : { example }),
})

export function refusalOperations(): DescribedOperation[] {
  return [
    {
      method: 'get',
      path: '/refusals',
      id: 'listRefusals',
      tag: 'Records',
      key: 'management',
      summary: 'List refused requests',
      description:
        'Requests that the gateway itself has refused: they were sent to no provider, cost nothing and have no record of a generation. They are counted by minute, key and reason, and kept for 32 days; without `since`, those of the last 24 hours are listed. No text of a request is kept.',
      parameters: [
        query('since', 'From this time (UTC) on.', { type: 'string' }),
        query('until', 'Before this time (UTC).', { type: 'string' }),
        query('api_key_hash', 'Hash of the key.', { type: 'string', pattern: '^[0-9a-f]{64}$' }),
        query('reason', 'One `reason`.', { type: 'string', pattern: '^[a-z_]{1,64}$' }, 'no_credit'),
        query('generation_id', 'The entry that has this request among its latest; other filters of time do not count then.', {
          type: 'string',
          maxLength: 80,
        }),
        query('limit', 'Entries per page at most; 50 without it.', { type: 'integer', minimum: 1, maximum: MOST_REFUSALS }, 50),
        query('cursor', '`next` of an earlier reply.', { type: 'string' }),
        FORMAT,
      ],
      reply: {
        description: 'A page, the newest first.',
        schema: Type.Object({
          data: Type.Array(refusal),
          next: orNull(Type.String({ description: 'The `cursor` of the next page; null at the end.' })),
        }),
      },
      faults: ['bad_request'],
    },
  ]
}

/** Requests that the gateway itself has refused. */
import { Type } from 'typebox'
import { FAULTS } from '../../core/faults.ts'
import { TOKEN_REFUSALS } from '../../core/token-refusals.ts'
import { KEY_REASONS } from '../../store/refusals.ts'
import { type Operation, operation } from '../operation.ts'
import { listRefusals, REFUSALS_CSV, REFUSALS_QUERY } from '../refusals.ts'
import { maybe } from '../schemas.ts'

const count = Type.Integer({ minimum: 1 })

/** A caller who leaves is not refused, nor is one by a gateway that stops. */
const REASONS = [...Object.keys(FAULTS).filter((code) => code !== 'client_gone' && code !== 'shutdown'), ...KEY_REASONS, ...TOKEN_REFUSALS]

/** As in `metadata.limit` of errors. */
const limit = {
  scope: maybe(Type.String({ description: 'Whose limit it was: `key`, `guardrail`, ….' })),
  kind: maybe(Type.String({ description: '`requests`, `tokens`, `streams`, `bytes`, `usd` or `models`.' })),
  per: maybe(Type.String({ description: '`minute`, `day`, `week` or `month`.' })),
}

const refusal = Type.Object(
  {
    api_key_hash: maybe(Type.String({ description: 'Null where the request had no key that is known.' })),
    api_key_name: maybe(Type.String()),
    minute: Type.String({ format: 'date-time', description: 'The minute that is counted.' }),
    reason: Type.Enum(REASONS, {
      description:
        'Code of the error. `key_disabled` and `key_expired` are read by the caller as an unknown key. Those that begin with `token_` are of tokens of identity providers.',
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
        generation_id: maybe(Type.String({ description: 'As in the header `X-Generation-Id` of the reply.' })),
        at: Type.String({ format: 'date-time' }),
        operation: Type.String({ description: 'The format of the caller, or `pass-through`.' }),
        model: maybe(Type.String({ description: 'As the caller named it; null where the request was not read.' })),
        field: maybe(Type.String({ description: 'The field at fault.' })),
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

export const refusalOperations: readonly Operation[] = [
  operation('GET /refusals', {
    id: 'listRefusals',
    tag: 'Records',
    roles: ['viewer'],
    reach: 'place',
    scope: 'requests:read',
    summary: 'List refused requests',
    description:
      'Requests that the gateway itself has refused: they were sent to no provider, cost nothing and have no record of a generation. They are counted by minute, key and reason, and kept for 32 days; without `since`, those of the last 24 hours are listed. No text of a request is kept.',
    parameters: REFUSALS_QUERY,
    reply: {
      description: 'A page, the newest first.',
      schema: Type.Object({
        data: Type.Array(refusal),
        next: maybe(Type.String({ description: 'The `cursor` of the next page; null at the end.' })),
      }),
    },
    faults: ['bad_request'],
    csv: REFUSALS_CSV,
    handle: ({ query }, source) => listRefusals(query, source),
  }),
]

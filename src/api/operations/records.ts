/** Operations on credits, activity, sessions and single generations. */
import { Type } from 'typebox'
import { BY_DAY, LISTED_COUNTS } from '../../core/ledger-counts.ts'
import { ACTIVITY_QUERY, readActivity } from '../activity.ts'
import { countColumns, countFields } from '../count-fields.ts'
import { readCredits } from '../credits.ts'
import { KEY_COLUMNS, USE_COLUMNS } from '../csv.ts'
import { readGeneration } from '../generation.ts'
import { type Operation, operation } from '../operation.ts'
import { amount, data, flag, maybe, text, texts, whole } from '../schemas.ts'
import { MAX_SESSIONS, readSessions, SESSIONS_QUERY } from '../sessions.ts'

const credits = data(Type.Object({ total_credits: amount('USD.'), total_usage: amount('USD.') }))

const activity = data(
  Type.Array(
    Type.Object({
      date: text('A UTC day.'),
      model: text(),
      endpoint_id: text(),
      provider_name: text(),
      usage: amount('USD.'),
      requests: whole(),
      ...countFields(BY_DAY, () => whole()),
      cache_discount: amount('USD that caches of the providers have saved; negative where writing to them cost more.'),
    }),
  ),
)

const sessions = Type.Object({
  data: Type.Array(
    Type.Object({
      session_id: text(),
      api_key_hash: text(),
      api_key_name: maybe(text('Null for a key that is gone.')),
      models: texts(),
      requests: whole('Settled requests, those that failed among them: one for each turn of an agent.'),
      failed_requests: whole(),
      ...countFields(LISTED_COUNTS, whole),
      usage: amount('USD.'),
      cache_discount: amount('USD that caches of the providers have saved; negative where writing to them cost more.'),
      first_request_at: text('In the period.'),
      last_request_at: text(),
    }),
  ),
  total_count: whole('Sessions of all pages together.'),
  since: text(),
  until: text(),
})

const generation = data(
  Type.Object({
    id: text(),
    created_at: text(),
    model: text(),
    provider_name: maybe(Type.String()),
    status: text('`open` until it is settled.'),
    estimated: flag('True where the provider reported no usage, or not all of it.'),
    charge_reason: Type.Union([Type.String(), Type.Null()], {
      description:
        'Why it cost what it did: who ended it (`model`, `provider`, `caller`, `operator`, `gateway`, `crash`), how far it had come ' +
        '(`not_sent`, `sent`, `content`, `usage_known`) and what was charged (`nothing`, `reported`, `estimated`), such as ' +
        '`caller/content/estimated`.',
    }),
    usage: amount('USD charged.'),
    total_cost: amount('USD charged.'),
    tokens_prompt: maybe(Type.Integer()),
    tokens_completion: maybe(Type.Integer()),
    streamed: maybe(Type.Boolean()),
    cancelled: maybe(Type.Boolean()),
    finish_reason: maybe(Type.String()),
    latency: maybe(amount('Milliseconds.')),
    provider_responses: maybe(
      Type.Array(
        Type.Object({
          provider_name: text(),
          status: maybe(Type.Integer({ description: 'Status that the provider sent; null where it sent none: no connection, a timeout.' })),
          code: Type.Optional(Type.String({ description: 'Why the attempt failed, such as `upstream_auth`; absent where it served.' })),
          latency: Type.Optional(amount('Milliseconds.')),
          dropped: Type.Optional(Type.Array(Type.String(), { description: 'What of the request did not reach the provider.' })),
          answer_check: Type.Optional(
            Type.Object(
              {
                verdict: text('`fits`, `misfit`, `no_json` or `unchecked`.'),
                keyword: Type.Optional(Type.String()),
                tool: Type.Optional(Type.String()),
              },
              { description: 'How the answer fits the form that the request demands, where the provider does not see to that.' },
            ),
          ),
        }),
        { description: 'The calls of providers, in order.' },
      ),
    ),
  }),
)

const reads = { tag: 'Records', roles: ['viewer', 'billing'], reach: 'place', scope: 'spending:read' } as const

export const recordOperations: readonly Operation[] = [
  operation('GET /credits', {
    ...reads,
    id: 'getCredits',
    summary: 'Get credits and spending of all keys',
    reply: { description: 'Sums.', schema: credits },
    handle: (_call, source) => readCredits(source),
  }),
  operation('GET /activity', {
    ...reads,
    id: 'listActivity',
    summary: 'List activity by day, model and provider',
    description: 'The last 30 full days.',
    parameters: ACTIVITY_QUERY,
    reply: { description: 'Rows, the latest day first.', schema: activity },
    faults: ['bad_request'],
    csv: {
      name: 'activity',
      columns: [
        ...[
          'date',
          'model',
          'model_permaslug',
          'endpoint_id',
          'provider_name',
          'usage',
          'byok_usage_inference',
          'requests',
          'byok_requests',
        ],
        ...USE_COLUMNS,
      ],
    },
    handle: ({ query }, source) => readActivity(query, source),
  }),
  operation('GET /sessions', {
    ...reads,
    id: 'listSessions',
    summary: 'List sessions with their tokens and cost',
    description:
      'Sums of the settled requests of a period by key and session, the session that was used last first. The session is the `session_id` of a request, the header `X-Session-Id`, the id that a coding agent sends with its requests, or `prompt_cache_key`.',
    parameters: SESSIONS_QUERY,
    reply: { description: 'Sessions.', schema: sessions },
    faults: ['bad_request', 'unavailable'],
    csv: {
      name: 'sessions',
      columns: [
        ...['session_id', ...KEY_COLUMNS, 'models', 'requests', 'failed_requests', ...countColumns(LISTED_COUNTS)],
        ...['usage', 'cache_discount', 'first_request_at', 'last_request_at'],
      ],
      paging: { by: 'offset', most: MAX_SESSIONS },
    },
    handle: ({ query }, source) => readSessions(query, source),
  }),
  operation('GET /generation', {
    ...reads,
    roles: 'any',
    scope: 'requests:read',
    id: 'getGeneration',
    summary: 'Get a generation',
    description:
      'The record of one request. A key sees its own generations; the roles `viewer`, `admin` and `owner` see all, and `billing` none of others.',
    parameters: [
      {
        name: 'id',
        in: 'query',
        description: 'The `id` of a reply.',
        schema: { type: 'string', minLength: 1 },
        required: true,
        example: 'gen-0',
      },
    ],
    reply: { description: 'Usage, cost, times and providers.', schema: generation },
    faults: ['bad_request', 'not_found'],
    handle: ({ query, key }, { ledger }) => readGeneration(query, key, ledger),
  }),
]

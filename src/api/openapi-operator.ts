/** What an operator watches, described. */
import { type TSchema, Type } from 'typebox'
import type { JsonObject } from '../core/json.ts'
import type { DescribedOperation, DescribedParameter } from './openapi.ts'
import { FORMAT } from './openapi-spending.ts'

const count = Type.Integer({ minimum: 0 })
const figure = Type.Number({ minimum: 0 })
const percentiles = Type.Object({
  p50: Type.Union([figure, Type.Null()]),
  p90: Type.Union([figure, Type.Null()]),
  p99: Type.Union([figure, Type.Null()]),
})

const maybe = (schema: TSchema) => Type.Union([schema, Type.Null()])

const connectionCause = Type.String({
  description: 'Why its connection failed, such as `unknown_name`, `refused` or `untrusted_authority`.',
})

const endpointState = Type.Object({
  id: Type.String(),
  model: Type.String(),
  tag: Type.String(),
  health: Type.Enum(['ok', 'degraded', 'poor', 'outage', 'resting', 'ejected']),
  used: Type.Boolean({ description: 'False where no request has been sent there yet.' }),
  problem: Type.Union([Type.String(), Type.Null()], {
    description: 'Why the last request there failed, such as `Provider could not be reached`; null where it has served since.',
  }),
  cause: maybe(connectionCause),
  ejected_for_ms: count,
  rests_for_ms: count,
  uptime_last_30m: Type.Union([figure, Type.Null()], { description: 'Percent.' }),
})

const status = Type.Object({
  data: Type.Object({
    version: Type.String(),
    started_at: Type.String(),
    uptime_seconds: count,
    at: Type.String(),
    workers: count,
    workers_answering: count,
    state: Type.Enum(['ready', 'degraded', 'draining']),
    reasons: Type.Array(Type.String(), { description: 'As `/readyz` lists them.' }),
    notes: Type.Array(Type.String(), {
      description: 'What an operator may want to know although the gateway is ready, as `/readyz` lists it.',
    }),
    window_seconds: count,
    requests: Type.Object({
      count,
      per_second: figure,
      errors: count,
      errors_per_second: figure,
      error_rate: figure,
      by_status: Type.Record(Type.String(), count),
    }),
    latency_ms: percentiles,
    time_to_first_token_ms: percentiles,
    spend: Type.Object({ last_minute: figure, this_hour: figure }, { description: 'USD; of this hour since the gateway was started.' }),
    tokens: Type.Object({ prompt_per_second: figure, completion_per_second: figure }),
    open: Type.Object({ requests: count, streams: count }),
    overload: Type.Object({ bodies_waiting: count, expected_wait_ms: count, refused: count, saturated: Type.Boolean() }),
    memory_bytes: count,
    history: Type.Array(Type.Object({ at: Type.String(), requests: count, errors: count, cost: figure, refused: count }), {
      description: 'Seconds in which something happened, the oldest first.',
    }),
    providers: Type.Array(
      Type.Object({
        slug: Type.String(),
        name: Type.String(),
        count,
        requests_per_second: figure,
        errors: count,
        latency_ms: percentiles,
        time_to_first_token_ms: percentiles,
        health: Type.Enum(['ok', 'degraded', 'resting', 'ejected']),
        used: Type.Boolean({ description: 'False where no request has been sent there yet.' }),
        endpoint_count: count,
        ejected: count,
        resting: count,
        endpoints: Type.Array(endpointState, { description: 'At most 100, those with a problem first.' }),
      }),
    ),
  }),
})

const found = Type.Object({
  data: Type.Array(
    Type.Object({
      id: Type.String(),
      created_at: Type.String(),
      model: Type.String(),
      provider_name: maybe(Type.String()),
      endpoint: Type.String(),
      api_key_hash: Type.String(),
      api_key_name: maybe(Type.String()),
      status: Type.String(),
      error: maybe(Type.String()),
      usage: figure,
      tokens_prompt: maybe(count),
      tokens_completion: maybe(count),
      latency: maybe(figure),
      generation_time: maybe(figure),
      streamed: maybe(Type.Boolean()),
      session_id: maybe(Type.String()),
      attempts: count,
    }),
  ),
  next: maybe(Type.String({ description: 'The `cursor` of the next page; null at the end.' })),
  scanned_until: Type.String({ description: 'All generations from here on have been looked at.' }),
})

const sum = Type.Object({ nano: Type.Integer({ description: 'Nano-dollars.' }), usd: figure })

const detail = Type.Object({
  data: Type.Object({
    id: Type.String(),
    api_key_hash: Type.String(),
    api_key_name: maybe(Type.String()),
    attempts: Type.Array(
      Type.Object({
        position: count,
        provider_name: maybe(Type.String()),
        endpoint: maybe(Type.String()),
        status: maybe(count),
        error: maybe(Type.String()),
        cause: maybe(connectionCause),
        latency: maybe(figure),
        at_ms: maybe(figure),
        time_to_first_token: maybe(Type.Number({ description: 'Milliseconds; null where no content came.' })),
        duration_ms: maybe(figure),
        turn: count,
        dropped: Type.Array(Type.String()),
        reason: Type.Enum(['first', 'previous_failed', 'next_turn', 'without_reasoning']),
        choice: maybe(Type.String({ description: 'Of the first one, where there was a choice: as `why.by` of a plan.' })),
      }),
    ),
    steps: Type.Array(
      Type.Object({
        position: count,
        kind: Type.Enum(['tool', 'model', 'guardrail', 'plugin']),
        name: Type.String(),
        at_ms: maybe(figure),
        duration_ms: maybe(figure),
        error: maybe(Type.String()),
        within: maybe(Type.Integer({ description: 'Position of the step that made it.' })),
        tokens: maybe(Type.Object({ prompt: count, completion: count })),
        usd: maybe(figure),
        attempts: Type.Array(Type.Object({}, { additionalProperties: true })),
      }),
      { description: 'Tools, models that they called, engines of guardrails, and plugins that took their time.' },
    ),
    guardrails: Type.Array(
      Type.Object({
        guardrail: Type.String(),
        rule: Type.String(),
        action: Type.String(),
        direction: Type.Enum(['input', 'output']),
        count: Type.Integer({ description: 'Distinct texts that were found; which ones is not kept here.' }),
        kinds: Type.Array(Type.String()),
      }),
    ),
    plugins: Type.Array(
      Type.Object({
        name: Type.String(),
        figures: Type.Object({}, { description: 'What it reports of its work in numbers.', additionalProperties: true }),
        failure: Type.Optional(Type.String()),
        usd: figure,
      }),
    ),
    timeline: Type.Array(Type.Object({ kind: Type.String(), at_ms: maybe(figure) })),
    tokens: maybe(Type.Object({ prompt: count, completion: count, reasoning: count, cached: count, cache_write: count })),
    money: Type.Array(
      Type.Object({
        item: Type.String({
          description: 'Kind of what was counted, as in prices; `tools`; `providers` where the row keeps no quantities.',
        }),
        name: maybe(Type.String({ description: 'Of a tool or a plugin.' })),
        model: maybe(Type.String()),
        endpoint: maybe(Type.String()),
        units: maybe(count),
        unit_price: maybe(Type.String({ description: 'USD for each unit, as a decimal text.' })),
        nano: Type.Integer({ description: 'Nano-dollars.' }),
        usd: figure,
      }),
      { description: 'The charge line by line: `nano` sums up to it exactly.' },
    ),
    reservation: Type.Object({
      held: Type.Array(sum, { description: 'What was held, and each extension.' }),
      in_force: sum,
      charged: sum,
      released: sum,
      beyond_hold: sum,
    }),
    held: figure,
  }),
})

const replay = Type.Object({
  data: Type.Object({
    id: Type.String(),
    approximate: Type.Array(Type.String(), { description: 'What the plan does without.' }),
    happened: Type.Object({
      model: Type.String(),
      provider_name: maybe(Type.String()),
      endpoint: Type.String(),
      status: Type.String(),
      usage: figure,
    }),
    plan: maybe(Type.Object({}, { description: 'As `POST /plan` returns it.', additionalProperties: true })),
    refused: maybe(Type.Object({ status: count, message: Type.String() })),
    differences: Type.Array(
      Type.Object({ what: Type.Enum(['model', 'endpoint', 'outcome']), was: Type.Unknown(), would_be: Type.Unknown() }),
    ),
  }),
})

const filter = (name: string, description: string, schema: JsonObject, example?: string | number): DescribedParameter => ({
  name,
  in: 'query',
  description,
  schema,
  ...(example === undefined ? {} : { example }),
})
const text: JsonObject = { type: 'string', maxLength: 512 }
const amount: JsonObject = { type: 'number', minimum: 0 }

const FILTERS = [
  filter('since', 'Admitted at this time (UTC) or later.', { type: 'string' }),
  filter('until', 'Admitted before this time (UTC).', { type: 'string' }),
  filter('api_key_hash', 'Hash of the key.', { type: 'string', pattern: '^[0-9a-f]{64}$' }),
  filter('model', 'Slug of the model that served.', text),
  filter('provider', 'Name of the provider.', text),
  filter('endpoint', 'Id of the endpoint.', text),
  filter('session_id', 'The session.', text),
  filter(
    'status',
    'Some of completed, incomplete, failed, aborted, unknown and open; separated by commas.',
    { type: 'string' },
    'completed',
  ),
  filter('error', 'Code of the error that ended it.', text),
  filter('min_cost', 'USD, at least.', amount, 0),
  filter('max_cost', 'USD, at most.', amount, 1000),
  filter('streamed', 'Whether the reply was a stream.', { type: 'string', enum: ['true', 'false'] }),
  filter('limit', 'Generations per page at most; 50 without it.', { type: 'integer', minimum: 1, maximum: 200 }, 50),
  filter('cursor', '`next` of an earlier reply.', { type: 'string' }),
]

export function operatorOperations(): DescribedOperation[] {
  return [
    {
      method: 'get',
      path: '/status',
      id: 'getStatus',
      tag: 'Records',
      key: 'management',
      summary: 'Get live figures',
      description:
        'Requests, errors, latency and time to first token of the last minute, spend, open streams, and the health of every provider, over all workers of this gateway. Computed at most once a second. Percentiles are right to 10 %.',
      reply: { description: 'The figures.', schema: status },
    },
    {
      method: 'get',
      path: '/generations',
      id: 'searchGenerations',
      tag: 'Records',
      key: 'management',
      summary: 'Search generations',
      description:
        'The newest first. One call searches for a limited time: `data` may be empty where `next` is not null; go on with it as `cursor`.',
      parameters: [...FILTERS, FORMAT],
      reply: { description: 'A page.', schema: found },
      faults: ['bad_request', 'unavailable'],
    },
    {
      method: 'get',
      path: '/generations/{id}',
      id: 'getGenerationTimeline',
      tag: 'Records',
      key: 'management',
      summary: 'Get a generation as a timeline',
      parameters: [
        { name: 'id', in: 'path', description: 'Id of the generation.', schema: { type: 'string' }, required: true, example: 'gen-0' },
      ],
      reply: { description: 'The record with attempts, times, tokens and cost.', schema: detail },
      faults: ['not_found'],
    },
    {
      method: 'post',
      path: '/generations/{id}/plan',
      id: 'planGeneration',
      tag: 'Records',
      key: 'management',
      summary: 'Plan a generation again',
      description:
        'What the recorded request would do now, from the names and counts that its row keeps. Nothing is sent or charged, and a text of the same length stands for its words.',
      parameters: [
        { name: 'id', in: 'path', description: 'Id of the generation.', schema: { type: 'string' }, required: true, example: 'gen-0' },
      ],
      reply: { description: 'The plan, and what differs.', schema: replay },
      faults: ['not_found', 'conflict'],
    },
  ]
}

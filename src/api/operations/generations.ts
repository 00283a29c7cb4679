/** Live figures, and what became of requests. */
import { type TSchema, Type } from 'typebox'
import { DETAILED_COUNTS } from '../../core/ledger-counts.ts'
import { KEY_COLUMNS } from '../csv.ts'
import { REQUEST_READERS } from '../generation.ts'
import { generationDetail } from '../generation-detail.ts'
import { planGeneration } from '../generation-plan.ts'
import { GENERATION_FILTERS, MAX_FOUND, STATUSES, searchGenerations } from '../generations.ts'
import { type Operation, operation } from '../operation.ts'
import { position } from '../parameters.ts'
import { PLACED_BY, plan } from './generated-replies.ts'

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

const quarters = Type.Object({ p50: figure, p75: figure, p90: figure, p99: figure })

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
  latency_ms: Type.Union([quarters, Type.Null()]),
  throughput: Type.Union([quarters, Type.Null()], { description: 'Tokens per second.' }),
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

const state = () => Type.Enum([...STATUSES], { description: '`open` until it is settled.' })

/** Fields that the list and the timeline of a generation have in common. */
const row = {
  id: Type.String(),
  created_at: Type.String(),
  model: Type.String(),
  provider_name: maybe(Type.String()),
  endpoint: Type.String(),
  api_key_hash: Type.String(),
  api_key_name: maybe(Type.String()),
  status: state(),
  error: maybe(Type.String({ description: 'Code of the error that ended it.' })),
  usage: Type.Number({ minimum: 0, description: 'USD.' }),
  tokens_prompt: maybe(count),
  tokens_completion: maybe(count),
  latency: maybe(Type.Number({ minimum: 0, description: 'Milliseconds until the first content.' })),
  generation_time: maybe(Type.Number({ minimum: 0, description: 'Milliseconds of the whole.' })),
  streamed: maybe(Type.Boolean()),
  session_id: maybe(Type.String()),
}

export const foundGeneration = Type.Object({ ...row, attempts: Type.Integer({ minimum: 0, description: 'Calls of providers.' }) })

const found = Type.Object({
  data: Type.Array(foundGeneration),
  next: maybe(Type.String({ description: 'The `cursor` of the next page; null at the end.' })),
  scanned_until: Type.String({ description: 'All generations from here on have been looked at.' }),
})

const sum = Type.Object({ nano: Type.Integer({ description: 'Nano-dollars.' }), usd: figure })

/** Facts of the row as texts and numbers; null where there are none. */
const facts = Object.fromEntries(
  [
    ...['trace_id', 'charge_reason', 'router', 'finish_reason', 'native_finish_reason', 'service_tier', 'native_service_tier'],
    ...['api_type', 'user_agent', 'app_title', 'origin', 'external_user', 'preset_id', 'data_region', 'upstream_id'],
    ...['response_cache_source_id', 'web_search_engine'],
  ].map((name) => [name, maybe(Type.String())]),
)
const counts = Object.fromEntries(
  ['cache_discount', 'num_search_results', 'num_fetches', 'credit_output_cap'].map((name) => [name, maybe(Type.Number())]),
)

const STEP_KINDS = ['tool', 'model', 'guardrail', 'plugin'] as const

const detail = Type.Object({
  data: Type.Object({
    ...row,
    ...facts,
    ...counts,
    estimated: Type.Boolean({ description: 'True where the provider reported no usage, or not all of it.' }),
    price_unknown: Type.Boolean(),
    unrecovered_nano: Type.Integer({ description: 'Nano-dollars that the limits of the key could not pay.' }),
    disputed_nano: Type.Integer({ description: 'Nano-dollars of a report that cannot be true.' }),
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
        choice: maybe(Type.Enum([...PLACED_BY], { description: 'Of the first one, where there was a choice: as `why.by` of a plan.' })),
      }),
    ),
    steps: Type.Array(
      Type.Object({
        position: count,
        kind: Type.Enum([...STEP_KINDS]),
        name: Type.String(),
        at_ms: maybe(figure),
        duration_ms: maybe(figure),
        error: maybe(Type.String()),
        within: maybe(Type.Integer({ description: 'Position of the step that made it.' })),
        tokens: maybe(Type.Object({ prompt: count, completion: count })),
        usd: maybe(figure),
        attempts: Type.Array(
          Type.Object({
            provider_name: Type.Optional(Type.String()),
            status: Type.Optional(maybe(count)),
            latency: Type.Optional(figure),
            error: maybe(Type.String()),
            cause: maybe(Type.String()),
          }),
        ),
      }),
      { description: 'Tools, models that they called, engines of guardrails, and plugins that took their time.' },
    ),
    guardrails: Type.Array(
      Type.Object({
        guardrail: Type.String(),
        rule: Type.String(),
        action: Type.Enum(['flagged', 'redacted', 'blocked', 'unchecked']),
        direction: Type.Enum(['input', 'output']),
        count: Type.Integer({ description: 'Distinct texts that were found; which ones is not kept here.' }),
        kinds: Type.Array(Type.String()),
      }),
    ),
    plugins: Type.Array(
      Type.Object({
        name: Type.String(),
        figures: Type.Record(Type.String(), Type.Union([Type.Number(), Type.Boolean()]), { description: 'What it reports of its work.' }),
        failure: Type.Optional(Type.String()),
        usd: figure,
      }),
    ),
    timeline: Type.Array(
      Type.Object({
        kind: Type.Enum(['admitted', 'layers', 'moderation', 'attempt', 'first_content', 'settled', ...STEP_KINDS]),
        at_ms: maybe(Type.Number({ minimum: 0, description: 'Milliseconds since the admission; null where unknown.' })),
        duration_ms: Type.Optional(maybe(figure)),
        position: Type.Optional(maybe(count)),
        name: Type.Optional(maybe(Type.String())),
        error: Type.Optional(maybe(Type.String())),
      }),
    ),
    tokens: maybe(Type.Object(Object.fromEntries(DETAILED_COUNTS.map(({ shown }) => [shown, count])))),
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
      status: state(),
      usage: figure,
    }),
    plan: maybe(plan),
    refused: maybe(Type.Object({ status: count, message: Type.String() })),
    differences: Type.Array(
      Type.Object({ what: Type.Enum(['model', 'endpoint', 'outcome']), was: maybe(Type.String()), would_be: maybe(Type.String()) }),
    ),
  }),
})

const ID = {
  name: 'id',
  in: 'path',
  description: 'Id of the generation.',
  schema: { type: 'string' },
  example: 'gen-0',
  pattern: '[A-Za-z0-9_-]{1,80}',
} as const

const reads = { tag: 'Records', roles: REQUEST_READERS, reach: 'place', scope: 'requests:read' } as const

export const generationOperations: readonly Operation[] = [
  operation('GET /status', {
    id: 'getStatus',
    ...reads,
    reach: 'gateway',
    summary: 'Get live figures',
    description:
      'Requests, errors, latency and time to first token of the last minute, spend, open streams, and the health of every provider, over all workers of this gateway. Computed at most once a second. Percentiles are right to 10 %.',
    reply: { description: 'The figures.', schema: status },
    handle: (_call, { status }) => status.read(),
  }),
  operation('GET /generations', {
    id: 'searchGenerations',
    ...reads,
    summary: 'Search generations',
    description:
      'The newest first. One call searches for a limited time: `data` may be empty where `next` is not null; go on with it as `cursor`.',
    parameters: [...GENERATION_FILTERS, position],
    reply: { description: 'A page.', schema: found },
    faults: ['bad_request', 'unavailable'],
    csv: {
      name: 'generations',
      columns: [
        ...['id', 'created_at', 'model', 'provider_name', 'endpoint', 'status', 'error', 'usage', 'tokens_prompt', 'tokens_completion'],
        ...['latency', 'generation_time', 'streamed', 'session_id', 'attempts', ...KEY_COLUMNS],
      ],
      paging: { by: 'cursor', most: MAX_FOUND },
    },
    handle: ({ query }, source) => searchGenerations(query, source),
  }),
  operation('GET /generations/{id}', {
    id: 'getGenerationTimeline',
    ...reads,
    summary: 'Get a generation as a timeline',
    parameters: [ID],
    reply: { description: 'The record with attempts, times, tokens and cost.', schema: detail },
    faults: ['not_found'],
    handle: ({ path }, source) => generationDetail(path.id, source),
  }),
  operation('POST /generations/{id}/plan', {
    id: 'planGeneration',
    audit: { none: 'it plans, and sends nothing' },
    ...reads,
    summary: 'Plan a generation again',
    description:
      'What the recorded request would do now, from the names and counts that its row keeps. Nothing is sent or charged, and a text of the same length stands for its words.',
    parameters: [ID],
    reply: { description: 'The plan, and what differs.', schema: replay },
    faults: ['not_found', 'conflict'],
    handle: ({ path }, source) => planGeneration(path.id, source),
  }),
]

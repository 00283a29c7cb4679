/** What an operator watches, described. */
import { Type } from 'typebox'
import type { DescribedOperation } from './openapi.ts'

const count = Type.Integer({ minimum: 0 })
const figure = Type.Number({ minimum: 0 })
const percentiles = Type.Object({
  p50: Type.Union([figure, Type.Null()]),
  p90: Type.Union([figure, Type.Null()]),
  p99: Type.Union([figure, Type.Null()]),
})

const endpointState = Type.Object({
  id: Type.String(),
  model: Type.String(),
  tag: Type.String(),
  health: Type.Enum(['ok', 'degraded', 'poor', 'outage', 'resting', 'ejected']),
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
    overload: Type.Object({ bodies_waiting: count, refused: count, saturated: Type.Boolean() }),
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
        endpoint_count: count,
        ejected: count,
        resting: count,
        endpoints: Type.Array(endpointState, { description: 'At most 100, those with a problem first.' }),
      }),
    ),
  }),
})

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
  ]
}

/** A reply of GET /v1/status with every field: ejected endpoints, and names that contain markup. */
export const HOSTILE = '<img src=x onerror="alert(1)"><script>alert(2)</script>'

const times = Array.from({ length: 60 }, (_, index) => new Date(Date.UTC(2026, 10, 26, 10, 0, index)).toISOString())

export const NOW = {
  version: '0.1.0',
  started_at: '2026-11-26T08:00:00Z',
  uptime_seconds: 7260,
  at: '2026-11-26T10:01:00Z',
  workers: 2,
  workers_answering: 2,
  state: 'ready',
  reasons: [],
  window_seconds: 60,
  requests: {
    per_second: 12.3,
    count: 738,
    errors: 41,
    errors_per_second: 0.7,
    error_rate: 0.0556,
    by_status: { 200: 697, 502: 41 },
    rejected: 0,
  },
  latency_ms: { p50: 812.4, p90: 2410, p99: 7125 },
  time_to_first_token_ms: { p50: 143, p90: 380, p99: 1240 },
  spend: { last_minute: 0.0713, this_hour: 3.92 },
  tokens: { prompt_per_second: 8120, completion_per_second: 1412 },
  open: { requests: 14, streams: 9 },
  overload: { bodies_waiting: 0, refused: 0, saturated: false },
  memory_bytes: 182_000_000,
  history: times.map((at, index) => ({
    at,
    requests: 9 + Math.round(5 * Math.sin(index / 6)) + (index % 4),
    errors: index > 40 ? index % 3 : 0,
    cost: 0.001,
  })),
  providers: [
    provider('acme', 'Acme', 'ok', []),
    provider('globex', 'Globex', 'degraded', [
      {
        id: 'globex/1',
        model: 'globex/large',
        tag: 'globex',
        health: 'ejected',
        ejected_for_ms: 21_400,
        rests_for_ms: 0,
        uptime_last_30m: 0.62,
      },
      {
        id: 'globex/2',
        model: 'globex/small',
        tag: 'globex',
        health: 'resting',
        ejected_for_ms: 0,
        rests_for_ms: 4200,
        uptime_last_30m: 0.97,
      },
    ]),
    provider('hostile', HOSTILE, 'ejected', [
      { id: 'hostile/1', model: HOSTILE, tag: 'hostile', health: 'ejected', ejected_for_ms: 1000, rests_for_ms: 0, uptime_last_30m: 0 },
    ]),
    { ...provider('sim', 'Simulator', 'unknown', []), count: 0, errors: 0, requests_per_second: 0 },
  ],
}

function provider(slug: string, name: string, health: string, endpoints: readonly object[]): object & Record<string, unknown> {
  return {
    slug,
    name,
    requests_per_second: 4.1,
    count: 246,
    errors: health === 'ok' ? 0 : 14,
    latency_ms: { p50: 790, p90: 2300, p99: 6900 },
    time_to_first_token_ms: { p50: 140, p90: 360, p99: 1200 },
    health,
    endpoints: [
      ...endpoints,
      { id: `${slug}/0`, model: `${slug}/fine`, tag: slug, health: 'ok', ejected_for_ms: 0, rests_for_ms: 0, uptime_last_30m: 1 },
    ],
  }
}

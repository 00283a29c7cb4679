/** Replies of GET /v1/generations and GET /v1/generations/{id} with everything in them, and names that try to be markup. */
import { HOSTILE } from './now-status.ts'

const HASH = '0f3735a91125b77f292f60909fba56863cb732f2fe590345b9601d2af6c7c3e0'

interface Kind {
  readonly status: string
  readonly model: string
  readonly provider: string | null
  readonly error?: string
  readonly attempts?: number
}

const KINDS: readonly Kind[] = [
  { status: 'completed', model: 'acme/large', provider: 'Acme' },
  { status: 'completed', model: 'globex/small-2026-11-26', provider: 'Globex', attempts: 3 },
  { status: 'failed', model: 'globex/large', provider: null, error: 'upstream_limited', attempts: 2 },
  { status: 'incomplete', model: HOSTILE, provider: HOSTILE },
  { status: 'aborted', model: 'acme/large', provider: 'Acme' },
  { status: 'open', model: 'acme/large', provider: null },
]

export const FOUND = {
  data: Array.from({ length: 50 }, (_, index) => {
    const { status, model, provider, error = null, attempts = 1 } = KINDS[index % KINDS.length] ?? { status: '', model: '', provider: '' }
    return {
      id: `gen-${index}`,
      created_at: new Date(Date.UTC(2026, 10, 26, 10, 0, 50 - index)).toISOString(),
      model,
      provider_name: provider,
      endpoint: `${model}@acme`,
      api_key_hash: HASH,
      api_key_name: index % 7 === 6 ? null : 'team-search',
      status,
      error,
      usage: status === 'failed' ? 0 : 0.0123 * ((index % 9) + 1),
      tokens_prompt: 1200 + index * 17,
      tokens_completion: status === 'failed' ? 0 : 310 + index,
      latency: 230 + index * 9,
      generation_time: 2400 + index * 90,
      streamed: true,
      session_id: null,
      attempts,
    }
  }),
  next: 'bmV4dA',
  scanned_until: '2026-11-26T09:58:00Z',
}

export const FAILED_OVER = {
  id: 'gen-20f6q5b77cw-aLC80ocGULK8',
  created_at: '2026-11-26T10:00:00.478Z',
  model: 'acme/large',
  provider_name: 'Globex',
  endpoint: 'acme/large@globex',
  api_key_hash: HASH,
  api_key_name: 'team-search',
  status: 'completed',
  error: null,
  usage: 0.0421,
  held: 0.31,
  latency: 1840,
  generation_time: 6120,
  streamed: true,
  session_id: HOSTILE,
  router: 'acme/latest',
  estimated: true,
  price_unknown: false,
  charge_reason: 'model/usage_known/reported',
  cache_discount: 0.0031,
  num_search_results: 5,
  num_fetches: 2,
  web_search_engine: 'exa',
  finish_reason: 'stop',
  native_finish_reason: 'end_turn',
  user_agent: HOSTILE,
  app_title: 'Search of the shop',
  data_region: 'global',
  trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
  attempts: [
    {
      position: 1,
      provider_name: 'Acme',
      endpoint: 'acme/large@acme',
      status: 429,
      error: 'upstream_limited',
      latency: 210,
      dropped: [],
      reason: 'first',
    },
    {
      position: 2,
      provider_name: HOSTILE,
      endpoint: 'acme/large@other',
      status: null,
      error: 'upstream_silent',
      latency: 1200,
      dropped: [],
      reason: 'previous_failed',
    },
    {
      position: 3,
      provider_name: 'Globex',
      endpoint: 'acme/large@globex',
      status: 200,
      error: null,
      latency: 4700,
      dropped: ['seed', 'logit_bias'],
      reason: 'previous_failed',
    },
  ],
  timeline: [
    { kind: 'admitted', at_ms: 0, at: '2026-11-26T10:00:00.478Z' },
    { kind: 'moderation', at_ms: null, duration_ms: 31 },
    { kind: 'attempt', at_ms: null, name: 'Acme', duration_ms: 210, position: 1 },
    { kind: 'attempt', at_ms: null, name: HOSTILE, duration_ms: 1200, position: 2 },
    { kind: 'attempt', at_ms: null, name: 'Globex', duration_ms: 4700, position: 3 },
    { kind: 'first_content', at_ms: 1840 },
    { kind: 'settled', at_ms: 6120, name: 'completed', error: null },
  ],
  tokens: { prompt: 8120, completion: 640, reasoning: 210, cached: 4096, cache_write: 0 },
  money: [
    { item: 'providers', usd: 0.0321 },
    { item: 'tools', usd: 0.01 },
  ],
  steps: [],
  guardrails: [],
  plugins: [],
}

/** A request with everything that a row may keep of its steps and its money. */
export const TOOL_LOOP = {
  ...FAILED_OVER,
  id: 'gen-20f6q5b77cw-bLC80ocGULK9',
  estimated: false,
  attempts: FAILED_OVER.attempts.map((attempt, at) => ({
    ...attempt,
    at_ms: [12, 222, 1422][at],
    duration_ms: [210, 1200, 3300][at],
    time_to_first_token: at === 2 ? 418 : null,
    turn: at === 2 ? 2 : 1,
    reason: ['first', 'previous_failed', 'next_turn'][at],
    choice: at === 0 ? 'draw' : null,
  })),
  steps: [
    {
      position: 1,
      kind: 'guardrail',
      name: 'no-secrets',
      at_ms: 1,
      duration_ms: 9,
      error: 'unanswered',
      within: null,
      tokens: null,
      usd: null,
      attempts: [],
    },
    {
      position: 2,
      kind: 'tool',
      name: HOSTILE,
      at_ms: 900,
      duration_ms: 2100,
      error: null,
      within: null,
      tokens: null,
      usd: 0.01,
      attempts: [],
    },
    {
      position: 3,
      kind: 'model',
      name: 'acme/small',
      at_ms: 910,
      duration_ms: 2000,
      error: null,
      within: 2,
      tokens: { prompt: 1200, completion: 88 },
      usd: 0.0021,
      attempts: [{ provider_name: HOSTILE, status: 200, latency: 800, error: null }],
    },
    {
      position: 4,
      kind: 'plugin',
      name: 'web',
      at_ms: 11,
      duration_ms: 1,
      error: null,
      within: null,
      tokens: null,
      usd: null,
      attempts: [],
    },
  ],
  guardrails: [
    { guardrail: HOSTILE, rule: 'content-filter', action: 'redacted', direction: 'input', count: 3, kinds: ['EMAIL', HOSTILE] },
    { guardrail: 'no-secrets', rule: 'content-filter', action: 'unchecked', direction: 'output', count: 0, kinds: [] },
  ],
  plugins: [{ name: 'web', figures: { results: 5, cached: false }, usd: 0.005 }],
  timeline: [
    { kind: 'admitted', at_ms: 0, at: '2026-11-26T10:00:00.478Z' },
    { kind: 'layers', at_ms: 0, duration_ms: 12 },
    { kind: 'guardrail', at_ms: 1, duration_ms: 9, position: 1, name: 'no-secrets' },
    { kind: 'plugin', at_ms: 11, duration_ms: 1, position: 4, name: 'web' },
    { kind: 'attempt', at_ms: 12, duration_ms: 210, position: 1, name: 'Acme' },
    { kind: 'attempt', at_ms: 222, duration_ms: 1200, position: 2, name: HOSTILE },
    { kind: 'tool', at_ms: 900, duration_ms: 2100, position: 2, name: HOSTILE },
    { kind: 'model', at_ms: 910, duration_ms: 2000, position: 3, name: 'acme/small' },
    { kind: 'attempt', at_ms: 1422, duration_ms: 3300, position: 3, name: 'Globex' },
    { kind: 'first_content', at_ms: 1840 },
    { kind: 'settled', at_ms: 6120, name: 'completed', error: null },
  ],
  money: [
    {
      item: 'prompt',
      name: null,
      model: 'acme/large',
      endpoint: 'acme/large@globex',
      units: 4024,
      unit_price: '0.0000025',
      nano: 10060000,
      usd: 0.01006,
    },
    {
      item: 'cached',
      name: null,
      model: 'acme/large',
      endpoint: null,
      units: 4096,
      unit_price: '0.000000250001',
      nano: 1024004,
      usd: 0.001024004,
    },
    { item: 'completion', name: null, model: HOSTILE, endpoint: null, units: 640, unit_price: '0.00001', nano: 6400000, usd: 0.0064 },
    { item: 'web_search', name: null, model: 'acme/large', endpoint: null, units: 2, unit_price: '0.01', nano: 20000000, usd: 0.02 },
    { item: 'tools', name: HOSTILE, model: null, endpoint: null, units: 3, unit_price: null, nano: 4615996, usd: 0.004615996 },
  ],
  reservation: {
    held: [
      { nano: 310000000, usd: 0.31 },
      { nano: 20000000, usd: 0.02 },
    ],
    in_force: { nano: 330000000, usd: 0.33 },
    charged: { nano: 42100000, usd: 0.0421 },
    released: { nano: 287900000, usd: 0.2879 },
    beyond_hold: { nano: 0, usd: 0 },
  },
}

/** Replies of POST /v1/generations/{id}/plan. */
export const PLANNED = {
  id: FAILED_OVER.id,
  approximate: ['the words of the request: a text of the same length stands for them'],
  happened: { model: 'acme/large', provider_name: 'Globex', endpoint: 'acme/large@globex', status: 'completed', usage: 0.0421 },
  plan: {
    requested: 'acme/latest',
    strategy: 'alias',
    models: ['acme/large'],
    key: 'team-search',
    candidates: [
      {
        position: 1,
        provider: HOSTILE,
        model: 'acme/large',
        endpoint: 'other',
        price: null,
        why: { by: 'draw', share: 0.61, health: 'recent_outage' },
        dropped: ['seed'],
      },
    ],
    excluded: [{ provider: 'Globex', model: 'acme/large', endpoint: 'globex', filter: 'max_price', detail: HOSTILE }],
    hold: { usd: '0.31', output_cap: 4096, input_tokens_bound: 8200, left_usd: null },
    plugins: ['web'],
    guardrails: ['no-secrets'],
  },
  refused: null,
  differences: [{ what: 'endpoint', was: 'acme/large@globex', would_be: HOSTILE }],
}

export const REFUSED = {
  ...PLANNED,
  plan: null,
  refused: { status: 402, message: HOSTILE },
  differences: [{ what: 'outcome', was: 'completed', would_be: 'refused with 402' }],
}

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

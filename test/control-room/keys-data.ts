/** Replies of the management API on keys and their use: limits of every kind, and names that try to be markup. */
import { HOSTILE } from './now-status.ts'

const DAY = 86_400_000
const today = Math.floor(Date.now() / DAY) * DAY

export const digitHash = (digit: string): string => digit.repeat(64)

function key(digit: string, name: string, more: object = {}): object & Record<string, unknown> {
  return {
    hash: digitHash(digit),
    name,
    label: `sk-router-v2-${digit}${digit}…${digit}`,
    disabled: false,
    limit: null,
    limit_remaining: null,
    limit_reset: null,
    include_byok_in_limit: false,
    usage: 12.5,
    usage_daily: 0.4,
    usage_weekly: 1.9,
    usage_monthly: 7.2,
    created_at: '2026-01-05T09:00:00Z',
    updated_at: null,
    expires_at: null,
    creator_user_id: null,
    workspace_id: '00000000-0000-8000-8000-000000000001',
    is_management_key: false,
    source: 'store',
    parent: null,
    parent_hash: null,
    allowed_models: null,
    tags: {},
    last_used_at: null,
    rotated_at: null,
    previous_secret_expires_at: null,
    unrecovered: 0,
    unrecovered_open: 0,
    disputed: 0,
    disputed_open: 0,
    forecast: null,
    ...more,
  }
}

const FORECAST = { per_day: 2.1, basis_days: 7, used_at_end: null, runs_out_at: null }

export const KEYS = [
  key('a', 'dev', { source: 'configuration' }),
  key('b', 'reports', {
    limit: 100,
    limit_remaining: 41.2,
    limit_reset: 'monthly',
    usage: 180,
    usage_monthly: 58.8,
    usage_daily: 3.1,
    forecast: { ...FORECAST, used_at_end: 63 },
  }),
  key('c', 'chat', {
    limit: 8,
    limit_remaining: 1.02,
    usage: 6.98,
    creator_user_id: 'team-one',
    forecast: { ...FORECAST, runs_out_at: new Date(today + 2 * DAY).toISOString() },
  }),
  key('d', 'batch', { limit: 20, limit_remaining: 0, limit_reset: 'weekly', usage_weekly: 20 }),
  key('e', HOSTILE, { limit: 1000, limit_remaining: 999, limit_reset: 'daily', usage_daily: 1, expires_at: '2031-01-31T00:00:00Z' }),
  key('f', 'old', { disabled: true }),
]

/** The reply of GET /v1/keys. */
export const KEY_LIST = {
  data: KEYS,
  total_count: KEYS.length,
  next: null,
  totals: { keys: 6, in_use: 5, limit_reached: 1, limit_near: 1, usage_daily: 5.7, usage_weekly: 29.5, usage_monthly: 94.8 },
}

/** The reply to a query, of which it reads the search and the state alone. */
export function keyPage(address: string): typeof KEY_LIST {
  const query = new URL(address).searchParams
  const search = query.get('search')?.toLowerCase() ?? ''
  const found = KEYS.filter(
    (each) => String(each.name).toLowerCase().includes(search) && (query.get('state') !== 'in_use' || each.disabled !== true),
  )
  return { ...KEY_LIST, data: found, total_count: found.length }
}

const MODELS = ['acme/large', 'acme/small', 'globex/fast', 'sim/echo', HOSTILE]

export const ACTIVITY = Array.from({ length: 29 }, (_, day) => day + 1).flatMap((day) =>
  MODELS.map((model, at) => ({
    date: new Date(today - day * DAY).toISOString().slice(0, 10),
    model,
    model_permaslug: model,
    endpoint_id: `${model}@acme`,
    provider_name: at < 2 ? 'Acme' : 'Globex',
    usage: Number(((1.4 / (at + 1)) * (1 + Math.sin(day / 3 + at) / 2)).toFixed(6)),
    byok_usage_inference: 0,
    requests: 40 + 3 * at + day,
    prompt_tokens: 120_000 + day * 512,
    completion_tokens: 18_000 + day * 31,
    reasoning_tokens: 0,
    cache_discount: 0,
  })),
)

/** The reply of GET /v1/keys/{hash}/budget for the second of them, whose month ends soon. */
/** Access of the key `reports`. */
export const ACCESS = {
  data: {
    ...{ hash: digitHash('b'), name: 'reports', refused_because: [], role: 'member', role_text: 'Calls models.', is_management_key: false },
    ...{
      expires_at: null,
      model_count: 3,
      allowed_models: ['acme/*'],
      provider: null,
      pass_through: false,
      provider_ids: [],
      default_max_output: null,
    },
    models: [{ id: 'acme/large', providers: ['Acme', 'Globex'] }],
    limits: [
      {
        level: 'key',
        name: 'reports',
        limit: 100,
        window: 'monthly',
        used: 58.8,
        held: 0.4,
        remaining: 41.2,
        resets_at: new Date(today + 2 * DAY).toISOString(),
      },
      { level: 'guardrail', name: 'budget', limit: 1_000, window: 'lifetime', used: 58.8, held: 0, remaining: 941.2, resets_at: null },
    ],
    rates: [{ from: 'key', requests: 60, tokens: null, streams: 4, bytes: null }],
    guardrails: [{ id: 'budget', name: 'budget', scope: 'account' }],
  },
}

export const BUDGET = {
  data: {
    hash: digitHash('b'),
    name: 'reports',
    limit: 100,
    limit_reset: 'monthly',
    window: { start: new Date(today - 20 * DAY).toISOString(), end: new Date(today + 2 * DAY).toISOString() },
    used: 58.8,
    held: 0.4,
    remaining: 41.2,
    days: Array.from({ length: 31 }, (_, day) => ({
      date: new Date(today - (30 - day) * DAY).toISOString().slice(0, 10),
      usage: 1 + (day % 5),
      requests: 40 + day,
    })),
    forecast: { ...FORECAST, used_at_end: 63 },
  },
}

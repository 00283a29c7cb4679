/** Replies of the management API on guardrails, with names that try to be markup. */
import { digitHash } from './keys-data.ts'
import { HOSTILE } from './now-status.ts'

const blank = {
  description: null,
  limit_usd: null,
  reset_interval: null,
  allowed_models: null,
  ignored_models: null,
  allowed_providers: null,
  ignored_providers: null,
  content_filters: null,
  content_filter_builtins: null,
}

const GUARDRAILS = [
  {
    ...blank,
    id: 'no-secrets',
    name: 'no-secrets',
    scope: 'account',
    source: 'configuration',
    direction: 'both',
    content_filter_builtins: [
      { slug: 'credit-card', action: 'block', label: '[CREDIT_CARD]' },
      { slug: 'email', action: 'redact', label: '[EMAIL]' },
      { slug: 'regex-prompt-injection', action: 'flag', label: '[PROMPT_INJECTION]' },
    ],
    content_filters: [{ pattern: HOSTILE, action: 'redact', label: null }],
    phrases: ['for internal use only'],
    action: 'block',
  },
  {
    ...blank,
    id: '0df9e665-d932-4740-b2c7-b52af166bc11',
    name: HOSTILE,
    description: 'Of the team that writes reports',
    scope: 'api-key',
    source: 'store',
    limit_usd: 25,
    reset_interval: 'monthly',
    allowed_models: ['acme/*', 'globex/fast'],
  },
]

const ASSIGNMENTS = [{ guardrail_id: GUARDRAILS[1]?.id, key_hash: digitHash('b'), key_name: 'reports' }]

const FINDINGS = Array.from({ length: 12 }, (_, at) => ({
  at: new Date(Date.UTC(2026, 10, 26, 9, 59 - at)).toISOString(),
  generation: `gen-${at}`,
  key: digitHash('b'),
  key_name: at % 3 === 0 ? null : 'reports',
  guardrail_id: 'no-secrets',
  guardrail: 'no-secrets',
  direction: at % 4 === 0 ? 'output' : 'input',
  stage: 'content-filter',
  action: ['flagged', 'redacted', 'blocked', 'unchecked'][at % 4],
  entities: at % 2 === 0 ? ['EMAIL'] : ['CREDIT_CARD', 'EMAIL'],
  engines: ['regex'],
  count: 1 + (at % 3),
  hashes: ['00'],
  ...(at === 1 && { texts: [HOSTILE] }),
}))

export const GUARDRAIL_REPLIES = {
  'GET /v1/guardrails': { data: GUARDRAILS, total_count: GUARDRAILS.length },
  'GET /v1/guardrails/assignments/keys': { data: ASSIGNMENTS, total_count: ASSIGNMENTS.length },
  'POST /guardrails/command': { data: FINDINGS, next: null },
}

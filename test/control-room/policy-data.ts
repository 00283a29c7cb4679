/** Replies of the management API on the configuration, with texts that try to be markup. */
import { HOSTILE } from './now-status.ts'

const FILE = '/etc/headgate/headgate.yaml'

export const TEXT = `providers:
  acme: { dialect: openai-chat, base_url: "https://acme.example/v1", key: "\${ACME_KEY}" }
  globex: { dialect: anthropic, key: "\${GLOBEX_KEY?}" }
models:
${Array.from({ length: 30 }, (_, at) => `  acme/model-${at}: { endpoints: [{ provider: acme, model: model-${at}, price: { prompt: "0.4", completion: "1.6" } }] }`).join('\n')}
routing:
  sort: price
guardrails:
  - { name: no-secrets, content_filter_builtins: [{ slug: email, action: redact }] }
`

export const CONFIGURATION = { file: FILE, files: [FILE, '/etc/headgate/catalogue.yaml'], text: TEXT, loaded_at: '2026-11-26T08:00:00Z' }

export const CHECK = {
  problems: [
    { file: FILE, line: 3, column: 13, path: 'providers.globex.dialect', message: `${HOSTILE}, expected one of openai-chat, anthropic` },
    { file: '/etc/headgate/catalogue.yaml', line: 7, column: 1, path: '', message: 'a tab, expected spaces' },
  ],
  counts: null,
  restart: ['server.port'],
  tests: [
    { name: 'reports go to Acme', passed: true, differences: [] },
    { name: HOSTILE, passed: false, differences: ['endpoint: expected acme/large, found globex/fast'] },
  ],
}

const went = (endpoint: string | null, error: string | null = null) => ({ endpoint, provider_name: endpoint && 'Acme', error })

export const REHEARSAL = {
  count: 200,
  changed: [
    { id: 'gen-1', created_at: '2026-11-26T09:00:00Z', model: 'acme/model-1', before: went('acme/1'), after: went('globex/1') },
    { id: 'gen-2', created_at: '2026-11-26T09:01:00Z', model: HOSTILE, before: went('acme/2'), after: went(null, 'No endpoint is left') },
  ],
}

export const POLICY_REPLIES = {
  'GET /v1/configuration': { data: CONFIGURATION },
  'POST /v1/configuration/check': { data: CHECK },
  'POST /v1/configuration/rehearse': { data: REHEARSAL },
}

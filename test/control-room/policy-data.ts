/** Replies of the management API on the configuration, with texts that try to be markup. */
import { HOSTILE } from './now-status.ts'

const FILE = '/etc/headgate/headgate.yaml'
const CATALOGUE = '/etc/headgate/catalogue.yaml'

const entry = (path: string, value: unknown, line: number, file = FILE) => ({ path, value, secret: false, file, line, column: 3 })

export const CONFIGURATION = {
  file: FILE,
  files: [FILE, CATALOGUE],
  entries: [
    { ...entry('providers.acme.key', `\${ACME_KEY}`, 3), secret: true },
    { ...entry('providers.globex.key', '***', 4), secret: true },
    entry('routing.sort', 'price', 6),
    entry('guardrails[0].name', HOSTILE, 8),
    ...Array.from({ length: 300 }, (_, at) => entry(`models["acme/model-${at}"].name`, `Model ${at}`, at + 2, CATALOGUE)),
  ],
  left_out: 12,
}

/** A text that differs from it in the order of routing and in a setting of its own. */
export const TEXT = `# ${HOSTILE}
providers:
  acme: { key: "\${env:ACME_KEY}" }
  globex: { key: sk-another-one }
routing: { sort: latency }
server: { port: 9000 }
guardrails:
  - name: ${JSON.stringify(HOSTILE)}
`

export const CHECK = {
  ok: false,
  problems: [{ line: 3, column: 11, path: 'providers.acme.dialect', message: `${HOSTILE}, expected one of openai-chat, anthropic` }],
  not_checked: [{ line: 3, column: 16, path: 'providers.acme.key', what: `\${env:ACME_KEY}` }],
  counts: null,
  needs_restart: ['server.port'],
  tests: [
    { name: 'reports go to Acme', passed: true, differences: [] },
    { name: HOSTILE, passed: false, differences: ['order: expected acme/large, found globex/fast'] },
  ],
  test_problems: [{ line: 9, column: 1, path: 'tests[2]', message: HOSTILE }],
  passed: 1,
  failed: 1,
}

export const POLICY_REPLIES = {
  'GET /v1/configuration': { data: CONFIGURATION },
  'POST /v1/configuration/check': { data: CHECK },
}

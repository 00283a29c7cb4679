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

const line = (kind: string, was: number | null, now: number | null, text: string, count = 1) => ({ kind, was, now, text, count })

/** Lines behind a change, so that the lines scroll. */
const MANY = Array.from({ length: 40 }, (_, at) => line('added', null, at + 9, `    acme/model-${at}: { name: "Model ${at}" }`))

export const CHECK = {
  ok: false,
  difference: {
    added: 42,
    removed: 1,
    lines: [
      line('folded', 1, 1, '', 4),
      line('same', 5, 5, 'routing:'),
      line('removed', 6, null, '  sort: price'),
      line('added', null, 5, '  sort: latency'),
      line('added', null, 6, `  note: ${HOSTILE}, ${'and a text that is wider than any window '.repeat(4)}`),
      line('folded', 7, 7, '', 1),
      ...MANY,
    ],
    left_out: 12,
  },
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

const outcome = (endpoint: string, cost: number | null) => ({
  model: 'acme/large',
  provider_name: 'Acme',
  endpoint,
  price: { prompt: '1', completion: '2' },
  cost,
  refused: null,
})

const refused = {
  model: null,
  provider_name: null,
  endpoint: null,
  price: null,
  cost: 0,
  refused: { status: 404, type: 'not_found', message: `No such model: ${HOSTILE}` },
}

const rehearsed = (id: number, planned: object, differences: object[]) => ({
  id: `gen-${id}`,
  created_at: `2026-11-26T10:0${id}:00.000Z`,
  api_key_name: id === 3 ? HOSTILE : 'reports',
  happened: { model: 'acme/large', provider_name: 'Acme', endpoint: 'acme/large@acme', status: 'completed', usage: 0.0123 },
  today: outcome('acme/large@acme', 0.0123),
  planned,
  differences,
})

const MOVED = { what: 'endpoint', was: 'acme/large@acme', would_be: 'acme/large@globex/fast' }
const DEARER = { what: 'price', was: 'prompt 1, completion 2', would_be: 'prompt 3, completion 4' }
const GONE = { what: 'refused', was: 'acme/large@acme', would_be: 'refused with 404' }

export const REHEARSAL = {
  ok: true,
  problems: [],
  not_checked: [],
  approximate: ['the words of the requests: a text of the same length stands for them'],
  requests: [
    rehearsed(3, outcome('acme/large@globex/fast', 0.0321), [MOVED, DEARER]),
    rehearsed(2, refused, [GONE]),
    rehearsed(1, outcome('acme/large@acme', 0.0123), []),
  ],
  summary: {
    requests: 3,
    differ: 2,
    by: { model: 0, endpoint: 1, price: 1, refused: 1, served: 0 },
    changes: [MOVED, DEARER, GONE].map((change) => ({ ...change, count: 1 })),
    cost: { happened: 0.0369, today: 0.0369, planned: 0.0444, requests: 3 },
  },
  left_out: { no_inputs: 4, key_gone: 1, no_time: 0 },
  scanned_until: '2026-11-26T10:01:00.000Z',
}

export const POLICY_REPLIES = {
  'POST /v1/configuration/rehearse': { data: REHEARSAL },
  'GET /v1/configuration': { data: CONFIGURATION },
  'POST /v1/configuration/check': { data: CHECK },
}

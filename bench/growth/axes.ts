/** Axes of the growth charts: for each size a gateway, the requests to it, and what a reply must hold. */
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { policyText } from '../../src/store/key-policy.ts'
import { openDatabase } from '../../src/store/sqlite.ts'
import type { GatewayStart } from '../gateway.ts'
import { fillSqlite } from '../ledger-lists-fill.ts'
import { BENCH_KEY, CHAT, CHAT_2KB } from '../requests.ts'
import type { Bound } from './curve.ts'

export interface AxisRequest {
  readonly body: string
  readonly key: string
}

export interface Axis {
  readonly name: string
  readonly title: string
  readonly sizes: string
  readonly bound: Bound
  readonly at: readonly number[]
  /** One gateway for all sizes, or one for each. */
  readonly start: GatewayStart | ((size: number) => GatewayStart)
  /** The request of each turn; they differ where a look-up is measured. */
  request(size: number, turn: number): AxisRequest
  /** Bytes with which a whole reply ends. */
  readonly ends: string
  /** Requests before anything counts: as many as there are keys or models in use, each of which is read once from where it stands. */
  readonly warmTurns?: number
  /** Streams that are open meanwhile. */
  readonly held?: (size: number) => number
}

/** So many keys or models are in use at a time, spread over all of them. */
const IN_USE = 200
/** The loader bounds the values of one file. */
const MODELS_OF_FILE = 1_000
const ENDPOINTS = 3
const EVENTS = [10, 100, 1_000, 10_000]

/** The last member of the usage that the gateway adds. */
const JSON_END = '"is_byok":false}}'
const STREAM_END = 'data: [DONE]\n\n'

const chat = (more: object): string =>
  JSON.stringify({ model: 'bench/large', messages: [{ role: 'user', content: 'Why is the sea salty?' }], max_tokens: 512, ...more })
const own = (body: string): AxisRequest => ({ body, key: BENCH_KEY })
const prices = 'price: { prompt: "0.25", completion: "2.00" }'

/** Made once for each size: the load is not to spend its time on bodies. */
const bodies = new Map<string, string>()
function once(name: string, make: () => string): string {
  let body = bodies.get(name)
  if (body === undefined) {
    body = make()
    bodies.set(name, body)
  }
  return body
}

const LINE = 'export function settle(rows: readonly Row[], at: number): Map<string, number> { return sums } // "é"\n'
function messages(bytes: number): object[] {
  const each = Math.min(bytes, 8_000)
  const text = LINE.repeat(Math.ceil(each / LINE.length)).slice(0, Math.floor(each * 0.96))
  return Array.from({ length: Math.ceil(bytes / each) }, (_, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content: text }))
}

const tools = (count: number): object[] =>
  Array.from({ length: count }, (_, at) => ({
    type: 'function',
    function: {
      name: `tool_${at}`,
      description: `Tool ${at}. It takes the path of a file and returns what was found there.`,
      parameters: {
        type: 'object',
        properties: { file_path: { type: 'string', description: 'An absolute path' }, limit: { type: 'integer', minimum: 1 } },
        required: ['file_path'],
        additionalProperties: false,
      },
    },
  }))

const keySecret = (key: number): string => `sk-router-v1-bench-growth-${String(key).padStart(24, '0')}`

/** Writes keys into a new store, as the management API makes them. */
function fillKeys(folder: string, count: number): string {
  const file = join(folder, 'bench.db')
  openDatabase(file, 'process').close()
  const db = new DatabaseSync(file)
  const policy = policyText({ allowedModels: undefined, provider: undefined, limits: {}, passThrough: false })
  const insert = db.prepare(`INSERT INTO api_key (hash, name, label, credit_limit, management, disabled, expires_at, policy, limit_reset,
    include_byok, creator, issuer, updated_at, created_at, identity) VALUES (?1, ?2, 'sk-router', 1000000000000000, 0, 0, NULL, ?3, NULL, 0, NULL, NULL, 1, 1, ?1)`)
  // In the order of the table, so that no page is written twice.
  const hashes = Array.from({ length: count }, (_, key) => createHash('sha256').update(keySecret(key)).digest('hex')).sort()
  db.exec('PRAGMA journal_mode = DELETE; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN')
  for (const [at, hash] of hashes.entries()) insert.run(hash, `key-${at}`, policy)
  db.exec('COMMIT')
  db.close()
  return ''
}

/** Writes a catalogue of models with three endpoints each. */
function fillModels(folder: string, count: number): string {
  const endpoint = (at: number): string => `{ provider: mock, model: chat-${at}, variant: v${at}, ${prices} }`
  const all = Array.from({ length: ENDPOINTS }, (_, at) => endpoint(at)).join(', ')
  const files: string[] = []
  for (let from = 0; from < count; from += MODELS_OF_FILE) {
    const some = Array.from({ length: Math.min(MODELS_OF_FILE, count - from) }, (_, at) => from + at)
    const name = `models-${from}.yaml`
    writeFileSync(
      join(folder, name),
      `models:\n${some.map((at) => `  growth/model-${at}: { context: 200000, endpoints: [ ${all} ] }\n`).join('')}`,
    )
    files.push(name)
  }
  return `catalog: [ ${files.join(', ')} ]\n`
}

const patterns = (count: number): string =>
  count === 0
    ? ''
    : `guardrails:\n  - name: growth\n    content_filters:\n${Array.from({ length: count }, (_, at) => `      - { pattern: 'ticket-${at}-[0-9]{4,8}', action: flag }\n`).join('')}`

async function fillRows(folder: string, rows: number): Promise<string> {
  if (rows > 0) await fillSqlite(join(folder, 'bench.db'), rows)
  return ''
}

/** Models whose streams have so many events, and one that is silent after its first. */
function streamModels(folder: string): string {
  const names = [...EVENTS.map((count) => `events-${count}`), 'silent']
  const model = (name: string): string =>
    `  growth/${name}: { context: 200000, endpoints: [ { provider: mock, model: ${name}, ${prices} } ] }\n`
  writeFileSync(join(folder, 'streams.yaml'), `models:\n${names.map(model).join('')}`)
  return 'catalog: [ streams.yaml ]\n'
}

/** @param ledger a store with 10 million rows that `bench/ledger-lists.ts --file` has filled. */
export function growthAxes(ledger: string | undefined): readonly Axis[] {
  const inUse = (size: number, turn: number): number => Math.floor(((turn % IN_USE) * size) / IN_USE)
  const rows = 10_000_000
  return [
    {
      name: 'body',
      title: 'Body of a chat, one JSON reply',
      sizes: 'bytes of the body',
      bound: 'linear',
      at: [1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000, 4_000_000],
      start: {},
      request: (size) => own(once(`body-${size}`, () => chat({ messages: messages(size) }))),
      ends: JSON_END,
    },
    {
      name: 'events',
      title: 'Events of a stream',
      sizes: 'events',
      bound: 'linear',
      at: EVENTS,
      start: { prepare: streamModels },
      request: (size) => own(once(`events-${size}`, () => chat({ model: `growth/events-${size}`, stream: true }))),
      ends: STREAM_END,
    },
    {
      name: 'tools',
      title: 'Tools of a chat',
      sizes: 'tools',
      bound: 'linear',
      at: [1, 4, 16, 64, 256],
      start: {},
      request: (size) => own(once(`tools-${size}`, () => chat({ tools: tools(size) }))),
      ends: JSON_END,
    },
    {
      name: 'streams',
      title: 'A small chat beside open streams',
      sizes: 'open streams',
      bound: 'flat',
      at: [0, 100, 500, 2_000],
      start: () => ({ prepare: streamModels }),
      request: () => own(CHAT.body),
      ends: JSON_END,
      held: (size) => size,
    },
    {
      name: 'keys',
      title: 'A small chat beside many keys',
      sizes: 'keys in the store',
      bound: 'flat',
      at: [1, 1_000, 100_000, 1_000_000],
      start: (size) => ({ prepare: (folder) => fillKeys(folder, size) }),
      request: (size, turn) => ({ body: CHAT.body, key: keySecret(inUse(size, turn)) }),
      ends: JSON_END,
      warmTurns: 2 * IN_USE,
    },
    {
      name: 'models',
      title: 'A small chat beside many models of three endpoints each',
      sizes: 'models',
      bound: 'flat',
      at: [10, 100, 1_000, 10_000],
      start: (size) => ({ prepare: (folder) => fillModels(folder, size) }),
      request: (size, turn) => {
        const model = inUse(size, turn)
        return own(once(`model-${model}`, () => chat({ model: `growth/model-${model}` })))
      },
      ends: JSON_END,
      warmTurns: 2 * IN_USE,
    },
    {
      name: 'rows',
      title: 'A small chat beside many rows of the ledger',
      sizes: 'rows of the ledger',
      bound: 'flat',
      at: [0, 10_000, 100_000, 1_000_000, ...(ledger === undefined ? [] : [rows])],
      start: (size) => (size === rows ? { storeFile: ledger ?? '' } : { prepare: (folder) => fillRows(folder, size) }),
      request: () => own(CHAT.body),
      ends: JSON_END,
    },
    {
      name: 'guardrails',
      title: 'Patterns of guardrails over a chat of 2 KB',
      sizes: 'patterns',
      bound: 'linear',
      at: [0, 1, 4, 16, 64],
      start: (size) => ({ prepare: () => patterns(size) }),
      request: () => own(CHAT_2KB.body),
      ends: JSON_END,
    },
  ]
}

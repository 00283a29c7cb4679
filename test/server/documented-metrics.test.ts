/** Every metric of the documents has a sample in a scrape, and what can be counted moves when it happens. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import { startCollector } from '../support/collector.ts'
import { eventually } from '../support/eventually.ts'
import { type Gateway, KEY, oneModel } from '../support/gateway.ts'
import { RawClient } from '../support/raw.ts'
import { startScene } from '../support/scene.ts'
import { startTlsScene } from '../support/tls-scene.ts'
import { Gate, jsonAnswer, REFUSING_URL, sseAnswer } from '../support/upstream.ts'
import { startReceiver, WEBHOOK_SECRET } from '../support/webhook-receiver.ts'
import { answerFor, framesFor, WIRES } from '../support/wire.ts'

const DOCUMENT = join(import.meta.dirname, '..', '..', 'docs', 'operations.md')
const BODY = { model: 'acme/one', messages: [{ role: 'user', content: 'Write to a@example.com' }] }

/** Names in the table of metrics, without those of the owner of workers. */
function documented(): string[] {
  const text = readFileSync(DOCUMENT, 'utf8')
  const table = text.slice(text.indexOf('| Metric '), text.indexOf('Worth an alert'))
  const rows = table.split('\n').filter((row) => !row.includes('`--workers`'))
  return rows.flatMap((row) => /^\| `(headgate_\w+)`/.exec(row)?.[1] ?? [])
}

/** The sum of all samples of a metric; undefined where there is none. */
async function metricSum(gateway: Gateway, name: string): Promise<number | undefined> {
  const text = await (await fetch(`${gateway.admin}/metrics`)).text()
  const samples = text.split('\n').filter((line) => new RegExp(`^${name}(_count)?(\\{| )`).test(line))
  return samples.length === 0 ? undefined : samples.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}

async function moving() {
  const receiver = await startReceiver()
  t.teardown(() => receiver.close())
  const collector = await startCollector()
  t.teardown(() => collector.close())
  // partial_success { rejected_spans: 1 }
  collector.answer = () => ({ status: 200, body: Buffer.from([0x0a, 2, 0x08, 1]) })
  const folder = t.testdir()
  return startScene(t, {
    answer: (seen) => (seen.headers['x-api-key'] === 'sk-refused' ? { status: 401, body: ['{}'] } : answerFor(seen, { text: ['Hello'] })),
    config: (url) => `server: { host: 127.0.0.1, port: 0, body_memory: 1MB }
auth: { keys: [ { name: test, key: "${KEY}" } ] }
telemetry: { endpoint: "${collector.url}" }
health_checks: { kind: list }
store: { url: "sqlite:${folder}/headgate.db" }
exports:
  - { name: kept, interval: 50ms, file: { path: "${folder}/exports" } }
  - { name: down, interval: 50ms, clickhouse: { url: "${REFUSING_URL}" } }
events: { receivers: [ { name: down, url: "http://127.0.0.1:9/hook", secret: "${WEBHOOK_SECRET}" }, { name: up, url: "${receiver.url}", secret: "${WEBHOOK_SECRET}" } ] }
policies: [ { name: many, when: 'request.model == "acme/one"', limit: { requests: 100000 } } ]
guardrails:
  - { name: mail, content_filter_builtins: [ { slug: email, action: flag } ] }
${oneModel(url, 'anthropic').replace(
  'providers:',
  `providers:
  pool: { dialect: anthropic, base_url: "${url}/v1", keys: [ { key: sk-refused }, { key: sk-taken, requests_per_minute: 1 } ] }
  token: { dialect: anthropic, base_url: "${url}/v1", credential: { command: [echo, a-token] } }`,
)}
  acme/pool: { endpoints: [ { provider: pool, model: upstream-model, price: free } ] }
  acme/token: { endpoints: [ { provider: token, model: upstream-model, price: free } ] }
`,
    directory: folder,
    clock: systemClock,
  })
}

/** Of these the scene moves each away from 0. */
const MOVED = [
  'headgate_requests_total',
  'headgate_attempts_total',
  'headgate_tokens_total',
  'headgate_cost_usd_total',
  'headgate_first_event_seconds',
  'headgate_added_latency_seconds',
  'headgate_open_streams',
  'headgate_guardrail_hits_total',
  'headgate_health_checks_total',
  'headgate_shed_total',
  'headgate_answer_checks_total',
  'headgate_reloads_total',
  'headgate_reload_failures_total',
  'headgate_credential_refreshes_total',
  'headgate_provider_key_refusals_total',
  'headgate_account_refusals_total',
  'headgate_unknown_words_total',
  'headgate_export_rows_total',
  'headgate_export_failed_batches_total',
  'headgate_events_delivered_total',
  'headgate_events_failed_total',
]

t.test('every documented metric is written', async (t) => {
  const { gateway, upstream } = await moving()
  const names = documented()
  t.ok(names.length > 10, `${names.length} metrics are documented`)
  // Messages has no such format: the gateway itself checks the answer.
  await (await gateway.post('/v1/chat/completions', { ...BODY, response_format: { type: 'json_object' } })).text()
  for (const model of ['acme/token', 'acme/pool', 'acme/pool', 'acme/pool', 'acme/pool'])
    await (await gateway.post('/v1/chat/completions', { ...BODY, model })).text()
  upstream.script = () => jsonAnswer({ ...WIRES.anthropic.reply({ text: ['Hello'] }), stop_reason: 'moonrise' })
  await (await gateway.post('/v1/chat/completions', BODY)).text()
  upstream.script = () => ({ status: 402 })
  await (await gateway.post('/v1/chat/completions', BODY)).text()
  upstream.script = () => ({ status: 500 })
  await (await gateway.post('/v1/chat/completions', BODY)).text()
  const gate = new Gate()
  const [first, ...rest] = framesFor('/v1/messages', { text: ['Hello', ' there'] })
  upstream.script = () => sseAnswer([first, ...rest.slice(0, 1), gate.step, ...rest.slice(1)])
  const stream = await gateway.post('/v1/chat/completions', { ...BODY, stream: true })
  const large = { ...BODY, messages: [{ role: 'user', content: 'a'.repeat(400_000) }] }
  const refused = await gateway.post('/v1/chat/completions', large)
  t.equal(refused.status, 503, 'a body without room')
  await gateway.running.reload()
  await gateway.reconfigure('nonsense: [').catch(() => undefined)
  for (const name of ['headgate_export_rows_total', 'headgate_export_failed_batches_total'])
    await eventually(name, async () => ((await metricSum(gateway, name)) ?? 0) > 0)
  await eventually('a health check', async () => ((await metricSum(gateway, 'headgate_health_checks_total')) ?? 0) > 0)
  await eventually('an export', async () => ((await metricSum(gateway, 'headgate_otel_exported_total')) ?? 0) > 0)
  for (const name of ['delivered', 'failed'])
    await eventually(`an event ${name}`, async () => ((await metricSum(gateway, `headgate_events_${name}_total`)) ?? 0) > 0)
  const secure = await startTlsScene(t)
  await (await RawClient.open(secure.gateway.url)).send('GET / HTTP/1.1\r\n\r\n').closed()
  for (const name of names) {
    const from = name.startsWith('headgate_tls_') ? secure.gateway : gateway
    t.ok((await metricSum(from, name)) !== undefined, `${name} has a sample`)
  }
  for (const name of MOVED) t.ok(((await metricSum(gateway, name)) ?? 0) > 0, `${name} has moved`)
  gate.open()
  await stream.text()
  t.equal(await metricSum(gateway, 'headgate_open_streams'), 0, 'the stream has ended')
})

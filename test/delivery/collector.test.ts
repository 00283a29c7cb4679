/**
 * The real OpenTelemetry collector: it takes the file that is shipped for it, and what two gateways export of one request comes out of it
 * as one trace with the right parents; metrics and the log come out as well.
 */
import { spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type SeenSpan, startCollector, treeProblems } from '../support/collector.ts'
import { freePorts } from '../support/crash/configuration.ts'
import { eventually } from '../support/eventually.ts'
import { KEY, startGateway } from '../support/gateway.ts'
import { follow } from '../support/program.ts'
import { jsonAnswer, startUpstream } from '../support/upstream.ts'
import { chatReply } from '../support/wire-chat.ts'
import { missing, tool } from './tools.ts'

const SHIPPED = join(import.meta.dirname, '../../deploy/compose/config/collector.yaml')
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const otelcol = tool('otelcol') ?? ''
const skip = otelcol === '' && missing('otelcol')

t.test('it takes the shipped file', { skip }, async (t) => {
  const validate = (...files: string[]) =>
    spawnSync(otelcol, ['validate', ...files.map((file) => `--config=${file}`)], { encoding: 'utf8' })
  const { status, stderr } = validate(SHIPPED)
  t.equal(status, 0, stderr)
  const wrong = join(t.testdir(), 'wrong.yaml')
  writeFileSync(wrong, 'service: { pipelines: { traces: { exporters: [ missing ] } } }\n')
  t.not(validate(SHIPPED, wrong).status, 0, 'a mistake is found')
})

t.test('one request through two gateways comes out of it as one trace', { skip }, async (t) => {
  const behind = await startCollector()
  const [port] = await freePorts(1)
  const more = join(t.testdir(), 'more.yaml')
  // What the shipped file invites to do: an exporter with the address of a backend, named in the pipelines.
  writeFileSync(
    more,
    `receivers: { otlp: { protocols: { http: { endpoint: "127.0.0.1:${port}" } } } }
exporters: { otlphttp: { endpoint: "${behind.url}", compression: none } }
service: { pipelines: { traces: { exporters: [ debug, otlphttp ] }, metrics: { exporters: [ debug, otlphttp ] }, logs: { exporters: [ debug, otlphttp ] } } }
`,
  )
  const running = follow(spawn(otelcol, [`--config=${SHIPPED}`, `--config=${more}`], { stdio: ['ignore', 'pipe', 'pipe'] }))
  const provider = await startUpstream(() => jsonAnswer(chatReply({ text: ['Hello'] })))
  t.teardown(async () => {
    running.child.kill('SIGKILL')
    await provider.close()
    await behind.close()
  })
  await running.until(/Everything is ready/)
  const telemetry = (name: string): string =>
    `telemetry: { endpoint: "http://127.0.0.1:${port}", service_name: ${name}, metrics: { enabled: true }, logs: { enabled: true } }\n`
  const gateway = (name: string, base: string, key: string): string => `${telemetry(name)}
providers: { next: { dialect: openai-chat, base_url: "${base}/v1", key: "${key}", trace_context: baggage } }
models: { acme/one: { endpoints: [ { provider: next, model: acme/one, price: free } ] } }
`
  const inner = await startGateway(gateway('inner', provider.url, 'sk-provider-0123456789'))
  const outer = await startGateway(gateway('outer', inner.url, KEY))
  const sent = { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'acme=1' }
  const reply = await outer.post('/v1/chat/completions', { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] }, sent)
  t.match(await reply.text(), 'Hello')
  // Their ends send what waits.
  await outer.close()
  await inner.close()
  const seen = (path: string): boolean => behind.exports.some((each) => each.path === path)
  await eventually('all three signals', () => behind.spans.length >= 4 && seen('/v1/metrics') && seen('/v1/logs'))
  const spans = behind.spans
  t.equal(spans.length, 4)
  t.same([...new Set(spans.map(({ traceId }) => traceId))], [TRACE], 'one trace')
  const of = (name: string, kind: string): SeenSpan => {
    const [span, ...others] = spans.filter(({ resource, kind: each }) => resource['service.name'] === name && each === `SPAN_KIND_${kind}`)
    if (!span || others.length > 0) throw new Error(`${name} has ${others.length + (span ? 1 : 0)} spans ${kind}`)
    return span
  }
  const [outerServer, outerClient, innerServer, innerClient] = [
    of('outer', 'SERVER'),
    of('outer', 'CLIENT'),
    of('inner', 'SERVER'),
    of('inner', 'CLIENT'),
  ]
  t.same(
    [outerServer.parentId, outerClient.parentId, innerServer.parentId, innerClient.parentId],
    [SPAN, outerServer.spanId, outerClient.spanId, innerServer.spanId],
    'each under the one before',
  )
  t.equal(provider.requests.at(-1)?.headers.traceparent, `00-${TRACE}-${innerClient.spanId}-01`, 'and the provider under the last')
  t.equal(innerServer.state, 'acme=1')
  t.match(innerClient.attributes, { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'acme/one' })
  t.same(treeProblems(spans, [SPAN]), [])
  t.same(behind.problems, [])
  t.notMatch(running.err(), /\berror\b|dropp|reject/i, 'it complains of nothing')
})

/** Metrics by OTLP: those of the GenAI conventions with exemplars, and those that Prometheus shows. */
import t from 'tap'
import { FakeClock } from '../support/clock.ts'
import { type Collector, decodeAttributes, startCollector, type Value } from '../support/collector.ts'
import { eventually } from '../support/eventually.ts'
import { every } from '../support/every.ts'
import { startGateway } from '../support/gateway.ts'
import { jsonAnswer, sseAnswer, startUpstream } from '../support/upstream.ts'
import { chatFrames, chatReply } from '../support/wire-chat.ts'

const PROMPT = 'the words of the prompt'
const SECRET = 'sk-provider-secret-0123456789'

interface Point {
  readonly attributes: Readonly<Record<string, Value>>
  readonly value: number
  readonly counts: number[]
  readonly bounds: number[]
  readonly count: number
  readonly sum: number
  readonly exemplars: { traceId: string; spanId: string; value: number }[]
}

interface Metric {
  readonly unit: string
  readonly kind: 'sum' | 'gauge' | 'histogram'
  readonly points: Point[]
}

const hex = (base64: string): string => Buffer.from(base64, 'base64').toString('hex')

/** The metrics of the last export; what breaks a rule goes to the collector's problems. */
function collectedMetrics({ exports }: Collector): Map<string, Metric> {
  const found = new Map<string, Metric>()
  const last = exports.findLast(({ path }) => path === '/v1/metrics')
  const problems: string[] = []
  for (const { scopeMetrics } of last?.message.resourceMetrics ?? []) {
    for (const metric of scopeMetrics[0].metrics) {
      const kind = (['sum', 'gauge', 'histogram'] as const).find((each) => metric[each])
      if (!kind || found.has(metric.name)) throw new Error(`${metric.name}: ${kind}`)
      const data = metric[kind]
      if (kind !== 'gauge' && data.aggregationTemporality !== 'AGGREGATION_TEMPORALITY_CUMULATIVE') throw new Error(metric.name)
      const points = data.dataPoints.map((point: Record<string, never>) => {
        const { startTimeUnixNano: since = '0', timeUnixNano: now = '0' } = point as Record<string, string>
        if (BigInt(since) <= 0n || BigInt(now) < BigInt(since)) throw new Error(`${metric.name}: from ${since} to ${now}`)
        const { bucketCounts = [], explicitBounds = [], exemplars = [] } = point as Record<string, never[]>
        return {
          attributes: decodeAttributes(point.attributes ?? [], problems),
          value: Number(point.asDouble ?? 0),
          counts: bucketCounts.map(Number),
          bounds: explicitBounds.map(Number),
          count: Number(point.count ?? 0),
          sum: Number(point.sum ?? 0),
          exemplars: exemplars.map(({ traceId, spanId, asDouble }: Record<string, never>) => ({
            traceId: hex(traceId),
            spanId: hex(spanId),
            value: Number(asDouble),
          })),
        }
      })
      found.set(metric.name, { unit: metric.unit, kind, points })
    }
  }
  if (problems.length > 0) throw new Error(problems.join())
  return found
}

const collector = await startCollector()
const provider = await startUpstream((seen) => {
  if (seen.json.model === 'broken') return jsonAnswer({ error: { message: 'down' } }, 503)
  return seen.json.stream === true ? sseAnswer(chatFrames({ text: ['hello'] })) : jsonAnswer(chatReply({ text: ['hello'] }))
})
t.teardown(async () => {
  await provider.close()
  await collector.close()
})

const yaml = (more: string): string => `
telemetry: { endpoint: "${collector.url}", metrics: { ${more} } }
providers: { first: { dialect: openai-chat, base_url: "${provider.url}/v1", key: "${SECRET}", telemetry_name: first.ai } }
models:
  acme/one: { endpoints: [ { provider: first, model: upstream-one, price: { prompt: "1.00", completion: "2.00" } } ] }
  acme/bad: { endpoints: [ { provider: first, model: broken, price: free } ] }
`

t.test('what calls of providers took and used, with the traced ones as exemplars', async (t) => {
  const gateway = await startGateway(yaml('enabled: true'))
  for (const body of [{ model: 'acme/one' }, { model: 'acme/one', stream: true }, { model: 'acme/bad' }])
    await (await gateway.post('/v1/chat/completions', { ...body, messages: [{ role: 'user', content: PROMPT }] })).text()
  await gateway.close()
  const metrics = collectedMetrics(collector)
  const of = (name: string): readonly Point[] => metrics.get(name)?.points ?? []
  const names = { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'first.ai', 'gen_ai.request.model': 'upstream-one' }
  const [served, failed] = of('gen_ai.client.operation.duration')
  t.match(served, { attributes: names, count: 2 })
  t.match(failed?.attributes, { 'gen_ai.request.model': 'broken', 'error.type': /./ })
  t.equal(metrics.get('gen_ai.client.operation.duration')?.unit, 's')
  const usage = of('gen_ai.client.token.usage')
  t.match(usage, [
    { attributes: { ...names, 'gen_ai.token.type': 'input' }, count: 2, sum: 22 },
    { attributes: { ...names, 'gen_ai.token.type': 'output' }, count: 2, sum: 14 },
  ])
  t.equal(of('gen_ai.client.operation.time_to_first_chunk')[0]?.count, 1, 'of the stream alone')
  const spans = new Map(collector.spans.map((span) => [span.spanId, span]))
  const exemplars = usage.flatMap((point) => point.exemplars)
  t.ok(exemplars.length > 0)
  await every(t, 'each exemplar names the span of a call', async (t) => {
    for (const { traceId, spanId, value } of exemplars) t.match(spans.get(spanId), { traceId, kind: 'SPAN_KIND_CLIENT' }, `${value}`)
  })
  await every(t, 'each histogram adds up', async (t) => {
    for (const [name, { kind, points }] of metrics) {
      if (kind !== 'histogram') continue
      for (const { counts, bounds, count } of points) {
        t.equal(counts.length, bounds.length + 1, name)
        t.equal(
          counts.reduce((sum, each) => sum + each, 0),
          count,
          name,
        )
      }
    }
  })
  const requests = metrics.get('headgate_requests_total')
  t.equal(requests?.kind, 'sum')
  t.equal(
    requests?.points.reduce((sum, { value }) => sum + value, 0),
    3,
  )
  t.equal(metrics.get('headgate_first_event_seconds')?.kind, 'histogram')
  t.equal(metrics.get('headgate_process_memory_bytes')?.unit, 'By')
  const bytes = Buffer.concat(collector.exports.map((each) => each.bytes))
  for (const secret of [PROMPT, SECRET, gateway.key]) t.equal(bytes.indexOf(secret), -1)
  t.same(collector.problems, [])
})

t.test('at the interval, and only where they are wanted', async (t) => {
  const clock = new FakeClock()
  const gateway = await startGateway(yaml('enabled: true, interval: 30s'), { clock })
  const sent = (): number => collector.exports.filter(({ path }) => path === '/v1/metrics').length
  const before = sent()
  await clock.advance(29_000)
  t.equal(sent(), before)
  await clock.advance(1_000)
  await eventually('the first export', async () => {
    await clock.advance(2_000)
    return sent() === before + 1
  })
  await gateway.close()
  const after = sent()
  const none = await startGateway(yaml(''))
  await (await none.post('/v1/chat/completions', { model: 'acme/one', messages: [{ role: 'user', content: 'hi' }] })).text()
  await none.close()
  t.equal(sent(), after)
})

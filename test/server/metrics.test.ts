/** Metrics of one gateway, and those of several processes shown as one. */
import t, { type Test } from 'tap'
import { counter, MetricRegistry, type MetricSnapshot, reading } from '../../src/machines/metrics/metrics.ts'
import { countAttempt } from '../../src/pipeline/attempt/attempt.ts'
import { ExchangeMetrics } from '../../src/server/exchange-recorder.ts'
import { MergedMetrics, metricsText, ProcessGauges } from '../../src/server/metrics.ts'

const EXCHANGE = {
  client: 'chat',
  status: 200,
  lane: 'pass',
  provider: 'acme',
  model: 'acme/small',
  tokensIn: 10,
  tokensOut: 20,
  costNano: 1_500_000,
  firstEventMs: 40,
  addedMs: 0.2,
}

const tried = counter('tried_total', 'A counter without labels.')
const read = reading('gauge', 'read', 'A number that stands elsewhere.')

interface Counted {
  metrics: MetricRegistry
  exchanges: ExchangeMetrics
}

function counted(t: Test): Counted {
  const metrics = new MetricRegistry()
  const gauges = new ProcessGauges(metrics)
  t.teardown(() => gauges.close())
  return { metrics, exchanges: new ExchangeMetrics(metrics) }
}

/** Sample lines of the exposition by series. */
function samples(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]))
}

/** Sum of the samples of one metric whose labels contain each text. */
function total(all: Map<string, number>, name: string, ...labels: string[]): number {
  let sum = 0
  for (const [series, value] of all) {
    if (series.split('{', 1)[0] === name && labels.every((label) => series.includes(label))) sum += value
  }
  return sum
}

t.test('metrics count exchanges, attempts, tokens, money and times', async (t) => {
  const { metrics, exchanges } = counted(t)
  exchanges.count(EXCHANGE)
  exchanges.count({ ...EXCHANGE, firstEventMs: 70_000, lane: 'translate', addedMs: 2 })
  exchanges.count({
    ...EXCHANGE,
    status: 401,
    provider: '',
    model: '',
    lane: '',
    tokensIn: 0,
    tokensOut: 0,
    costNano: 0,
    firstEventMs: -1,
    addedMs: -1,
  })
  for (const outcome of ['ok', 'upstream_cut', 'ok']) countAttempt(metrics, 'acme', outcome)
  for (const round of [1, 2]) {
    const all = samples(await metricsText(await metrics.snapshot()))
    t.equal(total(all, 'headgate_requests_total', 'model="acme/small"', 'status="200"', 'client="chat"'), 2, `scrape ${round}`)
    t.equal(total(all, 'headgate_requests_total', 'lane="translate"', 'provider="acme"'), 1)
    t.equal(total(all, 'headgate_requests_total', 'status="401"', 'model="none"', 'lane="none"'), 1)
    t.equal(total(all, 'headgate_tokens_total', 'direction="input"'), 20)
    t.equal(total(all, 'headgate_tokens_total', 'direction="output"'), 40)
    t.equal(total(all, 'headgate_cost_usd_total'), 0.003)
    t.equal(total(all, 'headgate_attempts_total', 'outcome="ok"'), 2)
    t.equal(total(all, 'headgate_attempts_total', 'outcome="upstream_cut"'), 1)
    t.equal(total(all, 'headgate_first_event_seconds_bucket', 'le="0.025"'), 0)
    t.equal(total(all, 'headgate_first_event_seconds_bucket', 'le="0.05"'), 1)
    t.equal(total(all, 'headgate_first_event_seconds_bucket', 'le="+Inf"'), 2)
    t.equal(total(all, 'headgate_first_event_seconds_count', 'provider="acme"'), 2)
    t.equal(total(all, 'headgate_first_event_seconds_sum'), 70.04)
    t.equal(total(all, 'headgate_added_latency_seconds_count', 'lane="pass"'), 1)
    t.ok(total(all, 'headgate_process_memory_bytes', 'kind="resident"') > 1e6)
    t.ok(all.has('headgate_event_loop_delay_seconds{quantile="0.99"}'))
    t.equal(all.get('headgate_tried_total'), 0, 'a counter without labels begins at 0')
    t.notOk(all.has('headgate_read'), 'a number without a source is not shown')
  }
  metrics.of(tried).add(2)
  metrics.of(read).from(() => 3)
  const all = samples(await metricsText(await metrics.snapshot()))
  t.equal(all.get('headgate_tried_total'), 2)
  t.equal(all.get('headgate_read'), 3)
})

t.test('two gateways of one process share no number', async (t) => {
  const [one, two] = [counted(t), counted(t)]
  one.exchanges.count(EXCHANGE)
  countAttempt(one.metrics, 'acme', 'ok')
  const all = samples(await metricsText(await two.metrics.snapshot()))
  for (const name of ['requests_total', 'attempts_total', 'tokens_total', 'first_event_seconds_count'])
    t.equal(total(all, `headgate_${name}`), 0)
})

t.test('only known names become labels, and series are bounded', async (t) => {
  const { metrics, exchanges } = counted(t)
  metrics.know({ model: new Set(['acme/small']), provider: new Set(['acme']) })
  exchanges.count({ ...EXCHANGE, model: 'user text\n{x="y"}' })
  exchanges.count({ ...EXCHANGE, status: 404, model: '', provider: '' })
  countAttempt(metrics, 'user text', 'ok')
  countAttempt(metrics, '', 'ok')
  let text = await metricsText(await metrics.snapshot())
  t.notMatch(text, 'user text')
  t.match(text, 'model="other"')
  t.match(text, 'status="404",lane="pass",provider="none",model="none"')
  t.match(text, 'headgate_attempts_total{provider="none",outcome="ok"} 1')
  metrics.know({ model: new Set(['acme/late']), provider: new Set(['acme']) })
  exchanges.count({ ...EXCHANGE, model: 'acme/late' })
  text = await metricsText(await metrics.snapshot())
  t.match(text, 'model="acme/late"', 'a reload brings new names')

  const open = counted(t)
  const count = 60_000
  for (let i = 0; i < count; i++) {
    open.exchanges.count({
      ...EXCHANGE,
      model: `m${i % 3000}`,
      provider: `p${i % 300}`,
      status: 200 + (i % 300),
      client: `c${i % 40}`,
      lane: `l${i % 40}`,
    })
    countAttempt(open.metrics, `p${i % 3000}`, `o${i % 50}`)
  }
  const all = samples(await metricsText(await open.metrics.snapshot()))
  t.ok(all.size < 10_000, `${all.size} series`)
  t.equal(total(all, 'headgate_requests_total'), count, 'nothing is lost by the bounds')
  t.ok(total(all, 'headgate_requests_total', 'client="other",status="400",lane="other",provider="other",model="other"') > 0)
  t.equal(total(all, 'headgate_attempts_total'), count)
  t.equal(total(all, 'headgate_tokens_total', 'direction="input"'), count * 10)
})

/** A snapshot as it is after it has crossed from one process to another. */
async function crossed({ metrics }: Counted): Promise<MetricSnapshot[]> {
  return JSON.parse(JSON.stringify(await metrics.snapshot())) as MetricSnapshot[]
}

t.test('of several processes counters and histograms add up, and what each has of its own has its name', async (t) => {
  const [owner, one, two] = [counted(t), counted(t), counted(t)]
  for (const { exchanges } of [one, two, two]) exchanges.count(EXCHANGE)
  two.exchanges.count({ ...EXCHANGE, model: 'acme/two', firstEventMs: -1 })
  const merged = new MergedMetrics()
  merged.show('1', await crossed(one))
  merged.show('2', await crossed(two))
  const text = await merged.text(await owner.metrics.snapshot())
  const all = samples(text)
  const place = 'provider="acme",model="acme/small"'
  t.equal(all.get(`headgate_requests_total{client="chat",status="200",lane="pass",${place}}`), 3)
  t.equal(all.get(`headgate_tokens_total{direction="output",${place}}`), 60)
  t.equal(all.get(`headgate_cost_usd_total{${place}}`)?.toFixed(6), '0.004500')
  t.equal(all.get('headgate_first_event_seconds_bucket{le="0.025",provider="acme"}'), 0)
  t.equal(all.get('headgate_first_event_seconds_bucket{le="0.05",provider="acme"}'), 3)
  t.equal(all.get('headgate_first_event_seconds_bucket{le="+Inf",provider="acme"}'), 3)
  t.equal(all.get('headgate_first_event_seconds_count{provider="acme"}'), 3)
  t.equal(all.get('headgate_first_event_seconds_sum{provider="acme"}')?.toFixed(6), '0.120000')
  t.equal(all.get('headgate_added_latency_seconds_count{lane="pass"}'), 4)
  for (const worker of ['owner', '1', '2']) {
    t.ok((all.get(`headgate_process_memory_bytes{kind="resident",worker="${worker}"}`) ?? 0) > 0)
    t.ok(all.has(`headgate_event_loop_delay_seconds{quantile="0.99",worker="${worker}"}`))
  }
  t.equal(text.match(/^# TYPE headgate_requests_total counter$/gm)?.length, 1, 'each is declared once')
  t.notMatch(text, /^[^#\n].*NaN/m)
})

t.test('what a worker counted stays after its end, and its gauges go', async (t) => {
  const owner = counted(t)
  const merged = new MergedMetrics()
  const series = 'headgate_requests_total{client="chat",status="200",lane="pass",provider="acme",model="acme/small"}'
  for (let lives = 1; lives <= 3; lives++) {
    const worker = counted(t)
    worker.exchanges.count(EXCHANGE)
    merged.show('1', await crossed(worker))
    merged.show('1', await crossed(worker))
    const alive = samples(await merged.text(await owner.metrics.snapshot()))
    t.equal(alive.get(series), lives)
    t.equal(alive.get('headgate_first_event_seconds_count{provider="acme"}'), lives)
    merged.end('1')
    const dead = samples(await merged.text(await owner.metrics.snapshot()))
    t.equal(dead.get(series), lives, 'a counter never falls')
    t.equal(dead.get('headgate_first_event_seconds_bucket{le="+Inf",provider="acme"}'), lives)
    t.notOk(dead.has('headgate_process_memory_bytes{kind="resident",worker="1"}'))
  }
})

/** Metrics of several processes shown as one. */
import t from 'tap'
import { MergedMetrics, type MetricSnapshot } from '../../src/server/merged-metrics.ts'
import { Metrics } from '../../src/server/metrics.ts'

const EXCHANGE = {
  client: 'chat',
  status: 200,
  lane: 'forward',
  provider: 'first',
  model: 'acme/one',
  tokensIn: 3,
  tokensOut: 5,
  costNano: 1_000_000_000,
  firstEventMs: 20,
  addedMs: 0.3,
}

/** As it is after it has crossed from one process to another. */
async function crossed(metrics: Metrics): Promise<MetricSnapshot[]> {
  return JSON.parse(JSON.stringify(await metrics.snapshot())) as MetricSnapshot[]
}

function value(text: string, series: string): number | undefined {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1))
}

const CREW = { listening: 2, restarts: 0 }

t.test('counters, histograms and streams add up; what a process alone can say has its name', async (t) => {
  const [owner, one, two] = [new Metrics(), new Metrics(), new Metrics()]
  t.teardown(() => [owner, one, two].map((each) => each.close()))
  for (const metrics of [one, two, two]) metrics.exchange(EXCHANGE)
  two.exchange({ ...EXCHANGE, model: 'acme/two', firstEventMs: -1 })
  one.streamOpened()
  two.streamOpened()
  for (const metrics of [owner, one, two]) metrics.reload(true)
  const merged = new MergedMetrics()
  merged.show('1', await crossed(one))
  merged.show('2', await crossed(two))
  const text = await merged.text(await owner.snapshot(), CREW)
  const place = 'provider="first",model="acme/one"'
  t.equal(value(text, `headgate_requests_total{client="chat",status="200",lane="forward",${place}}`), 3)
  t.equal(value(text, `headgate_tokens_total{direction="output",${place}}`), 15)
  t.equal(value(text, `headgate_cost_usd_total{${place}}`), 3)
  t.equal(value(text, 'headgate_first_event_seconds_bucket{le="0.01",provider="first"}'), 0)
  t.equal(value(text, 'headgate_first_event_seconds_bucket{le="0.025",provider="first"}'), 3)
  t.equal(value(text, 'headgate_first_event_seconds_bucket{le="+Inf",provider="first"}'), 3)
  t.equal(value(text, 'headgate_first_event_seconds_count{provider="first"}'), 3)
  t.equal(value(text, 'headgate_first_event_seconds_sum{provider="first"}')?.toFixed(6), '0.060000')
  t.equal(value(text, 'headgate_added_latency_seconds_count{lane="forward"}'), 4)
  t.equal(value(text, 'headgate_open_streams'), 2)
  t.equal(value(text, 'headgate_reloads_total'), 1, 'one reload, however many processes took it')
  t.equal(value(text, 'headgate_workers'), 2)
  t.equal(value(text, 'headgate_worker_restarts_total'), 0)
  for (const worker of ['owner', '1', '2']) {
    t.ok((value(text, `headgate_process_memory_bytes{kind="resident",worker="${worker}"}`) ?? 0) > 0)
    t.ok(value(text, `headgate_event_loop_delay_seconds{quantile="0.99",worker="${worker}"}`) !== undefined)
  }
  t.equal(text.match(/^# TYPE headgate_requests_total counter$/gm)?.length, 1, 'each is declared once')
  t.notOk(/^[^#\n].*NaN/m.test(text))
})

t.test('what a dead worker had counted stays, what it was does not', async (t) => {
  const [owner, one] = [new Metrics(), new Metrics()]
  t.teardown(() => [owner, one].map((each) => each.close()))
  const merged = new MergedMetrics()
  const series = 'headgate_requests_total{client="chat",status="200",lane="forward",provider="first",model="acme/one"}'
  for (let lives = 1; lives <= 3; lives++) {
    const worker = new Metrics()
    worker.exchange(EXCHANGE)
    worker.streamOpened()
    merged.show('1', await crossed(worker))
    merged.show('1', await crossed(worker))
    const alive = await merged.text(await owner.snapshot(), CREW)
    t.equal(value(alive, series), lives)
    t.equal(value(alive, 'headgate_first_event_seconds_count{provider="first"}'), lives)
    merged.end('1')
    worker.close()
    const dead = await merged.text(await owner.snapshot(), CREW)
    t.equal(value(dead, series), lives, 'a counter never falls')
    t.equal(value(dead, 'headgate_first_event_seconds_bucket{le="+Inf",provider="first"}'), lives)
    t.equal(value(dead, 'headgate_open_streams'), 0)
    t.equal(value(dead, 'headgate_process_memory_bytes{kind="resident",worker="1"}'), undefined)
  }
})

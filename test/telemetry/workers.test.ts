/**
 * Telemetry of a gateway of several processes: each worker reports for itself, under one service with ids of its own, no span has the id
 * of another, and what all report adds up to what was served, also after a worker has died and another took its place.
 */
import { appendFileSync } from 'node:fs'
import t from 'tap'
import { type Collector, decodeAttributes, startCollector, treeProblems, type Value } from '../support/collector.ts'
import { SECRET } from '../support/crash/configuration.ts'
import { eventually } from '../support/eventually.ts'
import { jsonAnswer, startUpstream } from '../support/upstream.ts'
import { chatReply } from '../support/wire-chat.ts'
import { askOnce, configured, inTurn, QUESTION, ready, serveWorkers } from '../support/workers.ts'

const REQUESTS = 40

t.setTimeout(280_000)

interface Report {
  readonly resource: Readonly<Record<string, Value>>
  /** Value of a counter over all of its series, and of the count of a histogram. */
  readonly sums: ReadonlyMap<string, number>
}

/** The last metrics of each process. */
function lastReports({ exports }: Collector): Report[] {
  const found = new Map<string, Report>()
  for (const { path, message } of exports) {
    if (path !== '/v1/metrics') continue
    for (const { resource, scopeMetrics } of message.resourceMetrics) {
      const about = decodeAttributes(resource.attributes, [])
      const sums = new Map<string, number>()
      // One export may hold what was read at several times: the last counts.
      for (const { name, sum, histogram } of scopeMetrics[0].metrics) {
        const points: { asDouble: number; count: string }[] = (sum ?? histogram)?.dataPoints ?? []
        sums.set(
          name,
          points.reduce((all, { asDouble, count }) => all + Number(histogram ? count : asDouble), 0),
        )
      }
      found.set(String(about['service.instance.id']), { resource: about, sums })
    }
  }
  return [...found.values()]
}

const total = (reports: readonly Report[], name: string): number => reports.reduce((sum, { sums }) => sum + (sums.get(name) ?? 0), 0)

t.test('each worker reports for itself, and together they report what was served', async (t) => {
  const collector = await startCollector()
  const provider = await startUpstream(() => jsonAnswer(chatReply({ text: ['Hello'] })))
  t.teardown(async () => {
    await provider.close()
    await collector.close()
  })
  const { file } = await configured(t, provider.url)
  appendFileSync(
    file,
    `telemetry: { endpoint: "${collector.url}", service_name: team, metrics: { enabled: true, interval: 1s }, logs: { enabled: true } }\n`,
  )
  const workerPool = await serveWorkers(t, file, 2)
  await ready(workerPool.admin)
  const ask = (): Promise<number> => askOnce(workerPool.url, { key: SECRET, body: QUESTION }).then(({ status }) => status)
  t.same(new Set(await inTurn(REQUESTS, ask)), new Set([200]))
  await eventually('the metrics of all', () => total(lastReports(collector), 'headgate_requests_total') === REQUESTS)
  const [former] = workerPool.workers()
  if (former === undefined) throw new Error('no worker')
  process.kill(former, 'SIGKILL')
  await eventually('another worker', () => workerPool.workers().length === 2 && !workerPool.workers().includes(former))
  await ready(workerPool.admin)
  t.same(new Set(await inTurn(REQUESTS, ask)), new Set([200]))
  workerPool.child.kill('SIGTERM')
  t.equal((await workerPool.exited).code, 0)

  const reports = lastReports(collector)
  const served = reports.filter(({ sums }) => (sums.get('headgate_requests_total') ?? 0) > 0)
  t.ok(served.length >= 2, `${served.length} processes have served`)
  t.equal(new Set(reports.map(({ resource }) => resource['process.pid'])).size, reports.length, 'each under an id of its own')
  t.notOk(
    reports.some(({ resource }) => resource['process.pid'] === workerPool.pid),
    'the owner has none',
  )
  t.same(new Set(reports.map(({ resource }) => resource['service.name'])), new Set(['team']), 'and one name')
  t.equal(total(reports, 'headgate_requests_total'), 2 * REQUESTS, 'no request is counted twice or lost')
  t.equal(total(reports, 'gen_ai.client.operation.duration'), total(reports, 'headgate_attempts_total'), 'nor a call')

  const spans = collector.spans
  const servers = spans.filter(({ kind }) => kind === 'SPAN_KIND_SERVER')
  t.equal(new Set(spans.map(({ spanId }) => spanId)).size, spans.length, 'no two spans have one id')
  t.equal(new Set(servers.map(({ traceId }) => traceId)).size, servers.length, 'nor two requests')
  // The killed worker may have taken spans with it.
  t.ok(servers.length > REQUESTS && servers.length <= 2 * REQUESTS, `${servers.length} requests`)
  t.same(treeProblems(spans), [])
  const instances = new Set(spans.map(({ resource }) => resource['service.instance.id']))
  t.ok(
    [...instances].every((id) => reports.some(({ resource }) => resource['service.instance.id'] === id)),
    'spans and metrics of a process have the same id',
  )
  t.same(collector.problems, [])
})

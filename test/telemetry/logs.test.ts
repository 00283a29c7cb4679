/** Lines of the log as log records of OTLP. */
import t from 'tap'
import { decodeAttributes, startCollector, type Value } from '../support/collector.ts'
import { startGateway } from '../support/gateway.ts'

interface LogRecord {
  readonly body: string
  readonly severity: string
  readonly text: string
  readonly time: bigint
  readonly traceId: string
  readonly spanId: string
  readonly attributes: Readonly<Record<string, Value>>
}

const collector = await startCollector()
t.teardown(() => collector.close())

const yaml = (more: string): string => `
telemetry: { endpoint: "${collector.url}"${more} }
providers: { sim: { dialect: sim } }
models: { acme/one: { endpoints: [ { provider: sim, model: echo, price: free } ] } }
`

const hex = (base64: string): string => Buffer.from(base64, 'base64').toString('hex')

function records(problems: string[]): LogRecord[] {
  const found: LogRecord[] = []
  for (const { path, message } of collector.exports) {
    if (path !== '/v1/logs') continue
    for (const { scopeLogs } of message.resourceLogs)
      for (const { logRecords } of scopeLogs)
        for (const record of logRecords) {
          if (BigInt(record.timeUnixNano) <= 0n || record.observedTimeUnixNano === '0') problems.push('no time')
          found.push({
            body: record.body.stringValue,
            severity: record.severityNumber,
            text: record.severityText,
            time: BigInt(record.timeUnixNano),
            traceId: hex(record.traceId),
            spanId: hex(record.spanId),
            attributes: decodeAttributes(record.attributes, problems),
          })
        }
  }
  return found
}

t.test('each line is a record, and that of a request belongs to its span', async (t) => {
  const gateway = await startGateway(yaml(', logs: { enabled: true }'))
  await (await gateway.post('/v1/chat/completions', { model: 'acme/one', messages: [{ role: 'user', content: 'the prompt' }] })).text()
  gateway.running.runtime.reportUnexpected(new Error('the message'))
  await gateway.close()
  const problems: string[] = []
  const found = records(problems)
  const exchange = found.find(({ body }) => body === 'exchange')
  const span = collector.spans.find(({ kind }) => kind === 'SPAN_KIND_SERVER')
  t.match(exchange, { severity: 'SEVERITY_NUMBER_INFO', text: 'INFO', traceId: span?.traceId, spanId: span?.spanId })
  t.match(exchange?.attributes, { status: 200, model: 'acme/one', key: 'test', stream: false })
  t.equal(exchange?.attributes.msg, undefined)
  t.match(
    found.find(({ body }) => body === 'unexpected'),
    { severity: 'SEVERITY_NUMBER_ERROR', traceId: '' },
  )
  t.equal(gateway.logs.filter((line) => line.includes('"exchange"')).length, 1, 'standard output has it, too')
  const bytes = Buffer.concat(collector.exports.map((each) => each.bytes))
  for (const secret of ['the prompt', 'the message', gateway.key]) t.equal(bytes.indexOf(secret), -1, secret)
  t.same([...problems, ...collector.problems], [])
})

t.test('only where they are wanted', async (t) => {
  const before = records([]).length
  const gateway = await startGateway(yaml(''))
  await (await gateway.post('/v1/chat/completions', { model: 'acme/one', messages: [{ role: 'user', content: 'hi' }] })).text()
  await gateway.close()
  t.equal(records([]).length, before)
})

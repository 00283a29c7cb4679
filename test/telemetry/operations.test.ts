/** Spans of lists and of the management API: only in the trace of a caller, or where the gateway fails. */
import t from 'tap'
import { type SeenSpan, startCollector, treeProblems } from '../support/collector.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const CALLER = { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'acme=1' }

const collector = await startCollector()
t.teardown(() => collector.close())

const yaml = (more = ''): string => `
telemetry: { endpoint: "${collector.url}"${more} }
providers: { sim: { dialect: sim } }
models: { acme/one: { endpoints: [ { provider: sim, model: echo, price: free } ] } }
`

interface Asked {
  readonly telemetry?: string
  readonly headers?: Record<string, string>
  /** Done with the gateway before. */
  readonly before?: (gateway: Gateway) => void
}

async function fetchSpans(path: string, { telemetry, headers = {}, before }: Asked): Promise<{ reply: Response; spans: SeenSpan[] }> {
  const gateway = await startGateway(yaml(telemetry))
  before?.(gateway)
  const seen = collector.spans.length
  const reply = await gateway.get(path, headers)
  await reply.text()
  await gateway.close()
  return { reply, spans: collector.spans.slice(seen) }
}

t.test('the trace of a caller goes on', async (t) => {
  const { reply, spans } = await fetchSpans('/v1/models', { headers: CALLER })
  t.equal(spans.length, 1)
  t.match(spans, [
    {
      name: 'GET /v1/models',
      kind: 'SPAN_KIND_SERVER',
      traceId: TRACE,
      parentId: SPAN,
      state: 'acme=1',
      attributes: { 'http.route': '/v1/models', 'http.response.status_code': 200, 'http.request.method': 'GET' },
    },
  ])
  t.equal(reply.headers.get('x-trace-id'), TRACE)
  t.same(treeProblems(spans, [SPAN]), [])
  t.match((await fetchSpans('/v1/models/acme/one/endpoints', { headers: CALLER })).spans, [{ name: 'GET /v1/models/{path}' }])
  t.same(collector.problems, [])
})

t.test('what is only polled leaves none', async (t) => {
  t.same((await fetchSpans('/v1/models', {})).spans, [])
  t.same(
    (await fetchSpans('/v1/models', { headers: { traceparent: `00-${TRACE}-${SPAN}-00` } })).spans,
    [],
    'nor where the caller wants none',
  )
  t.same((await fetchSpans('/v1/models', { headers: { ...CALLER, authorization: 'Bearer sk-none' } })).spans, [], 'nor without a key')
  t.same((await fetchSpans('/v1/words-of-the-caller', { headers: CALLER })).spans, [], 'nor where there is nothing')
  t.same((await fetchSpans('/docs', { headers: CALLER })).spans, [], 'nor of pages, which need no key')
  t.same((await fetchSpans('/v1/models', { headers: CALLER, telemetry: ', traces: { follow_parent: false }' })).spans, [])
})

t.test('a failure of the gateway is kept', async (t) => {
  const before = ({ running }: Gateway): void => {
    running.store.ledger.find = () => Promise.reject(new Error('gone'))
  }
  const { reply, spans } = await fetchSpans('/v1/generation?id=gen-20f5xxne5ts-OcI9Dly6YF1J', { before })
  t.equal(reply.status, 500)
  t.match(spans, [{ name: 'GET /v1/generation', status: 'STATUS_CODE_ERROR', attributes: { 'error.type': '500' } }])
})

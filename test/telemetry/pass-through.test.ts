/** Spans of the pass-through, and what of a trace its providers are sent. */
import t from 'tap'
import { type SeenSpan, startCollector, treeProblems } from '../support/collector.ts'
import { every } from '../support/every.ts'
import { type Gateway, KEY, startGateway } from '../support/gateway.ts'
import { jsonAnswer, startUpstream } from '../support/upstream.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const SECRET = 'sk-provider-secret-0123456789'
const PATH = '/v1/passage/first/files/words-of-the-caller?q=words-of-the-caller'
const CALLER = { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'acme=1', baggage: 'tenant=7' }

let status = 200
const collector = await startCollector()
const provider = await startUpstream(() => jsonAnswer({ got: 'the words of the answer' }, status))
t.afterEach(() => {
  status = 200
})
t.teardown(async () => {
  await provider.close()
  await collector.close()
})

/** @param telemetry settings after the endpoint. @param more of the provider. */
const yaml = (telemetry = '', more = ''): string => `
telemetry: { endpoint: "${collector.url}"${telemetry} }
auth: { keys: [ { name: app, key: "${KEY}", limit: "10.00", pass_through: true } ] }
providers:
  first: { dialect: openai-chat, base_url: "${provider.url}/v1", key: "${SECRET}", pass_through: { price: "0.25" }${more} }
models: { acme/one: { endpoints: [ { provider: first, model: upstream-model, price: free } ] } }
`

/** One request, and the end of the gateway. @returns its reply and the spans that it has left. */
async function fetchSpans(config: string, headers: Record<string, string> = {}): Promise<{ reply: Response; spans: SeenSpan[] }> {
  const gateway: Gateway = await startGateway(config)
  const before = collector.spans.length
  const reply = await gateway.get(PATH, headers)
  await reply.text()
  await gateway.close()
  return { reply, spans: collector.spans.slice(before) }
}

const of = (spans: readonly SeenSpan[], kind: string): SeenSpan | undefined => spans.find((span) => span.kind === `SPAN_KIND_${kind}`)

t.test('a request has a server span and one of the call', async (t) => {
  const { reply, spans } = await fetchSpans(yaml(), CALLER)
  const [server, client] = [of(spans, 'SERVER'), of(spans, 'CLIENT')]
  t.equal(spans.length, 2)
  t.match(server, {
    name: 'GET /v1/passage/{provider}/{path}',
    traceId: TRACE,
    parentId: SPAN,
    state: 'acme=1',
    status: 'STATUS_CODE_UNSET',
    attributes: {
      'http.request.method': 'GET',
      'http.response.status_code': 200,
      'http.route': '/v1/passage/{provider}/{path}',
      'headgate.generation.id': reply.headers.get('x-generation-id'),
      'headgate.key.name': 'app',
      'headgate.cost_usd': 0.25,
    },
  })
  t.match(client, {
    name: 'GET',
    parentId: server?.spanId,
    attributes: { 'http.response.status_code': 200, 'headgate.provider': 'first', 'server.address': '127.0.0.1' },
  })
  t.equal(reply.headers.get('x-trace-id'), TRACE)
  t.same(treeProblems(spans, [SPAN]), [])
  const bytes = Buffer.concat(collector.exports.map((each) => each.bytes))
  await every(t, 'nothing of what passes', (t) => {
    for (const word of ['words-of-the-caller', 'the words of the answer', SECRET, KEY]) t.equal(bytes.indexOf(word), -1, word)
  })
  t.same(collector.problems, [])
})

t.test('what fails is traced although it was not drawn', async (t) => {
  const none = yaml(', traces: { ratio: 0 }')
  t.equal((await fetchSpans(none)).spans.length, 0)
  status = 503
  const { spans } = await fetchSpans(none)
  t.match(of(spans, 'CLIENT'), { status: 'STATUS_CODE_ERROR', attributes: { 'http.response.status_code': 503, 'error.type': '503' } })
  t.match(of(spans, 'SERVER'), { status: 'STATUS_CODE_ERROR', attributes: { 'http.response.status_code': 503 } })
  t.equal((await fetchSpans(yaml(', traces: { ratio: 0, on_error: false }'))).spans.length, 0)
  status = 401
  t.match(of((await fetchSpans(none)).spans, 'SERVER')?.attributes, { 'http.response.status_code': 502, 'error.type': 'upstream_auth' })
  t.equal((await fetchSpans(yaml(', enabled: false'))).spans.length, 0)
})

t.test('a refused request has a span of its own alone; a caller without a key cannot have one', async (t) => {
  const closed = yaml().replace(', pass_through: true', '')
  const { spans } = await fetchSpans(closed)
  t.match(spans, [{ attributes: { 'http.response.status_code': 403, 'error.type': 'forbidden' } }])
  t.equal(spans.length, 1)
  const stranger = { ...CALLER, authorization: 'Bearer sk-none' }
  t.equal((await fetchSpans(yaml(', traces: { ratio: 0 }'), stranger)).spans.length, 0)
})

t.test('a provider is sent nothing of a trace unless the operator says so', async (t) => {
  const seen = async (more: string) => {
    const { spans } = await fetchSpans(yaml('', more), CALLER)
    return { headers: provider.requests.at(-1)?.headers, span: of(spans, 'CLIENT')?.spanId }
  }
  t.match((await seen('')).headers, { traceparent: undefined, tracestate: undefined, baggage: undefined })
  const some = await seen(', trace_context: trace')
  t.match(some.headers, { traceparent: `00-${TRACE}-${some.span}-01`, tracestate: 'acme=1', baggage: undefined })
  t.match((await seen(', trace_context: baggage')).headers, { baggage: 'tenant=7' })
  await fetchSpans(yaml(', enabled: false', ', trace_context: baggage'), CALLER)
  t.match(provider.requests.at(-1)?.headers, CALLER, 'where nothing is traced here those of the caller go on')
})
